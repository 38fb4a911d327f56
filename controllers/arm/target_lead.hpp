#pragma once

#include <Eigen/Core>
#include <span>

#include "tendril/memory_layout.hpp"

namespace tendril {

/// Aims ahead of a moving target, so that the tip is where the target is now. The tip of an arm
/// lags behind its plan by the step of the sampling and by what feed-forward leaves of servos and
/// inertia. With the velocity v and the acceleration a of the target the aim is
///
///     p + tau v + kappa a,   tau' = K e.v / (v.v + v_0^2),   kappa' = K e.a / (a.a + a_0^2)
///
/// where e is the target minus the measured tip, both of the same instant. tau begins with the time
/// step, kappa with 0. v and a are those of a filter with fading memory, which has no error at
/// constant acceleration; a jump of the target restarts it. After a corner of the target's path, a
/// jump, or where its position is noisy, kappa has no effect and both keep their values. Source:
/// docs/theory/control.md, "Moving targets". Held by: target_lead_test.
class TargetLead {
 public:
  static constexpr double kFilterTime = 0.01;   ///< of the memory that fades [s]
  static constexpr double kJump = 1e-3;         ///< motion in a step beyond that at v [m]
  static constexpr double kCorner = 1e-4;       ///< distance of a sample from its prediction [m]
  static constexpr double kQuietTime = 0.5;     ///< after a corner, until tau and kappa adapt [s]
  static constexpr double kSettledTime = 0.05;  ///< until a is known again [s]
  static constexpr double kMinTime = -0.02, kMaxTime = 0.05;  ///< of tau [s]
  static constexpr double kMaxSquaredTime = 2e-3;             ///< of kappa, either sign [s^2]
  static constexpr double kMaxOffset = 0.01;                  ///< of the aim from the target [m]

  explicit TargetLead(double timestep);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// One step: returns the aim minus the target [m]. `p_BG`: the target.
  [[nodiscard]] Eigen::Vector3d step(const Eigen::Vector3d& p_BG, std::span<const double> memory,
                                     std::span<double> next_memory) const noexcept;
  /// Adapts tau and kappa to the error e [m] of this step. One that exceeds any lead is no lag.
  /// @param gain  K [1/s], >= 0
  void adapt(const Eigen::Vector3d& error, double gain,
             std::span<double> next_memory) const noexcept;

 private:
  double timestep_;
  Eigen::Vector3d filter_gain_;  // of position, velocity, acceleration
  MemoryLayout layout_;
  Slot<bool> known_ = layout_.flag();                                       // after the first step
  MatrixSlot<Eigen::Vector3d> sample_ = layout_.matrix<Eigen::Vector3d>();  // the last position
  // Of the target, filtered: position, velocity, acceleration, a column each.
  MatrixSlot<Eigen::Matrix3d> motion_ = layout_.matrix<Eigen::Matrix3d>();
  Slot<double> quiet_ = layout_.number();  // since the last corner, up to kQuietTime [s]
  Slot<double> time_, squared_time_;       // tau, kappa
};

}  // namespace tendril
