#pragma once

#include <memory>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "tendril/model/mobile/description.hpp"

namespace tendril {

/// Makes a controller of a mobile robot, or of a platform that carries a continuum arm; null: the
/// kind controls other robots. Its joint ranges are smaller by the setting `limit_margin` at either
/// end, so that the servos' overshoot remains within those of the robot. Throws ModelError, also
/// for one whose commands the joints cannot follow.
[[nodiscard]] std::unique_ptr<MobileController> make_mobile_controller(
    const ControllerKind& kind, const Settings& settings, const MobileDescription& robot,
    double timestep, SceneQuery& scene);

}  // namespace tendril
