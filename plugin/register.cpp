#include <mujoco/mujoco.h>

#include "controllers/carry_controller.hpp"
#include "controllers/follow_controller.hpp"
#include "controllers/mobile_reach_controller.hpp"
#include "controllers/reach_controller.hpp"
#include "controllers/snake_modes.hpp"
#include "controllers/wind_controller.hpp"
#include "controllers/wrap_controller.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/file_decoder.hpp"

mjPLUGIN_LIB_INIT(tendril) {
  tendril::register_file_decoder();
  tendril::register_controller<tendril::ReachController>("tendril.reach");
  static const tendril::ControllerKind follow{
      "tendril.follow", tendril::FollowController::settings(), tendril::make_follow_controller};
  tendril::register_controller_kind(follow);
  tendril::register_controller<tendril::WindController>("tendril.wind");
  tendril::register_controller<tendril::WrapController>("tendril.wrap");
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
      "tendril.carry", tendril::CarryController::settings(), nullptr,
      [](const tendril::CarryContext& context) -> std::unique_ptr<tendril::MobileController> {
        return std::make_unique<tendril::CarryController>(context);
      }};
  tendril::register_controller_kind(carry);
}
