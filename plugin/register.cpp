#include <mujoco/mujoco.h>

#include "controllers/base_placement_controller.hpp"
#include "controllers/coil_controller.hpp"
#include "controllers/contact_plan_controller.hpp"
#include "controllers/follow_controller.hpp"
#include "controllers/mobile_reach_controller.hpp"
#include "controllers/reach_controller.hpp"
#include "controllers/snake_modes.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/file_decoder.hpp"

mjPLUGIN_LIB_INIT(tendril) {
  tendril::register_file_decoder();
  tendril::register_controller<tendril::ReachController>("tendril.reach");
  static const tendril::ControllerKind follow{
      "tendril.follow", tendril::FollowController::settings(), tendril::make_follow_controller};
  tendril::register_controller_kind(follow);
  tendril::register_controller<tendril::CoilController>("tendril.coil");
  tendril::register_controller<tendril::ContactPlanController>("tendril.contact_plan");
  static const tendril::SnakeControllerKind snake{"tendril.snake", tendril::snake_settings(),
                                                  tendril::make_snake_controller};
  tendril::register_controller_kind(snake);
  static const tendril::MobileControllerKind mobile{
      "tendril.mobile", tendril::MobileReachController::settings(),
      [](const tendril::MobileContext& context) -> std::unique_ptr<tendril::MobileController> {
        return std::make_unique<tendril::MobileReachController>(context);
      }};
  tendril::register_controller_kind(mobile);
  static const tendril::MobileControllerKind carry{
      "tendril.base_placement", tendril::BasePlacementController::settings(), nullptr,
      [](const tendril::BasePlacementContext& context)
          -> std::unique_ptr<tendril::MobileController> {
        return std::make_unique<tendril::BasePlacementController>(context);
      }};
  tendril::register_controller_kind(carry);
}
