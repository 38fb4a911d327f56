#include "tendril/mobile/mobile_path_planner.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kMargin = 0.03;
constexpr int kChecks = 50;

/// A wall of posts across x = 1.
Obstacles fence(double half_width) {
  std::vector<Obstacle> posts;
  for (double y = -half_width; y <= half_width + 1e-9; y += 0.2)
    posts.push_back(capsule_between({1.0, y, 0.0}, {1.0, y, 1.0}, 0.05));
  return Obstacles(posts);
}

struct Search {
  explicit Search(MobilePathPlanner& way) : memory(static_cast<std::size_t>(way.memory_size())) {}
  std::vector<double> memory;
  int calls = 0;
  MobilePathPlanner::Progress run(MobilePathPlanner& way, const Eigen::VectorXd& from,
                                  const Eigen::VectorXd& to, const Obstacles& obstacles, int checks,
                                  int seed = 1) {
    way.begin(from, to, seed, memory);
    MobilePathPlanner::Progress progress = MobilePathPlanner::Progress::Searching;
    while (progress == MobilePathPlanner::Progress::Searching) {
      progress = way.resume(obstacles, checks, memory);
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

TEST_CASE("a way round a fence keeps the margin everywhere") {
  const MobileRobot robot(youbot());
  MobilePathPlanner way(MobileBody(robot, standard_capsules(robot)), {.margin = kMargin});
  const Obstacles obstacles = fence(0.6);
  const Eigen::VectorXd from = at(0.0, 0.0), to = at(2.0, 0.1);
  REQUIRE(way.is_free(from, obstacles));
  REQUIRE(way.is_free(to, obstacles));
  REQUIRE_FALSE(way.line_is_free(from, to, obstacles));
  for (int seed = 1; seed <= 5; ++seed) {
    Search search(way);
    REQUIRE(search.run(way, from, to, obstacles, kChecks, seed) ==
            MobilePathPlanner::Progress::Found);
    REQUIRE(way.waypoint_count() > 0);
    std::vector<Eigen::VectorXd> corners = {from};
    for (int i = 0; i < way.waypoint_count(); ++i) corners.push_back(way.turn(i));
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

TEST_CASE("a search does not depend on how it is cut into calls") {
  const MobileRobot robot(youbot());
  MobilePathPlanner way(MobileBody(robot, standard_capsules(robot)));
  const Obstacles obstacles = fence(1.0);
  const Eigen::VectorXd from = at(0.0, 0.0), to = at(2.0, 0.1);
  std::vector<Eigen::VectorXd> turns;
  for (const int checks : {7, 50, 100000}) {
    Search search(way);
    REQUIRE(search.run(way, from, to, obstacles, checks) == MobilePathPlanner::Progress::Found);
    if (turns.empty()) {
      CHECK(search.calls > 1);
      for (int i = 0; i < way.waypoint_count(); ++i) turns.push_back(way.turn(i));
      continue;
    }
    REQUIRE(way.waypoint_count() == static_cast<int>(turns.size()));
    for (int i = 0; i < way.waypoint_count(); ++i)
      CHECK(way.turn(i) == turns[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("without obstacles the way is straight; to a pose that is not free there is none") {
  const MobileRobot robot(youbot());
  MobilePathPlanner way(MobileBody(robot, standard_capsules(robot)));
  Search search(way);
  CHECK(search.run(way, at(0.0, 0.0), at(2.0, 1.0), Obstacles(), kChecks) ==
        MobilePathPlanner::Progress::Found);
  CHECK(way.waypoint_count() == 0);
  CHECK(search.run(way, at(0.0, 0.0), at(1.0, 0.0), fence(0.6), kChecks) ==
        MobilePathPlanner::Progress::Failed);
  // Walled in: four walls about the goal.
  std::vector<Obstacle> walls;
  for (const double side : {-1.0, 1.0}) {
    walls.push_back(
        capsule_between({2.0 + 0.8 * side, -0.8, 0.1}, {2.0 + 0.8 * side, 0.8, 0.1}, 0.1));
    walls.push_back(capsule_between({1.2, 0.8 * side, 0.1}, {2.8, 0.8 * side, 0.1}, 0.1));
  }
  CHECK(search.run(way, at(0.0, 0.0), at(2.0, 0.0), Obstacles(walls), kChecks) ==
        MobilePathPlanner::Progress::Failed);
}

TEST_CASE("a search allocates nothing, and options out of range are refused") {
  const MobileRobot robot(youbot());
  const MobileBody body(robot, standard_capsules(robot));
  MobilePathPlanner way(body);
  const Obstacles obstacles = fence(0.6);
  const Eigen::VectorXd from = at(0.0, 0.0), to = at(2.0, 0.1);
  Search search(way);
  const AllocationCounter counter;
  const MobilePathPlanner::Progress progress = search.run(way, from, to, obstacles, kChecks);
  CHECK(counter.count() == 0);
  CHECK(progress == MobilePathPlanner::Progress::Found);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_nodes = 1}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_checks = 0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_line_checks = 0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.max_waypoints = 0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.margin = -0.1}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.own_margin = -0.1}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.resolution = 0.0}), ModelError);
  CHECK_THROWS_AS(MobilePathPlanner(body, {.aside = std::numeric_limits<double>::infinity()}),
                  ModelError);
}
