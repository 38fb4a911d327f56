#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/path/limited_step.hpp"

namespace tendril {

/// Norm that a fit makes small where the sections cannot follow the curve exactly.
enum class FitNorm {
  Tip,   ///< least squares over middle and end of every section, the tip weighted: the tip remains
         ///< on the curve
  Body,  ///< 4-norm over four points of every section: the largest deviation of the body is small;
         ///< for narrow tubes
};

struct ShapeFitOptions {
  int iterations = 3;  ///< Gauss-Newton steps, >= 1
  FitNorm norm = FitNorm::Tip;
  double tip_weight = 2.0;  ///< FitNorm::Tip: of the tip against 1 for the other points, > 0
  double damping = 1e-6;    ///< [m^2/rad^2] on the diagonal of the normal equations, > 0
};

/// Fits the sections of a robot to a curve: bends for which points of every section are nearest to
/// the points of the curve at their arc lengths. Variable lengths and the base stay as they are
/// given.
///
/// Taking each section's bend from the headings of the curve at its ends instead leaves the tip
/// several millimeters off in a tight bend; the fit distributes the deviation among the points.
/// Source: docs/theory/control.md, "Fitting an arm to a path".
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
    if (options_.norm == FitNorm::Body) largest_deviation_ = deviation(base, states);
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
      for (int k = 1; k <= points_per_section_; ++k) {
        points_[static_cast<std::size_t>(points_per_section_ * i + k - 1)] =
            position(s + length * k / points_per_section_);
      }
      s += length;
    }
  }
  [[nodiscard]] double point_weight(double deviation, bool is_tip) const noexcept;
  void step(const BaseState& base, std::span<SectionState> states) noexcept;
  [[nodiscard]] double deviation(const BaseState& base,
                                 std::span<const SectionState> states) const noexcept;
  [[nodiscard]] double tip_distance(const BaseState& base,
                                    std::span<const SectionState> states) const noexcept;

  ContinuumRobot robot_;
  ShapeFitOptions options_;
  int points_per_section_;
  std::vector<Eigen::Vector3d> points_;  // on the curve, the last one of a section at its end
  double largest_deviation_ = 0.0;       // of the points, at the last step
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::MatrixXd bend_jacobian_;  // 3 x 2N
  LimitedStep step_;
};

}  // namespace tendril
