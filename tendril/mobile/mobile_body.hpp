#pragma once

#include <Eigen/Geometry>
#include <limits>
#include <span>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/mobile/mobile_kinematics.hpp"

namespace tendril {

/// A rod with round ends that moves with a frame of `mobile_frames`.
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

/// The body of a mobile robot: a box on the floor and the capsules of its arm. Says how far it is
/// from obstacles, from the floor and from itself.
class MobileBody {
 public:
  /// Throws ModelError when a capsule's frame is none of the robot's, or a number is not finite.
  MobileBody(const MobileRobot& robot, std::vector<BodyCapsule> capsules);

  /// Least distance of box and capsules from the obstacles [m]; infinite without obstacles. Only
  /// distances less than `below` are looked for: otherwise something not less is returned. Surfaces
  /// at the floor's height under the platform do not count for it.
  [[nodiscard]] double clearance(const PlatformPose& base, JointAngles joints,
                                 const Obstacles& obstacles,
                                 double below = std::numeric_limits<double>::infinity()) noexcept;

  /// Least distance of the links from the floor and from the platform's box [m]. The column and the
  /// first link, which always stand over the platform, do not count.
  [[nodiscard]] double own_clearance(JointAngles joints) noexcept;

  [[nodiscard]] const MobileRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] std::span<const BodyCapsule> capsules() const noexcept { return capsules_; }

 private:
  MobileRobot robot_;
  std::vector<BodyCapsule> capsules_;
  std::vector<BodyCapsule> platform_;  // that the box is made of
  Obstacles box_;                      // the platform's, in its own frame
  std::vector<Eigen::Isometry3d> frames_;
};

}  // namespace tendril
