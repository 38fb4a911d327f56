#pragma once

#include <memory>

#include "plugin/instance_context.hpp"

namespace tendril {

// Controllers made from the descriptions of their robots. Each throws ModelError, also if the robot
// does not take what the controller commands.

[[nodiscard]] std::unique_ptr<ArmController> make_arm_controller(
    const InstanceContext& context, const ContinuumDescription& description,
    const ControllerKind::MakeArm& make, SceneQuery& scene);
[[nodiscard]] std::unique_ptr<SnakeController> make_snake_controller(
    const InstanceContext& context, const SnakeDescription& description,
    const ControllerKind::MakeSnake& make, SceneQuery& scene);
[[nodiscard]] std::unique_ptr<MobileController> make_mobile_controller(
    const InstanceContext& context, const MobileDescription& description,
    const ControllerKind::MakeMobile& make, SceneQuery& scene);
/// Of a platform that carries a continuum arm.
[[nodiscard]] std::unique_ptr<MobileController> make_platform_controller(
    const InstanceContext& context, const MobileDescription& description,
    const ControllerKind::MakePlatform& make, SceneQuery& scene);

}  // namespace tendril
