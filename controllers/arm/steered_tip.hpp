#pragma once

#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {

/// Returns the arc length of a path where it is nearest to a point, searched from `from` on [m].
[[nodiscard]] double nearest_on(const Path& path, const Eigen::Vector3d& point,
                                double from) noexcept;

/// The last sections of an arm, behind a passive shaft: where they begin, as measured, and the
/// bends that lay them on a path ahead of there. Source: docs/theory/control.md, "Steering a tip".
class SteeredTip {
 public:
  static constexpr int kFitSteps = 3;  ///< Gauss-Newton steps of the warm-started fit in one step

  /// @param first       its first section, from 0
  /// @param rate_limit  of the bend of a section [rad/s]
  SteeredTip(const ContinuumRobot& robot, int first, double rate_limit,
             FitNorm norm = FitNorm::Tip);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// Its sections, on a base of their own.
  [[nodiscard]] const ContinuumRobot& sections() const noexcept { return sections_; }
  [[nodiscard]] double length() const noexcept { return length_; }  ///< straight [m]

  /// Finds where it begins, from the measured tip and its measured bends.
  void locate(const ArmMeasurement& measurement) noexcept;
  /// X_BS, where it began when it was located last.
  [[nodiscard]] const Eigen::Isometry3d& start() const noexcept { return X_BS_; }

  /// Commands the bends that lay it on the curve `position(s)`, in the frame of the arm's base, s
  /// [m] from where it begins, times `fraction`. The sections before take no command. Returns how
  /// much the rate limit leaves for later [rad].
  template <class Curve>
  double bend(const Curve& position, double fraction, const ArmMeasurement& measurement,
              std::span<const double> memory, std::span<double> next,
              ArmCommand& command) noexcept {
    load_states(states_memory_(memory), states_);
    to_coordinates(sections_, states_, q_last_);
    const Eigen::Isometry3d X_SB = X_BS_.inverse();
    fit_.fit([&](double s) -> Eigen::Vector3d { return X_SB * position(s); }, {}, states_);
    to_coordinates(sections_, states_, q_);
    q_ *= fraction;
    return command_bends(measurement, next, command);
  }

 private:
  double command_bends(const ArmMeasurement& measurement, std::span<double> next,
                       ArmCommand& command) noexcept;

  ContinuumRobot sections_;
  double length_, rate_limit_;
  ShapeFit fit_;
  MemoryLayout layout_;
  Block states_memory_ = add_states(layout_, sections_);

  Eigen::Isometry3d X_BS_ = Eigen::Isometry3d::Identity();  // scratch
  std::vector<SectionState> states_;                        // scratch
  Eigen::VectorXd q_, q_last_;                              // scratch
};

}  // namespace tendril
