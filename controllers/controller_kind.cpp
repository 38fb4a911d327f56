#include "controllers/controller_kind.hpp"

#include "controllers/arm/coil_controller.hpp"
#include "controllers/arm/computed_moment_controller.hpp"
#include "controllers/arm/contact_plan_controller.hpp"
#include "controllers/arm/follow_controller.hpp"
#include "controllers/arm/reach_controller.hpp"
#include "controllers/mobile/base_placement_controller.hpp"
#include "controllers/mobile/mobile_reach_controller.hpp"
#include "controllers/snake/snake_modes.hpp"
#include "controllers/watch/following_watch.hpp"

namespace tendril {
namespace {

constexpr SettingInfo kRobot =
    setting::text("robot", "", "text of the robot file; written by the decoder");
constexpr SettingInfo kMeasurementFaults =
    setting::text("measurement_faults", "",
                  "what the controller sees wrongly; written from the [[fault]] of an experiment");
constexpr SettingInfo kGravityCompensation = setting::flag(
    "gravity_compensation", true, "setpoints compensate the gravity load of each servo");
constexpr SettingInfo kVelocityFeedForward = setting::flag(
    "velocity_feed_forward", true, "setpoints compensate the servos' lag behind a planned motion");

constexpr SettingInfo kArmSettings[] = {kRobot,
                                        kGravityCompensation,
                                        kVelocityFeedForward,
                                        FollowingWatch::tolerance("0.05"),
                                        FollowingWatch::kTime,
                                        kMeasurementFaults};
constexpr SettingInfo kSnakeSettings[] = {kRobot, FollowingWatch::tolerance("0.3"),
                                          FollowingWatch::kTime, kMeasurementFaults};
constexpr SettingInfo kMobileSettings[] = {
    kRobot,
    setting::text("arm", "",
                  "text of the robot file of a continuum arm on the platform; written by the "
                  "decoder"),
    kGravityCompensation,
    kVelocityFeedForward,
    setting::number(
        "limit_margin", "rad", "0.002", {0.0, 0.5},
        "the controller uses joint ranges that are smaller by this at either end, so that "
        "the servos' overshoot stays within the robot's"),
    FollowingWatch::tolerance("0.05"),
    FollowingWatch::kTime,
    kMeasurementFaults};

constexpr Quantity kTarget{"target", "m", "desired tip position now, in the base frame", 3};
constexpr Quantity kJointMargin{"joint_margin", "rad",
                                "smallest distance of a joint from the ends of its range"};

constexpr Quantity kMeasuredTip{
    "measured_tip", "m", "tip position as the controller sees it, with the faults of an experiment",
    3};

constexpr Quantity kFollowingError{
    "following_error", "rad",
    "largest distance of a coordinate from its command, of those that no contact can hold back, "
    "and of the tip from a target at which the command has arrived; 5 cm count as 1 rad",
    1, "max"};

constexpr Quantity kArmQuantities[] = {
    quantity::kStatus,
    kTarget,
    {"command", "rad, m", "commanded coordinates u, v (and s) of each section", kPerCoordinate},
    {"measured", "rad, m", "the same, as the controller sees it", kPerCoordinate},
    kMeasuredTip,
    kFollowingError};
constexpr Quantity kSnakeQuantities[] = {
    quantity::kStatus,
    {"target", "m", "desired position now, world", 3},
    {"command", "rad", "commanded joint angles", kPerCoordinate},
    {"measured", "rad", "the same, as the controller sees it", kPerCoordinate},
    kMeasuredTip,
    kJointMargin,
    {"upright", "", "mean over the links of the cosine between their z axes and the world's"},
    kFollowingError};
constexpr Quantity kMobileQuantities[] = {
    quantity::kStatus,
    {"command", "m, rad", "commanded x, y, heading of the platform and joint angles",
     kPerCoordinate},
    {"measured", "m, rad", "the same, as the controller sees it", kPerCoordinate},
    kMeasuredTip,
    kJointMargin,
    {"speed_utilization", "", "largest ratio of a measured speed to its limit"},
    kFollowingError};

/// Properties that all controllers of one interface have.
struct Common {
  std::span<const SettingInfo> settings;
  std::span<const Quantity> quantities;
};
template <class Interface>
constexpr Common kCommon{};
template <>
constexpr Common kCommon<ArmController>{kArmSettings, kArmQuantities};
template <>
constexpr Common kCommon<SnakeController>{kSnakeSettings, kSnakeQuantities};
template <>
constexpr Common kCommon<MobileController>{kMobileSettings, kMobileQuantities};

const Common& common(const ControllerKind& kind) {
  return std::visit(
      []<class Interface, class Context>(
          const std::function<std::unique_ptr<Interface>(const Context&)>&) -> const Common& {
        return kCommon<Interface>;
      },
      kind.make);
}

}  // namespace

std::span<const SettingInfo> common_settings(const ControllerKind& kind) {
  return common(kind).settings;
}

std::span<const Quantity> common_quantities(const ControllerKind& kind) {
  return common(kind).quantities;
}

std::span<const Quantity> claimed_quantities(const ControllerKind& kind) {
  static constexpr Quantity kClaimed[] = {quantity::kReportedTipError,
                                          quantity::kReportedAngleError};
  if (kind.is_built_in) return {};
  return kClaimed;
}

std::vector<Quantity> all_quantities(const ControllerKind& kind) {
  const std::span<const Quantity> common = common_quantities(kind);
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
        controller_kind<ComputedMomentController>(
            "tendril.computed_moment",
            "the same by moments instead of setpoints: an arm of motors, "
            "tension-controlled tendons, or chambers"),
        {"tendril.follow",
         "the arm is fed along a path and its body follows its tip; or it executes a planned path "
         "of poses",
         FollowController::settings(), follow_quantities(),
         Make<ArmContext>(make_follow_controller)},
        controller_kind<CoilController>("tendril.coil",
                                        "the arm coils around a post, holds it with a force and "
                                        "presses with its tip beyond it"),
        controller_kind<ContactPlanController>("tendril.contact_plan",
                                               "an elastic arm executes a contact plan, braces "
                                               "against obstacles, and reaches its target "
                                               "in spite of model errors"),
        {"tendril.snake",
         "a snake of joints moves by gaits, from goal to goal, up a pole; or a carriage feeds it "
         "along a path that grows ahead of its head",
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
