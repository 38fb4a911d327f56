#pragma once

#include <memory>

#include "plugin/instance_context.hpp"

namespace tendril {

// Controllers made from the descriptions of their robots: an overload for each kind of robot and
// what makes its controllers. Each throws ModelError, also if the robot does not take what the
// controller commands.

[[nodiscard]] std::unique_ptr<ArmController> make_controller(
    const InstanceContext& context, const ContinuumDescription& description,
    const Make<ArmContext>& make, SceneQuery& scene);
[[nodiscard]] std::unique_ptr<SnakeController> make_controller(const InstanceContext& context,
                                                               const SnakeDescription& description,
                                                               const Make<SnakeContext>& make,
                                                               SceneQuery& scene);
[[nodiscard]] std::unique_ptr<MobileController> make_controller(
    const InstanceContext& context, const MobileDescription& description,
    const Make<MobileContext>& make, SceneQuery& scene);
/// Makes the controller of a platform that carries a continuum arm.
[[nodiscard]] std::unique_ptr<MobileController> make_controller(
    const InstanceContext& context, const MobileDescription& description,
    const Make<PlatformContext>& make, SceneQuery& scene);

}  // namespace tendril
