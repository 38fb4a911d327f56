#include "tendril/path/least_deviation.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

/// Largest distance from the path, across it, of points of the body at the same arc lengths.
double deviation(const ContinuumRobot& robot, SectionStates states, double feed, const Path& path) {
  constexpr int kPoints = 25;
  double start = feed, largest = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double length = robot.section(i).length() + states[static_cast<std::size_t>(i)].extension;
    for (int k = 1; k <= kPoints; ++k) {
      const double fraction = static_cast<double>(k) / kPoints, s = start + fraction * length;
      const Vector3d off = backbone_pose(robot, states, {.feed = feed}, i, fraction).translation() -
                           path.position(s);
      largest = std::max(largest, (off - path.tangent(s) * path.tangent(s).dot(off)).norm());
    }
    start += length;
  }
  return largest;
}

/// Three sections of 100 mm on a base with a feed.
ContinuumRobot fed_robot() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 100 * kDegree};
  return ContinuumRobot({section, section, section}, {.feed_limit = 0.4});
}

}  // namespace

TEST_CASE("least deviation: no bends keep the body nearer to the path, and some nearly do",
          "[planning]") {
  const ContinuumRobot robot = fed_robot();
  const Path path =
      rounded_path(std::vector<Vector3d>{{0, 0, 0}, {0, 0, 0.54}, {-0.2, 0, 0.54}}, 0.12);
  const LeastDeviation least = least_deviation(robot, path, Advance(robot, Growth::None), 0.33);
  CAPTURE(least.distance, least.advance, least.arc_length);

  // Down from the bends of the best known fit in random directions, smaller and smaller steps.
  std::vector<SectionState> best(robot.straight().begin(), robot.straight().end());
  double reached = deviation(robot, best, least.advance, path);
  Random random(7);
  double step = 0.5;
  for (int i = 0; i < 40'000; ++i) {
    std::vector<SectionState> tried = best;
    for (SectionState& state : tried) {
      const Eigen::Vector2d bend =
          bend_vector(state) +
          step * Eigen::Vector2d(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
      state = state_from_bend_vector(bend.x(), bend.y(), state.extension, state.phi);
    }
    const double off = deviation(robot, tried, least.advance, path);
    if (off < reached) {
      reached = off;
      best = tried;
    } else {
      step = std::max(step * 0.9995, 1e-5);
    }
  }
  CHECK(reached > least.distance);
  CHECK(reached < 1.25 * least.distance);                  // by this simple search
  CHECK(least.distance == Approx(0.0022).margin(0.0003));  // docs/theory/control.md
  CHECK(least.arc_length > least.advance);
  CHECK(least.arc_length <= least.advance + 0.3);
}

TEST_CASE("least deviation: none on a straight path, more on a tighter one", "[planning]") {
  const ContinuumRobot robot = fed_robot();
  CHECK(least_deviation(robot, Path({{0, 0, 0}, {0, 0, 0.6}}), Advance(robot, Growth::None), 0.3)
            .distance < 1e-9);
  double last = 0.0;
  for (const double radius : {0.2, 0.15, 0.1}) {
    const double corner = 0.45 + radius;  // all bends begin at the same place
    const Path path =
        rounded_path(std::vector<Vector3d>{{0, 0, 0}, {0, 0, corner}, {-0.3, 0, corner}}, radius);
    const double distance =
        least_deviation(robot, path, Advance(robot, Growth::None), 0.3).distance;
    CHECK(distance > last);
    last = distance;
  }
}
