#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tendril/mobile/body.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSearchTolerance = 2e-4;  // [m] of the body's distances

/// Least of `distance` over points of the capsules' axes, less their radius.
template <class Distance>
double least_sampled(const MobileRobot& robot, std::span<const BodyCapsule> capsules,
                     const RandomPose& pose, Distance&& distance) {
  constexpr int kSamples = 400;
  std::vector<Eigen::Isometry3d> frames(static_cast<std::size_t>(frame_count(robot)));
  mobile_frames(robot, pose.base, pose.joints, frames);
  double least = kInfinity;
  for (const BodyCapsule& capsule : capsules) {
    for (int i = 0; i <= kSamples; ++i) {
      const Vector3d p = capsule.start + (capsule.end - capsule.start) * i / kSamples;
      const Vector3d p_W = frames[static_cast<std::size_t>(capsule.frame)] * p;
      least = std::min(least, distance(p_W) - capsule.radius);
    }
  }
  return least;
}

Obstacle box_at(const Vector3d& center, const Vector3d& half) {
  return {.shape = box(half), .X_BO = Eigen::Isometry3d(Eigen::Translation3d(center))};
}

}  // namespace

TEST_CASE("mobile body: the clearance of the arm is that of points along its capsules",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileBody body(robot, standard_capsules(robot));
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const RandomPose pose = random_pose(random, robot);
    // High enough that the platform is never the nearest part.
    const auto place = [&] {
      return Vector3d(pose.base.x + random.uniform(-0.5, 0.5),
                      pose.base.y + random.uniform(-0.5, 0.5), random.uniform(0.75, 1.1));
    };
    const Vector3d a = place(), b = place();
    const Obstacles obstacles({sphere_at(a, 0.05), box_at(b, {0.1, 0.04, 0.02}),
                               capsule_between(a, b + Vector3d(0.0, 0.0, 0.1), 0.02)});
    const auto distance = [&](const Vector3d& p) { return obstacles.nearest(p).distance; };
    const double expected = least_sampled(robot, body.capsules(), pose, distance);
    const double found = body.clearance(pose.base, pose.joints, obstacles);
    CHECK(found == Approx(expected).margin(2e-3));  // samples are 0.5 mm apart
  }
}

TEST_CASE("mobile body: the clearance of the platform from capsules is that of its rectangle",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileBody body(robot, {});
  const MobileRobotParameters& p = robot.parameters();
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const PlatformPose base{
        .x = random.uniform(-1.0, 1.0), .y = random.uniform(-1.0, 1.0), .heading = random.angle()};
    const Vector3d foot(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), 0.0);
    const double radius = 0.03;
    const Obstacles obstacles({capsule_between(foot, foot + Vector3d(0.0, 0.0, 1.0), radius)});
    const double c = std::cos(base.heading), s = std::sin(base.heading);
    const double x = c * (foot.x() - base.x) + s * (foot.y() - base.y);
    const double y = c * (foot.y() - base.y) - s * (foot.x() - base.x);
    const double ox = std::abs(x) - 0.5 * p.platform_length;
    const double oy = std::abs(y) - 0.5 * p.platform_width;
    const double found = body.clearance(base, std::vector<double>(5, 0.0), obstacles);
    if (ox > 0.0 || oy > 0.0) {
      const double expected = std::hypot(std::max(ox, 0.0), std::max(oy, 0.0)) - radius;
      CHECK(found == Approx(expected).margin(kSearchTolerance));
    } else {
      CHECK(found < 0.0);  // wherever in the platform it is
    }
  }
}

TEST_CASE("mobile body: the floor carries the platform and stops the arm", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileBody body(robot, standard_capsules(robot));
  const Obstacles floor({half_space_at(Vector3d::Zero(), Vector3d::UnitZ())});
  const std::vector<double> upright(5, 0.0);
  CHECK(body.clearance({}, upright, floor) > 0.08);
  // Forward and down: the tool is where its height says.
  const double bend = 1.2;
  const std::vector<double> low = {0.0, 1.4, 0.3, bend, 0.0};
  const double expected = std::min(0.0, least_sampled(robot, body.capsules(), {{}, low},
                                                      [](const Vector3d& p) { return p.z(); }));
  CHECK(std::min(0.0, body.own_clearance(low)) == Approx(expected).margin(1e-9));
  // A sill on it is no floor, even where the platform is over it.
  const Obstacles sill({box_at({0.1, 0.0, 0.02}, {0.02, 0.5, 0.02})});
  CHECK(body.clearance({}, upright, sill) < 0.0);
}

TEST_CASE("mobile body: the arm's clearance from its own platform is that of points on the links",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileBody body(robot, standard_capsules(robot));
  const Shape platform = box({0.29, 0.19, 0.07});
  std::vector<BodyCapsule> outer;  // the last two links
  for (const BodyCapsule& capsule : body.capsules())
    if (capsule.frame >= 3) outer.push_back(capsule);
  Random random(3);
  int touching = 0;
  for (int i = 0; i < 300; ++i) {
    const RandomPose pose = random_pose(random, robot);
    const auto distance = [&](const Vector3d& p_W) {
      const double c = std::cos(pose.base.heading), s = std::sin(pose.base.heading);
      const double dx = p_W.x() - pose.base.x, dy = p_W.y() - pose.base.y;
      return platform->distance({c * dx + s * dy, c * dy - s * dx, p_W.z() - 0.07});
    };
    const double from_box = least_sampled(robot, outer, pose, distance);
    const double found = body.own_clearance(pose.joints);
    CHECK(found <= from_box + kSearchTolerance);
    if (from_box < 0.0) ++touching;
  }
  CHECK(touching > 10);
}

TEST_CASE("mobile body: a search that is bounded from above finds the same or nothing",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileBody body(robot, standard_capsules(robot));
  Random random(4);
  for (int i = 0; i < 50; ++i) {
    const RandomPose pose = random_pose(random, robot);
    const Obstacles obstacles(
        {sphere_at({random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), 0.3}, 0.1),
         half_space_at(Vector3d::Zero(), Vector3d::UnitZ())});
    const double whole = body.clearance(pose.base, pose.joints, obstacles);
    const double bounded = body.clearance(pose.base, pose.joints, obstacles, 0.2);
    if (whole < 0.2 - kSearchTolerance) {
      CHECK(bounded == Approx(whole).margin(kSearchTolerance));
    } else {
      CHECK(bounded >= 0.2 - kSearchTolerance);
    }
  }
}

TEST_CASE("mobile body: clearances allocate nothing, and bad capsules are refused", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileBody body(robot, standard_capsules(robot));
  const Obstacles obstacles({sphere_at({0.5, 0.0, 0.3}, 0.1)});
  const std::vector<double> joints(5, 0.3);
  const AllocationCounter counter;
  const double found = body.clearance({}, joints, obstacles) + body.own_clearance(joints);
  CHECK(counter.count() == 0);
  CHECK(std::isfinite(found));
  CHECK_THROWS_AS(MobileBody(robot, {{.frame = 6}}), ModelError);
  CHECK_THROWS_AS(MobileBody(robot, {{.frame = -1}}), ModelError);
  CHECK_THROWS_AS(MobileBody(robot, {{.radius = -0.1}}), ModelError);
  CHECK_THROWS_AS(MobileBody(robot, {{.end = {kInfinity, 0.0, 0.0}}}), ModelError);
}
