#pragma once

#include <mujoco/mujoco.h>

#include "plugin/robot_names.hpp"
#include "tendril/model/mechanism.hpp"

namespace tendril {

/// What the model has of the robot. Throws ModelError without its base. Elements on its bodies that
/// are not the robot's keep their whole names.
[[nodiscard]] Mechanism bound_mechanism(const mjModel* m, const RobotNames& names);

/// The actuator of a model, without its joint or tendon.
[[nodiscard]] Mechanism::Actuator engine_actuator(const mjModel* m, int actuator);

/// What the integrator adds to damping / stiffness of springs and servos [s].
[[nodiscard]] double numerical_damping_time(const mjModel* m) noexcept;

}  // namespace tendril
