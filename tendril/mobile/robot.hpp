#pragma once

#include <cstddef>
#include <vector>

// A jointed arm on a mobile platform. Read this header first.
namespace tendril {

/// Range of a joint [rad], min <= max, both within [-4 pi, 4 pi].
struct JointLimits {
  double min = -3.141592653589793;
  double max = 3.141592653589793;
  [[nodiscard]] bool contains(double angle, double tolerance = 0.0) const noexcept {
    return angle >= min - tolerance && angle <= max + tolerance;
  }
};

/// A link that rotates in the arm's vertical plane, by the hinge at its start.
struct ArmLink {
  double length = 0.0;   ///< to the next hinge; of the last link to the tool point [m], > 0
  JointLimits limits{};  ///< of the hinge at its start [rad]
};

/// Parameters of the robot, as a user gives them; `MobileRobot` is the validated form. With all
/// joints at zero the arm is straight up.
struct MobileRobotParameters {
  double mount_x = 0.0, mount_y = 0.0;  ///< the yaw axis in the platform's frame [m]
  double shoulder_height = 0.0;         ///< of the first hinge over the floor [m]
  double shoulder_offset = 0.0;         ///< of the first hinge from the yaw axis [m], >= 0
  JointLimits yaw{};                    ///< of the arm's plane against the platform's heading [rad]
  std::vector<ArmLink> links{};         ///< from the shoulder to the tool, 2 to kMaxLinks
  /// k_i of the links in MobileFabrikSolver, one for each, in (0, kMaxPriority]; empty: all 1. More
  /// than 1: the link keeps more of its old direction in the forward pass; less: it rotates more.
  /// Has an effect on the links between the first and the last one only. [Mobile] line 1.32
  std::vector<double> priorities{};
  JointLimits roll{};      ///< about the tool axis [rad]
  double tool_tilt = 0.0;  ///< from the last link to the tool axis, in the plane [rad]
  /// Platform: a box on the floor about the platform's origin [m], > 0.
  double platform_length = 0.5, platform_width = 0.5, platform_height = 0.1;
};

/// Base pose of a platform: origin (x, y) [m] and heading from the world's x axis about z [rad].
struct PlatformPose {
  double x = 0.0, y = 0.0, heading = 0.0;
};

/// An arm of in-plane links with a yaw joint before and a roll joint behind them, on a platform
/// that moves freely on the floor z = 0. Immutable. Joint angles are ordered yaw, hinges, roll.
class MobileRobot {
 public:
  /// Throws ModelError when there are too few or too many links, a range is empty (min > max), the
  /// priorities are not one for each link, or a number is not finite or outside its range.
  explicit MobileRobot(const MobileRobotParameters& parameters);

  static constexpr int kMaxLinks = 32;
  static constexpr double kMaxPriority = 1e3;

  [[nodiscard]] const MobileRobotParameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] int link_count() const noexcept {
    return static_cast<int>(parameters_.links.size());
  }
  [[nodiscard]] const ArmLink& link(int i) const noexcept {
    return parameters_.links[static_cast<std::size_t>(i)];
  }
  /// Yaw, hinges, roll.
  [[nodiscard]] int joint_count() const noexcept { return link_count() + 2; }
  [[nodiscard]] const JointLimits& joint_limits(int joint) const noexcept;
  /// Sum of the link lengths without the last: how far the wrist comes from the shoulder [m].
  [[nodiscard]] double wrist_reach() const noexcept { return wrist_reach_; }
  /// Sum of all link lengths [m].
  [[nodiscard]] double reach() const noexcept {
    return wrist_reach_ + parameters_.links.back().length;
  }

 private:
  MobileRobotParameters parameters_;
  double wrist_reach_ = 0.0;
};

/// The KUKA youBot: a platform of 0.58 x 0.38 x 0.14 m and an arm of five joints, with the public
/// dimensions and limits. Angles are zero with the arm straight up; the vendor's are counted from
/// one end of the range (docs/guide/mobile.md). The tool point is 0.2175 m past the last hinge, on
/// the axis of the roll joint; the 2 mm by which the real axis passes the hinge are left out.
[[nodiscard]] MobileRobotParameters youbot();

}  // namespace tendril
