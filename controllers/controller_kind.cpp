#include "controllers/controller_kind.hpp"

#include "controllers/arm/coil_controller.hpp"
#include "controllers/arm/computed_moment_controller.hpp"
#include "controllers/arm/contact_plan_controller.hpp"
#include "controllers/arm/follow_controller.hpp"
#include "controllers/arm/predictive_controller.hpp"
#include "controllers/arm/pull_controller.hpp"
#include "controllers/arm/push_controller.hpp"
#include "controllers/arm/reach_controller.hpp"
#include "controllers/arm/steer_controller.hpp"
#include "controllers/arm/touch_controller.hpp"
#include "controllers/arm/whole_body_controller.hpp"
#include "controllers/mobile/base_placement_controller.hpp"
#include "controllers/mobile/mobile_reach_controller.hpp"
#include "controllers/snake/snake_modes.hpp"

namespace tendril {

std::span<const Quantity> claimed_quantities(const ControllerKind& kind) {
  static constexpr Quantity kClaimed[] = {quantity::kReportedTipError,
                                          quantity::kReportedAngleError};
  if (kind.is_built_in) return {};
  return kClaimed;
}

std::vector<SettingInfo> all_settings(const ControllerKind& kind) {
  return joined({kind.settings, kind.make.common_settings()});
}

std::vector<Quantity> all_quantities(const ControllerKind& kind) {
  const std::span<const Quantity> common = kind.make.common_quantities();
  const std::span<const Quantity> claimed = claimed_quantities(kind);
  std::vector<Quantity> all{common.front()};
  all.insert(all.end(), kind.quantities.begin(), kind.quantities.end());
  all.insert(all.end(), claimed.begin(), claimed.end());
  all.insert(all.end(), common.begin() + 1, common.end());
  return all;
}

const std::vector<ControllerKind>& built_in_controllers() {
  static const std::vector<ControllerKind> all = [] {
    std::vector<ControllerKind> kinds{
        controller_kind<ReachController>("tendril.reach", "the tip follows a mocap body"),
        {"tendril.predictive",
         "the tip follows a mocap body among moving obstacles, by plans that are predicted and "
         "sampled",
         predictive_settings(), ReachController::kQuantities,
         Make<ArmContext>([](const ArmContext& c) { return make_predictive_controller(c); })},
        controller_kind<ComputedMomentController>(
            "tendril.computed_moment",
            "the tip follows a mocap body by commanded moments: arms with motors, "
            "tension-controlled tendons, or chambers"),
        {"tendril.follow",
         "the arm is fed along a path and its body follows its tip; or it executes a planned path "
         "of poses",
         FollowController::settings(), follow_quantities(),
         Make<ArmContext>(make_follow_controller)},
        controller_kind<SteerController>(
            "tendril.steer",
            "the tip of an endoscope or guidewire is steered along a path, while the base feeds it "
            "and its passive sections follow the wall"),
        controller_kind<WholeBodyController>(
            "tendril.whole_body",
            "an arm on the flange of a robot arm: its joints and the sections move together, along "
            "a path or to a mocap body"),
        controller_kind<TouchController>(
            "tendril.touch",
            "the tip presses on a surface with a force, and follows a mocap body along it"),
        controller_kind<PushController>(
            "tendril.push", "the tip pushes a block over a table until it is at a mocap body"),
        controller_kind<PullController>(
            "tendril.pull",
            "the tip pulls what it holds, such as the end of a cable, to a mocap body with a "
            "bounded force"),
        controller_kind<CoilController>("tendril.coil",
                                        "the arm coils around a post, holds it with a force and "
                                        "presses with its tip past it"),
        controller_kind<ContactPlanController>("tendril.contact_plan",
                                               "an elastic arm executes a contact plan, braces "
                                               "against obstacles, and reaches its target "
                                               "in spite of model errors"),
        {"tendril.snake",
         "a snake of joints moves by gaits, from goal to goal, up a pole; or a carriage feeds it "
         "along a path that grows ahead of its head, or it unfolds along one from a fixed base",
         snake_settings(), snake_quantities(), Make<SnakeContext>(make_snake_controller)},
        controller_kind<MobileReachController>(
            "tendril.mobile",
            "the tool of an arm on a mobile platform follows a mocap body, in position and "
            "orientation"),
        controller_kind<BasePlacementController>(
            "tendril.base_placement",
            "a platform moves to a base pose from which its continuum arm reaches a mocap body")};
    for (ControllerKind& kind : kinds) kind.reusable = kind.is_built_in = true;
    return kinds;
  }();
  return all;
}

}  // namespace tendril
