#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/serial_chain.hpp"
#include "tendril/path/limited_step.hpp"

namespace tendril {

struct WholeBodyOptions {
  int iterations = 2;         ///< Gauss-Newton steps, >= 1
  double tip_weight = 30.0;   ///< of the tip against 1 for the other points, > 0
  double free_weight = 0.03;  ///< of points that may leave the curve, >= 0
  double damping = 1e-2;      ///< [m^2/rad^2] on the diagonal of the normal equations, > 0
};

/// Fits joints and sections together: the joints of a chain that carries a continuum arm, such as a
/// robot arm with it on its flange, and the bends of the arm. The tip comes first; with what is
/// left the body stays near the curve. Lengths of sections stay as they are given. Source:
/// docs/theory/control.md, "An arm on a robot arm".
///
/// Everything is in the root frame R of the chain. Positions of joints and bends stay within their
/// limits. Allocates nothing after construction.
class WholeBodyFit {
 public:
  WholeBodyFit(const ContinuumRobot& robot, const SerialChain& chain,
               const WholeBodyOptions& options = {});

  /// What moves the ends of the sections from where their bends have them, each against that of the
  /// section before: a body that sags unevenly, for instance; base frame, a column each [m]. The
  /// points between have their part of it. Nothing at first.
  void set_deflection(const Eigen::Ref<const Eigen::Matrix3Xd>& of_sections) noexcept;

  /// Improves `joints` and `states` (start and result) until the tip is at the point of the curve
  /// at arc length `head` [m], and the body behind it at those before. Points before `entry` [m]
  /// may leave the curve: the tip has not been there. Returns the distance of the tip [m].
  template <class Curve>
  double follow(const Curve& position, double head, double entry,
                Eigen::Ref<Eigen::VectorXd> joints, std::span<SectionState> states) noexcept {
    double s = head - length(states);
    for (int i = 0, p = 0; i < robot_.section_count(); ++i) {
      const double step = length(i, states) / kPointsPerSection;
      for (int k = 1; k <= kPointsPerSection; ++k, ++p) {
        s += step;
        points_[static_cast<std::size_t>(p)] = {position(s), weight(s, entry, step)};
      }
    }
    points_.back() = {position(head), options_.tip_weight * options_.tip_weight};
    return solve(joints, states);
  }
  /// The same with the tip at `target` alone: joints and bends move as little as they can.
  double reach(const Eigen::Vector3d& target, Eigen::Ref<Eigen::VectorXd> joints,
               std::span<SectionState> states) noexcept;

  /// Distance of the tip from a point [m].
  [[nodiscard]] double tip_distance(const Eigen::Vector3d& target,
                                    const Eigen::Ref<const Eigen::VectorXd>& joints,
                                    std::span<const SectionState> states) const noexcept;
  /// Mean distance of the body from the curve at the same arc lengths, from `entry` on, over points
  /// of every section; 0 if no point is past it [m].
  template <class Curve>
  [[nodiscard]] double deviation(const Curve& position, double head, double entry,
                                 const Eigen::Isometry3d& X_RB,
                                 std::span<const SectionState> states) const noexcept {
    double s = head - length(states), sum = 0.0;
    int count = 0;
    for (int i = 0; i < robot_.section_count(); ++i) {
      const double step = length(i, states) / kPointsPerSection;
      for (int k = 1; k <= kPointsPerSection; ++k) {
        s += step;
        if (s < entry) continue;
        sum += (X_RB * point(i, k, states) - position(s)).norm();
        ++count;
      }
    }
    return count > 0 ? sum / count : 0.0;
  }
  /// Of the body in these states [m].
  [[nodiscard]] double length(std::span<const SectionState> states) const noexcept;
  [[nodiscard]] const SerialChain& chain() const noexcept { return chain_; }

 private:
  static constexpr int kPointsPerSection = 6;
  struct Point {
    Eigen::Vector3d target;
    double weight;
  };

  [[nodiscard]] double length(int section, std::span<const SectionState> states) const noexcept {
    return robot_.section(section).length() + states[static_cast<std::size_t>(section)].extension;
  }
  /// Without a jump where a point passes the entry.
  [[nodiscard]] double weight(double s, double entry, double step) const noexcept;
  [[nodiscard]] Eigen::Vector3d point(int section, int k,
                                      std::span<const SectionState> states) const noexcept;
  double solve(Eigen::Ref<Eigen::VectorXd> joints, std::span<SectionState> states) noexcept;
  void step(Eigen::Ref<Eigen::VectorXd> joints, std::span<SectionState> states) noexcept;
  [[nodiscard]] bool keeps_joint_limits(const Eigen::Ref<const Eigen::VectorXd>& joints) noexcept;

  ContinuumRobot robot_;
  SerialChain chain_;
  WholeBodyOptions options_;
  std::vector<Point> points_;                 // the last one of a section at its end
  std::vector<Eigen::Vector3d> deflections_;  // of these points, base frame
  Eigen::Matrix3Xd axes_, anchors_;
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::MatrixXd bend_jacobian_, point_jacobian_;
  LimitedStep step_;
};

}  // namespace tendril
