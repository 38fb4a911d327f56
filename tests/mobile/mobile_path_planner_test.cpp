#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tendril/mobile/path_planner.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random_memory.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kMargin = 0.03;
constexpr int kChecks = 50;

/// A wall of capsules across x = 1.
Obstacles fence(double half_width) {
  std::vector<Obstacle> bars;
  for (double y = -half_width; y <= half_width + 1e-9; y += 0.2)
    bars.push_back(capsule_between({1.0, y, 0.0}, {1.0, y, 1.0}, 0.05));
  return Obstacles(bars);
}

struct Search {
  explicit Search(MobilePathPlanner& planner)
      : memory(static_cast<std::size_t>(planner.memory_size())) {}
  std::vector<double> memory;
  int calls = 0;
  MobilePathPlanner::Progress run(MobilePathPlanner& planner, const Eigen::VectorXd& from,
                                  const Eigen::VectorXd& to, const Obstacles& obstacles, int checks,
                                  int seed = 1) {
    planner.begin(from, to, seed, memory);
    MobilePathPlanner::Progress progress = MobilePathPlanner::Progress::Searching;
    while (progress == MobilePathPlanner::Progress::Searching) {
      progress = planner.resume(obstacles, checks, memory);
      ++calls;
    }
    return progress;
  }
};

Eigen::VectorXd at(double x, double y, double bend = 0.5) {
  Eigen::VectorXd c = Eigen::VectorXd::Zero(8);
  c << x, y, 0.0, 0.0, bend, bend, bend, 0.0;
  return c;
}

}  // namespace

TEST_CASE("mobile path planner: a path around a fence keeps the margin everywhere", "[mobile]") {
  const MobileRobot robot(youbot());
  MobilePathPlanner planner(MobileBody(robot, standard_capsules(robot)), {.margin = kMargin});
  const Obstacles obstacles = fence(0.6);
  const Eigen::VectorXd from = at(0.0, 0.0), to = at(2.0, 0.1);
  REQUIRE(planner.is_free(from, obstacles));
  REQUIRE(planner.is_free(to, obstacles));
  REQUIRE_FALSE(planner.line_is_free(from, to, obstacles));
  for (int seed = 1; seed <= 5; ++seed) {
    Search search(planner);
    REQUIRE(search.run(planner, from, to, obstacles, kChecks, seed) ==
            MobilePathPlanner::Progress::Found);
    REQUIRE(planner.waypoint_count() > 0);
    std::vector<Eigen::VectorXd> corners = {from};
    for (int i = 0; i < planner.waypoint_count(); ++i) corners.push_back(planner.waypoint(i));
    corners.push_back(to);
    MobileBody body(robot, standard_capsules(robot));
    double least = 1.0, own = 1.0;
    for (std::size_t i = 0; i + 1 < corners.size(); ++i) {
      constexpr int kSamples = 500;
      for (int k = 0; k <= kSamples; ++k) {
        const Eigen::VectorXd x = corners[i] + (corners[i + 1] - corners[i]) * k / kSamples;
        least = std::min(least, body.clearance(platform_of(x), joints_of(x), obstacles));
        own = std::min(own, body.own_clearance(joints_of(x)));
        CHECK(within_limits(robot, joints_of(x)));
      }
    }
    CHECK(least > kMargin - 0.01);  // the resolution of the checks
    CHECK(own > -0.01);
  }
}

TEST_CASE("mobile path planner: a search does not depend on how it is divided into calls",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobilePathPlanner planner(MobileBody(robot, standard_capsules(robot)));
  const Obstacles obstacles = fence(1.0);
  const Eigen::VectorXd from = at(0.0, 0.0), to = at(2.0, 0.1);
  std::vector<Eigen::VectorXd> waypoints;
  for (const int checks : {7, 50, 100000}) {
    Search search(planner);
    REQUIRE(search.run(planner, from, to, obstacles, checks) == MobilePathPlanner::Progress::Found);
    if (waypoints.empty()) {
      CHECK(search.calls > 1);
      for (int i = 0; i < planner.waypoint_count(); ++i) waypoints.push_back(planner.waypoint(i));
      continue;
    }
    REQUIRE(planner.waypoint_count() == static_cast<int>(waypoints.size()));
    for (int i = 0; i < planner.waypoint_count(); ++i)
      CHECK(planner.waypoint(i) == waypoints[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("mobile path planner: straight without obstacles, none to a pose that is not free",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobilePathPlanner planner(MobileBody(robot, standard_capsules(robot)));
  Search search(planner);
  CHECK(search.run(planner, at(0.0, 0.0), at(2.0, 1.0), Obstacles(), kChecks) ==
        MobilePathPlanner::Progress::Found);
  CHECK(planner.waypoint_count() == 0);
  CHECK(search.run(planner, at(0.0, 0.0), at(1.0, 0.0), fence(0.6), kChecks) ==
        MobilePathPlanner::Progress::Failed);
  // Walled in: four walls about the goal.
  std::vector<Obstacle> walls;
  for (const double side : {-1.0, 1.0}) {
    walls.push_back(
        capsule_between({2.0 + 0.8 * side, -0.8, 0.1}, {2.0 + 0.8 * side, 0.8, 0.1}, 0.1));
    walls.push_back(capsule_between({1.2, 0.8 * side, 0.1}, {2.8, 0.8 * side, 0.1}, 0.1));
  }
  CHECK(search.run(planner, at(0.0, 0.0), at(2.0, 0.0), Obstacles(walls), kChecks) ==
        MobilePathPlanner::Progress::Failed);
}

TEST_CASE("mobile path planner: a search allocates nothing, options out of range are refused",
          "[mobile]") {
  const MobileRobot robot(youbot());
  const MobileBody body(robot, standard_capsules(robot));
  MobilePathPlanner planner(body);
  const Obstacles obstacles = fence(0.6);
  const Eigen::VectorXd from = at(0.0, 0.0), to = at(2.0, 0.1);
  Search search(planner);
  const AllocationCounter counter;
  const MobilePathPlanner::Progress progress = search.run(planner, from, to, obstacles, kChecks);
  CHECK(counter.count() == 0);
  CHECK(progress == MobilePathPlanner::Progress::Found);
  CHECK_THROWS_WITH(MobilePathPlanner(body, {.max_nodes = 1}),
                    "mobile path planner: max_nodes = 1, must be >= 2");
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_checks = 0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_line_checks = 0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_waypoints = 0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.margin = -0.1}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.own_margin = -0.1}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.resolution = 0.0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.detour = std::numeric_limits<double>::infinity()}),
                  ModelError);
}

TEST_CASE("mobile path planner: whatever its memory holds, every call ends and remains inside it",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobilePathPlanner planner(MobileBody(robot, standard_capsules(robot)), {.max_checks = 1000});
  const Obstacles obstacles = fence(0.6);
  for (int seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(static_cast<std::uint64_t>(seed));
    Search search(planner);
    if (seed % 3 != 0) {  // a search that is under way, some of it damaged
      planner.begin(at(0.0, 0.0), at(2.0, 0.1), seed, search.memory);
      CHECK(planner.layout().is_valid(search.memory));
      (void)planner.resume(obstacles, kChecks, search.memory);
      CHECK(planner.layout().is_valid(search.memory));
    }
    damage(random, search.memory, seed % 3 == 0 ? 1.0 : (seed % 3 == 1 ? 0.3 : 0.01));
    MobilePathPlanner::Progress progress = MobilePathPlanner::Progress::Searching;
    for (int i = 0; i < 1000 && progress == MobilePathPlanner::Progress::Searching; ++i)
      progress = planner.resume(obstacles, kChecks, search.memory);
    CHECK(progress != MobilePathPlanner::Progress::Searching);
  }
}
