#pragma once

// Read robot_mjcf.hpp first.

#include <span>
#include <string>

#include "tendril/model/mobile/description.hpp"
#include "tendril/model/names.hpp"

namespace tendril {

/// Names of the elements of a mobile robot's MJCF that others do not have; `base`, `tip`, `start`
/// and `controller` are in names.hpp. An attach prefix comes before every one.
namespace names {
inline constexpr const char* kPlatform = "platform";  ///< body and its box
inline constexpr const char* kPlatformX = "x";        ///< slide joint and actuator
inline constexpr const char* kPlatformY = "y";
inline constexpr const char* kHeading = "heading";  ///< hinge joint and actuator
inline constexpr const char* kColumn = "column";    ///< body that the yaw joint turns, and its geom
inline constexpr const char* kTool = "tool";        ///< body behind the roll joint, and its geom
inline constexpr const char* kArm = "arm";          ///< prefix of a mounted arm, "arm_"
/// Body and geom "link_1" ...
[[nodiscard]] std::string arm_link(int i);
/// Joint and actuator "joint_1" (yaw) .. "joint_n" (roll).
[[nodiscard]] std::string arm_joint(int j);
}  // namespace names

/// The MJCF document of a mobile robot. `base` is fixed, its origin on the floor; in
/// it the `platform` slides along x and y and turns about z; on that `column` (yaw), the links,
/// whose hinges turn about y, and `tool` (roll). With all joints at zero the arm is
/// upright, and the site `tip` is where `tool_pose` has the tool, its axis along x. Wheels are only
/// drawn: the platform moves freely in the plane. Geoms: the platform's box, a capsule for every
/// other part; what the tool shows is inside its capsule but for the tips of the fingers.
///
/// A continuum arm comes from its own file: the document attaches it to the platform with the
/// prefix `arm_`, controller and all, and names that file. Then there are no joints and no
/// keyframe.
///
/// Actuators, position servos in this order: `x`, `y` [m], `heading`, `joint_1` .. `joint_n` [rad].
/// Nothing but the servos carries the weight of the arm: without a controller they sag.
///
/// Tested by: mobile_mjcf_test.
[[nodiscard]] std::string mobile_mjcf(const MobileDescription& robot,
                                      std::span<const std::string> sensors = {});

}  // namespace tendril
