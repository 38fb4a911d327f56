#pragma once

#include <Eigen/Geometry>
#include <limits>
#include <span>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/mobile/kinematics.hpp"

namespace tendril {

/// A capsule that moves with a frame of `mobile_frames`.
struct BodyCapsule {
  int frame = 0;                                    ///< 0: platform, 1: yaw, 2 ...: links
  Eigen::Vector3d start = Eigen::Vector3d::Zero();  ///< of its axis, in the frame [m]
  Eigen::Vector3d end = Eigen::Vector3d::Zero();
  double radius = 0.0;  ///< [m], >= 0
};

/// A column up to the shoulder, and a capsule along each link; the last one ends at the tool point.
/// @param radius  of all of them [m]
[[nodiscard]] std::vector<BodyCapsule> standard_capsules(const MobileRobot& robot,
                                                         double radius = 0.035);

/// The body of a mobile robot: a box on the floor and the capsules of its arm, and their distances
/// from obstacles, from the floor and from each other.
class MobileBody {
 public:
  /// Throws ModelError when a capsule's frame is none of the robot's, or a number is not finite.
  MobileBody(const MobileRobot& robot, std::vector<BodyCapsule> capsules);

  /// Least distance of box and capsules from the obstacles [m]; infinite without obstacles. Only
  /// distances less than `below` are searched for: otherwise something not less is returned.
  /// Surfaces at the height of the floor do not count for the platform.
  [[nodiscard]] double clearance(const PlatformPose& base, JointAngles joints,
                                 const Obstacles& obstacles,
                                 double below = std::numeric_limits<double>::infinity()) noexcept;

  /// Least distance of the links from the floor and from the platform's box [m]. The column and the
  /// first link, which are always over the platform, do not count.
  [[nodiscard]] double own_clearance(JointAngles joints) noexcept;

  [[nodiscard]] const MobileRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] std::span<const BodyCapsule> capsules() const noexcept { return capsules_; }

 private:
  MobileRobot robot_;
  std::vector<BodyCapsule> capsules_;
  std::vector<BodyCapsule> platform_;  // that make up the box
  Obstacles box_;                      // the platform's, in its own frame
  std::vector<Eigen::Isometry3d> frames_;
};

}  // namespace tendril
