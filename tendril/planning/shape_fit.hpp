#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

struct ShapeFitOptions {
  int iterations = 3;       ///< Gauss-Newton steps, >= 1
  double tip_weight = 2.0;  ///< of the last end point against 1 for the others, > 0
  double damping = 1e-6;    ///< [m^2/rad^2] on the diagonal of the normal equations, > 0
};

/// Lays the sections of a robot along a curve: bends for which the middle and the end of every
/// section come nearest to the points of the curve at their arc lengths, in least squares. Variable
/// lengths and the base are left as they are given.
///
/// Taking each section's bend from the headings of the curve at its ends instead leaves the tip
/// several millimetres off in a tight bend; this fit divides the deviation among the points.
/// Source: docs/derivations-control.md, "Laying an arm on a path".
class ShapeFit {
 public:
  ShapeFit(const ContinuumRobot& robot, const ShapeFitOptions& options = {});

  /// Improves `states` (start and result). `position(s)` gives the curve in the base frame at arc
  /// length s [m], the base of section 1 being at s = base.feed. Bends stay within the limits.
  /// Returns the distance of the tip from its point of the curve [m].
  template <class Curve>
  double fit(const Curve& position, const BaseState& base,
             std::span<SectionState> states) noexcept {
    sample(position, base, states);
    for (int i = 0; i < options_.iterations; ++i) step(base, states);
    return tip_distance(base, states);
  }

 private:
  template <class Curve>
  void sample(const Curve& position, const BaseState& base,
              std::span<const SectionState> states) noexcept {
    double s = base.feed;
    for (int i = 0; i < robot_.section_count(); ++i) {
      const double length =
          robot_.section(i).length() + states[static_cast<std::size_t>(i)].extension;
      points_[static_cast<std::size_t>(2 * i)] = position(s + length / 2);
      points_[static_cast<std::size_t>(2 * i + 1)] = position(s + length);
      s += length;
    }
  }
  void step(const BaseState& base, std::span<SectionState> states) noexcept;
  [[nodiscard]] double tip_distance(const BaseState& base,
                                    std::span<const SectionState> states) const noexcept;

  ContinuumRobot robot_;
  ShapeFitOptions options_;
  std::vector<Eigen::Vector3d> points_;  // middle and end of each section, on the curve
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::MatrixXd bend_jacobian_, normal_;  // 3 x 2N, 2N x 2N
  Eigen::VectorXd gradient_, update_;
  Eigen::LDLT<Eigen::MatrixXd> ldlt_;
};

}  // namespace tendril
