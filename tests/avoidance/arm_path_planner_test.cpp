#include "tendril/avoidance/arm_path_planner.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr double kRadius = 0.01;          // [m], kept clear
constexpr double kCheckTolerance = 2e-4;  // [m], of a check

ContinuumRobot three_sections() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 1.745};
  return ContinuumRobot({section, section, section});
}

std::vector<SectionState> states_of(const VectorXd& q) {
  std::vector<SectionState> states;
  for (int i = 0; i < q.size() / 2; ++i)
    states.push_back(state_from_bend_vector(q[2 * i], q[2 * i + 1], 0.0));
  return states;
}

double sampled(const ContinuumRobot& robot, const VectorXd& q, const Obstacles& obstacles) {
  double least = std::numeric_limits<double>::infinity();
  const auto states = states_of(q);
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 0; k <= 30; ++k) {
      const Vector3d p = backbone_pose(robot, states, {}, i, k / 30.0).translation();
      least = std::min(least, obstacles.nearest(p).distance);
    }
  }
  return least;
}

VectorXd bent(double first_u, double first_v, double others) {
  VectorXd q(6);
  q << first_u, first_v, others, 0.0, others, 0.0;
  return q;
}

/// A whole search in calls of 50 checks: the number of waypoints, -1 for none.
int search(ArmPathPlanner& planner, const VectorXd& from, const std::vector<VectorXd>& goals,
           const Obstacles& obstacles, int seed, std::vector<double>& memory) {
  planner.begin(from, goals.front(), seed, memory);
  for (std::size_t i = 1; i < goals.size(); ++i) planner.add_goal(goals[i], memory);
  auto progress = ArmPathPlanner::Progress::Searching;
  while (progress == ArmPathPlanner::Progress::Searching)
    progress = planner.resume(obstacles, {}, 50, memory);
  return progress == ArmPathPlanner::Progress::Found ? planner.waypoint_count() : -1;
}
std::vector<double> memory_of(const ArmPathPlanner& planner) {
  return std::vector<double>(static_cast<std::size_t>(planner.layout().size()));
}

/// A short bar next to the arm, in the region that the arm would sweep.
Obstacles bar() { return Obstacles({capsule_between({0.1, -0.02, 0.2}, {0.1, 0.02, 0.2}, 0.015)}); }

}  // namespace

TEST_CASE("arm path planner: no point of the body moves farther than the distance of two poses",
          "[planning]") {
  const ContinuumRobot robot = three_sections();
  ArmPathPlanner planner(robot, {});
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    VectorXd a(6), b(6);
    for (int k = 0; k < 6; ++k) {
      a[k] = random.uniform(-1.0, 1.0);
      b[k] = a[k] + random.uniform(-0.2, 0.2);
    }
    const auto from = states_of(a), to = states_of(b);
    for (int k = 0; k < 3; ++k) {
      for (const double fraction : {0.3, 1.0}) {
        const Vector3d moved = backbone_pose(robot, to, {}, k, fraction).translation() -
                               backbone_pose(robot, from, {}, k, fraction).translation();
        REQUIRE(moved.norm() <= planner.distance(a, b));
      }
    }
  }
}

TEST_CASE("arm path planner: a path around a bar is free everywhere", "[planning]") {
  const ContinuumRobot robot = three_sections();
  const Obstacles obstacles = bar();
  ArmPathPlanner planner(robot, {.max_checks = 1000, .safety_distance = kRadius});
  const VectorXd from = bent(0.0, 0.0, 0.0), to = bent(1.5, 0.0, 0.0);
  REQUIRE(planner.is_free(from, obstacles));
  REQUIRE(planner.is_free(to, obstacles));
  REQUIRE_FALSE(planner.line_is_free(from, to, obstacles));
  int found = 0;
  std::vector<double> memory = memory_of(planner);
  const std::vector<VectorXd> goals{to};
  for (int seed = 0; seed < 10; ++seed) {
    AllocationCounter counter;
    const int waypoints = search(planner, from, goals, obstacles, seed, memory);
    CHECK(counter.count() == 0);
    CHECK(planner.layout().is_valid(memory));
    if (waypoints < 0) continue;
    ++found;
    std::vector<VectorXd> poses{from};
    for (int i = 0; i < waypoints; ++i) poses.push_back(planner.waypoint(i));
    poses.push_back(to);
    CHECK(planner.end() == to);
    CHECK(search(planner, from, goals, obstacles, seed, memory) == waypoints);
    for (int i = 0; i < waypoints; ++i)
      CHECK(planner.waypoint(i) ==
            poses[static_cast<std::size_t>(i) + 1]);  // bitwise identical again
    for (std::size_t i = 1; i < poses.size(); ++i) {
      for (int k = 0; k <= 100; ++k) {
        const VectorXd q = poses[i - 1] + k / 100.0 * (poses[i] - poses[i - 1]);
        // Between two checks that are `resolution` apart the body may dip by half of it.
        REQUIRE(sampled(robot, q, obstacles) >=
                kRadius - 0.5 * planner.options().resolution - kCheckTolerance);
      }
    }
  }
  CHECK(found >= 5);
}

TEST_CASE("arm path planner: none is found where there is none, within the budget", "[planning]") {
  const ContinuumRobot robot = three_sections();
  ArmPathPlanner planner(robot, {.safety_distance = kRadius});
  const VectorXd from = bent(0.0, 0.0, 0.0), to = bent(1.5, 0.0, 0.0);
  const Obstacles inside({sphere_at({0.25, 0.0, 0.1}, 0.1)});  // the end collides
  std::vector<double> memory = memory_of(planner);
  CHECK(search(planner, from, {to}, inside, 1, memory) == -1);
  CHECK(search(planner, from, {to}, Obstacles(), 1, memory) == 0);
}

TEST_CASE("arm path planner: of several goals the path ends at one that it can get to",
          "[planning]") {
  const ContinuumRobot robot = three_sections();
  ArmPathPlanner planner(robot, {.safety_distance = kRadius});
  // A tube of staves around the end of the straight arm, which cannot leave it or get into it.
  std::vector<Obstacle> staves;
  for (int i = 0; i < 8; ++i) {
    const double a = 0.25 * 3.141592653589793 * i, x = 0.03 * std::cos(a), y = 0.03 * std::sin(a);
    staves.push_back(capsule_between({x, y, 0.15}, {x, y, 0.29}, 0.012));
  }
  const Obstacles obstacles(staves);
  const VectorXd caught = bent(0.0, 0.0, 0.0), from = bent(1.2, 0.0, 0.2),
                 free = bent(-1.2, 0.3, 0.1);
  REQUIRE(planner.is_free(caught, obstacles));
  REQUIRE_FALSE(planner.line_is_free(from, free, obstacles));
  std::vector<double> memory = memory_of(planner);
  REQUIRE(search(planner, from, {caught, free}, obstacles, 1, memory) >= 0);
  CHECK(planner.end() == free);
}

TEST_CASE("arm path planner: a step away increases the clearance by its length", "[planning]") {
  const ContinuumRobot robot = three_sections();
  const Obstacles obstacles = bar();
  ArmPathPlanner planner(robot, {.safety_distance = kRadius});
  const VectorXd q = bent(0.35, 0.1, 0.1);
  VectorXd direction(6);
  planner.away(q, obstacles, {}, direction);
  constexpr double kStep = 1e-4;  // [m]
  const double before = planner.clearance(q, obstacles);
  CHECK(planner.clearance(q + kStep * direction, obstacles) - before ==
        Approx(kStep).epsilon(0.05));
}

TEST_CASE("arm path planner: options are checked", "[planning]") {
  CHECK_THROWS_WITH(ArmPathPlanner(three_sections(), {.max_nodes = 1}),
                    "arm path planner: max_nodes = 1, must be >= 2");
  CHECK_THROWS_WITH(ArmPathPlanner(three_sections(), {.resolution = 0.0}),
                    "arm path planner: resolution = 0 m, must be > 0");
}
