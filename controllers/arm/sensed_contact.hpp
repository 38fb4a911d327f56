#pragma once

// Read contact_estimator.hpp first.

#include <Eigen/Core>
#include <optional>
#include <span>

#include "tendril/estimation/contact_estimator.hpp"

namespace tendril {

/// The contact of an arm's tip, from the wrench on its base: a ContactEstimator of one place. The
/// force is split where the tip slides: friction acts along the motion, the rest along the normal.
/// Without sliding the normal stays as it is.
/// Source: docs/theory/estimation.md, "Touch by the force on the base". Tested by:
/// sensed_contact_test.
class SensedContact {
 public:
  /// @param force_deviation,moment_deviation  of the readings, without errors of the model
  SensedContact(const ElasticArm& arm, double force_deviation, double moment_deviation,
                double timestep);

  /// Memory between steps.
  struct Memory {
    Memory();
    MemoryLayout layout;
    Block estimator;
    Slot<bool> touches;
    Slot<double> touched_time;                     ///< [s]
    MatrixSlot<Eigen::Vector3d> velocity, normal;  ///< smoothed
  };
  void start(std::span<double> memory) const noexcept;
  /// Takes in the wrench of this step, with components that are not finite missing.
  void step(std::span<double> memory, const Eigen::Ref<const Eigen::VectorXd>& q,
            const BaseState& base, const Eigen::Vector3d& force,
            const Eigen::Vector3d& moment) noexcept;

  struct Touch {
    Eigen::Vector3d normal;  ///< unit, towards the arm, base frame
    double force;            ///< along it [N], >= 0
  };
  /// The contact of this step: after `step`, once. Nothing: it is less likely than none.
  /// @param tip_velocity  base frame [m/s]
  [[nodiscard]] std::optional<Touch> feel(std::span<double> memory,
                                          const Eigen::Vector3d& tip_velocity) const noexcept;

 private:
  double timestep_;
  ContactEstimator estimator_;
  Memory memory_;
};

}  // namespace tendril
