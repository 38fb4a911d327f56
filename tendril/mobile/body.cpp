#include "tendril/mobile/body.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-4;    // [m] of distances
constexpr double kFloorHeight = 2e-3;  // [m] surfaces below it carry the platform
constexpr double kVerySmall = 1e-12;   // [m]
constexpr double kColumnFoot = 0.02;   // [m] of the column, inside the platform's box
constexpr int kYawFrame = 1, kFirstLinkFrame = 2;

/// The axis of a capsule as an arc without curvature.
BodyArc straight_arc(const Eigen::Isometry3d& X, const BodyCapsule& capsule) noexcept {
  BodyArc arc;
  arc.start = X * capsule.start;
  const Vector3d along = X.linear() * (capsule.end - capsule.start);
  arc.length = along.norm();
  if (arc.length > kVerySmall) arc.tangent = along / arc.length;
  arc.side = arc.tangent.unitOrthogonal();
  return arc;
}

/// Least distance of two segments.
double distance_between(const BodyArc& a, const BodyArc& b) noexcept {
  const Vector3d offset = a.start - b.start;
  const double cosine = a.tangent.dot(b.tangent);
  const double on_a = a.tangent.dot(offset), on_b = b.tangent.dot(offset);
  const double sine_squared = 1.0 - cosine * cosine;
  double s = sine_squared > kVerySmall
                 ? std::clamp((cosine * on_b - on_a) / sine_squared, 0.0, a.length)
                 : 0.0;
  const double t = std::clamp(cosine * s + on_b, 0.0, b.length);
  s = std::clamp(cosine * t - on_a, 0.0, a.length);
  return (offset + s * a.tangent - t * b.tangent).norm();
}

}  // namespace

std::vector<BodyCapsule> standard_capsules(const MobileRobot& robot, double radius) {
  const MobileRobotParameters& parameters = robot.parameters();
  std::vector<BodyCapsule> capsules;
  const double foot = parameters.platform_height - kColumnFoot - parameters.shoulder_height;
  capsules.push_back({.frame = kYawFrame,
                      .start = {0.0, 0.0, std::min(foot, 0.0)},
                      .end = Vector3d::Zero(),
                      .radius = radius});
  for (int i = 0; i < robot.link_count(); ++i) {
    const bool last = i + 1 == robot.link_count();
    const double length = robot.link(i).length;
    capsules.push_back({.frame = kFirstLinkFrame + i,
                        .start = Vector3d::Zero(),
                        .end = {0.0, 0.0, last ? std::max(length - radius, 0.0) : length},
                        .radius = last ? std::min(radius, length) : radius});
  }
  return capsules;
}

MobileBody::MobileBody(const MobileRobot& robot, std::vector<BodyCapsule> capsules)
    : robot_(robot),
      capsules_(std::move(capsules)),
      frames_(static_cast<std::size_t>(frame_count(robot))) {
  for (std::size_t i = 0; i < capsules_.size(); ++i) {
    const BodyCapsule& capsule = capsules_[i];
    const std::string name = "body capsule " + std::to_string(i + 1);
    require(name, "frame", capsule.frame,
            {.low = 0.0, .high = static_cast<double>(frame_count(robot) - 1)});
    require(name, "radius", capsule.radius, kNotNegative, "m");
    if (!capsule.start.allFinite() || !capsule.end.allFinite())
      throw ModelError(name + ": its ends are not finite");
  }
  const MobileRobotParameters& p = robot.parameters();
  const Vector3d half(0.5 * p.platform_length, 0.5 * p.platform_width, 0.5 * p.platform_height);
  box_ = Obstacles(
      {{.shape = box(half), .X_BO = Eigen::Isometry3d(Eigen::Translation3d(0.0, 0.0, half.z()))}});
  // The box as its horizontal edges and as capsules that lie in it side by side.
  for (const double z : {0.0, p.platform_height}) {
    const Vector3d a(half.x(), half.y(), z), b(half.x(), -half.y(), z);
    const Vector3d c(-half.x(), -half.y(), z), d(-half.x(), half.y(), z);
    for (const auto& [start, end] :
         {std::pair(a, b), std::pair(b, c), std::pair(c, d), std::pair(d, a)})
      platform_.push_back({.frame = 0, .start = start, .end = end, .radius = 0.0});
  }
  const double radius = std::min({half.x(), half.y(), half.z()});
  const double side = half.y() - radius, front = half.x() - radius;
  const int rows = 1 + static_cast<int>(std::ceil(side / radius));
  for (int i = 0; i < rows; ++i) {
    const double y = rows > 1 ? -side + 2.0 * side * i / (rows - 1) : 0.0;
    platform_.push_back({.frame = 0,
                         .start = {-front, y, half.z()},
                         .end = {front, y, half.z()},
                         .radius = radius});
  }
}

double MobileBody::clearance(const PlatformPose& base, JointAngles joints,
                             const Obstacles& obstacles, double below) noexcept {
  if (obstacles.count() == 0) return kInfinity;
  mobile_frames(robot_, base, joints, frames_);
  double least = below;
  const auto look_at = [&](const BodyCapsule& capsule, bool on_floor) {
    const BodyArc arc = straight_arc(frames_[static_cast<std::size_t>(capsule.frame)], capsule);
    const ArcSearch search{.tolerance = kTolerance, .below = least + capsule.radius};
    if (!on_floor) {
      const Clearance found = obstacles.nearest(std::span(&arc, 1), search);
      if (found.obstacle >= 0) least = std::min(least, found.distance - capsule.radius);
      return;
    }
    obstacles.for_each_nearer(arc, least + capsule.radius, search, [&](const Clearance& found) {
      const Vector3d surface = found.point - found.distance * found.normal;
      if (surface.z() > kFloorHeight || found.normal.z() < 0.0)
        least = std::min(least, found.distance - capsule.radius);
    });
  };
  for (const BodyCapsule& capsule : platform_) look_at(capsule, true);
  for (const BodyCapsule& capsule : capsules_) look_at(capsule, false);
  return least < below ? least : std::max(below, least);
}

double MobileBody::own_clearance(JointAngles joints) noexcept {
  mobile_frames(robot_, {}, joints, frames_);  // the platform's frame is the world's
  const int last = frame_count(robot_) - 2;
  double least = kInfinity;
  for (const BodyCapsule& capsule : capsules_) {
    if (capsule.frame < kFirstLinkFrame) continue;
    const BodyArc arc = straight_arc(frames_[static_cast<std::size_t>(capsule.frame)], capsule);
    least = std::min({least, arc.start.z() - capsule.radius, arc.end().z() - capsule.radius});
    if (capsule.frame == kFirstLinkFrame) continue;
    const Clearance found = box_.nearest(
        std::span(&arc, 1), {.tolerance = kTolerance, .below = least + capsule.radius});
    if (found.obstacle >= 0) least = std::min(least, found.distance - capsule.radius);
    if (capsule.frame < last) continue;
    // The last link and the tool fold back to the column and to the first links.
    for (const BodyCapsule& other : capsules_) {
      if (other.frame < kYawFrame || other.frame > last - 2) continue;
      const BodyArc from = straight_arc(frames_[static_cast<std::size_t>(other.frame)], other);
      least = std::min(least, distance_between(arc, from) - capsule.radius - other.radius);
    }
  }
  return least;
}

}  // namespace tendril
