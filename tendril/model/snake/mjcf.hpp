#pragma once

// Read robot_mjcf.hpp first.

#include <Eigen/Geometry>
#include <span>
#include <string>
#include <vector>

#include "tendril/model/names.hpp"
#include "tendril/model/snake/description.hpp"

namespace tendril {

/// Names of the elements of a snake's MJCF that a continuum robot does not have; `base`,
/// `carriage`, `feed`, `tip`, `start` and `controller` are in names.hpp. An attach prefix comes
/// before every one of them.
namespace names {
/// Geom "link_0" (tail, in body `base` of a free snake), geom and body "link_1" ... Link k carries
/// joint k, or with universal joints joints 2k-1 and 2k.
[[nodiscard]] std::string snake_link(int j);
/// Joint and actuator "joint_1" ...
[[nodiscard]] std::string snake_joint(int j);
/// Site at the tail end, x towards the head: of link 0 of a free snake, otherwise at joint 1.
inline constexpr const char* kTail = "tail";
}  // namespace names

/// Joint angles of the keyframe `start` [rad], inside the joint limits.
[[nodiscard]] std::vector<double> start_angles(const SnakeDescription& snake);
/// Pose of the tail end of a free snake in that keyframe, world frame [m]; without one it lies
/// along x on the ground. Of other snakes the identity.
[[nodiscard]] Eigen::Isometry3d start_pose(const SnakeDescription& snake);

/// The MJCF document of a snake: links with alternating orthogonal hinges a_j apart
/// (odd joints about +z, even joints about -y), with universal joints both in one body, the odd one
/// first; position servos, excludes between neighbors, a free joint on the tail link `base`, a base
/// without joint, or a carriage that slides along x, the head's payload, scale-like friction as
/// contact pairs with the scene's floor, the controller's plugin instance with its sensors.
///
/// With scales the document names a geom that it does not hold: it compiles only in a scene that
/// has that floor. Actuators, in this order: `feed` (carriage, [m]), `joint_1` .. `joint_n` ([rad],
/// within the joint limit; with joint_command "torque" [N m], within the torque limit).
///
/// Tested by: snake_mjcf_test.
[[nodiscard]] std::string snake_mjcf(const SnakeDescription& snake,
                                     std::span<const std::string> sensors = {});

}  // namespace tendril
