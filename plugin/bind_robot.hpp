#pragma once

#include <memory>

#include "plugin/model_scene.hpp"
#include "plugin/robot_binding.hpp"

namespace tendril {

/// The controller of an instance before it is bound, for the size of its memory while the model is
/// being compiled. Throws ModelError, also for a robot of another kind than it controls.
[[nodiscard]] std::unique_ptr<Controller> make_controller(const InstanceContext& context,
                                                          SceneQuery& scene);

/// Binds the robot with a `controller` from `make_controller`, and what was asked of the `scene`
/// for it. Throws ModelError naming the element of the model that is missing or wrong.
[[nodiscard]] std::unique_ptr<RobotBinding> bind_robot(const InstanceContext& context,
                                                       std::unique_ptr<Controller> controller,
                                                       ModelScene& scene);

/// Size of the binding's own memory for this robot, and of the faults of its measurement.
[[nodiscard]] int own_memory_size(const RobotDescription& robot, const Controller& controller);
[[nodiscard]] int fault_memory_size(const InstanceContext& context);
/// Tells whether controllers of the robot measure the channel of a fault.
[[nodiscard]] bool measures(const RobotDescription& robot, FaultChannel channel);
/// Size of the quantities `command` and `measured`.
[[nodiscard]] int coordinate_count(const RobotDescription& robot);

}  // namespace tendril
