#include "tendril/ik/auto_solver.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/ik/levenberg_solver.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

static_assert(IkSolver<AutoSolver>);

namespace {

TipTarget reachable_target(Random& random, const ContinuumRobot& robot, TipTask task,
                           const BaseState& base = {}) {
  return {.X_BG = oracle_tip_pose(robot, random_states(random, robot), base), .task = task};
}

double bend_change(const SectionState& a, const SectionState& b) {
  return (bend_vector(a) - bend_vector(b)).norm();
}

/// Sum of the squared distances to a pose, lengths counted by the mean half section length.
double squared_distance(const ContinuumRobot& robot, SectionStates a, SectionStates b,
                        bool lengths) {
  const double scale = robot.max_length() / robot.section_count() / 2.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (bend_vector(a[i]) - bend_vector(b[i])).squaredNorm();
    if (lengths) sum += std::pow((a[i].extension - b[i].extension) / scale, 2);
  }
  return sum;
}

/// Distance of the closest pose that a search without derivatives finds: random poses, then smaller
/// and smaller random changes of the best.
double closest_by_search(Random& random, const ContinuumRobot& robot, const TipTarget& target) {
  constexpr int kPoses = 500, kChanges = 1500;
  double closest = std::numeric_limits<double>::infinity();
  std::vector<SectionState> best;
  for (int k = 0; k < kPoses + kChanges; ++k) {
    std::vector<SectionState> pose = random_states(random, robot);
    if (k >= kPoses) {
      const double size = std::pow(0.996, k - kPoses);
      for (std::size_t i = 0; i < pose.size(); ++i) {
        const Eigen::Vector2d bend =
            bend_vector(best[i]) + size * (bend_vector(pose[i]) - bend_vector(best[i]));
        const double s = best[i].extension + size * (pose[i].extension - best[i].extension);
        pose[i] = robot.clamped(static_cast<int>(i), state_from_bend_vector(bend.x(), bend.y(), s));
      }
    }
    const double distance = position_error(oracle_tip_pose(robot, pose), target);
    if (distance < closest) {
      closest = distance;
      best = pose;
    }
  }
  return closest;
}

std::vector<SectionState> copy(SectionStates states) { return {states.begin(), states.end()}; }

}  // namespace

TEST_CASE("auto: every reachable target is reached", "[ik]") {
  Random random(77);
  int tried = 0;
  for (int r = 0; r < 40; ++r) {
    const ContinuumRobot robot = random_robot(random, 2 + r % 5);
    AutoSolver solver(robot, {.position_tolerance = 1e-6, .angle_tolerance = 1e-4});
    for (const TipTask task : {TipTask::Position, TipTask::PositionAndDirection}) {
      for (int k = 0; k < 10; ++k, ++tried) {
        CAPTURE(r, k);
        const TipTarget target = reachable_target(random, robot, task);
        const IkResult result = solver.solve(target, robot.straight());
        CHECK(result.converged());
        const Isometry3d X_BE = oracle_tip_pose(robot, result.states);
        CHECK(position_error(X_BE, target) <= 1e-6 + kAlgebraTolerance);
        CHECK(angle_error(X_BE, target) <= 1e-4 + kAlgebraTolerance);
        CHECK(robot.within_limits(result.states));
      }
    }
  }
  CHECK(tried == 800);
}

TEST_CASE("auto: the solution is within the jump limit of the start, or says that it is not",
          "[ik]") {
  constexpr double kMove = 2e-4;  // [m]: one step of 2 ms at 0.1 m/s
  constexpr double kLimit = 0.1;  // [rad]
  Random random(3);
  int near = 0, jumped = 0;
  for (const ContinuumRobot& robot : {plain_robot(), mixed_robot(), table_robot()}) {
    const double length_limit = kLimit * robot.max_length() / robot.section_count() / 2.0;
    AutoSolver solver(robot, {.position_tolerance = 1e-6, .jump_limit = kLimit});
    for (int k = 0; k < 200; ++k) {
      const std::vector<SectionState> start = random_states(random, robot);
      TipTarget target{.X_BG = oracle_tip_pose(robot, start, {}),
                       .task = k % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection};
      target.X_BG.translation() += kMove * random.unit_vector();
      const IkResult result = solver.solve(target, start);
      bool exceeds = false;
      for (std::size_t i = 0; i < start.size(); ++i) {
        exceeds = exceeds || bend_change(result.states[i], start[i]) > kLimit ||
                  std::abs(result.states[i].extension - start[i].extension) > length_limit;
      }
      CHECK(result.jumped == exceeds);
      near += result.converged() && !result.jumped;
      jumped += result.jumped;
    }
  }
  CHECK(near > 540);   // of 600: nearly always the near solution
  CHECK(jumped < 60);  // from poses at their limits, and for targets moved out of reach
}

TEST_CASE("auto: a preference is served without leaving the target", "[ik]") {
  const Preference preference =
      GENERATE(Preference::Straight, Preference::MidRange, Preference::LeastChange);
  Random random(11);
  int better = 0;
  constexpr int kCount = 60;
  for (int k = 0; k < kCount; ++k) {
    CAPTURE(k);
    const ContinuumRobot robot = random_robot(random, 4);
    const std::vector<SectionState> start = random_states(random, robot);
    const TipTarget target = reachable_target(
        random, robot, k % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection);
    AutoSolver plain(robot);
    AutoSolver preferring(robot, {.preference = preference});
    const std::vector<SectionState> without = copy(plain.solve(target, start).states);
    const IkResult result = preferring.solve(target, start);
    REQUIRE(result.converged());
    CHECK(robot.within_limits(result.states));
    const Isometry3d X_BE = oracle_tip_pose(robot, result.states);
    CHECK(position_error(X_BE, target) <= preferring.options().position_tolerance);
    const SectionStates preferred =
        preference == Preference::LeastChange ? SectionStates(start) : robot.straight();
    const bool lengths = preference != Preference::Straight;
    const double now = squared_distance(robot, result.states, preferred, lengths);
    const double before = squared_distance(robot, without, preferred, lengths);
    CHECK(now <= before * (1.0 + 1e-9));
    better += now < 0.99 * before;
  }
  CHECK(better > kCount / 2);
}

TEST_CASE("auto: a preferred pose that meets the target is kept", "[ik]") {
  Random random(12);
  for (int k = 0; k < 20; ++k) {
    const ContinuumRobot robot = random_robot(random, 3);
    const std::vector<SectionState> start = random_states(random, robot);
    const TipTarget target{.X_BG = oracle_tip_pose(robot, start),
                           .task = TipTask::PositionAndDirection};
    AutoSolver solver(robot, {.preference = Preference::LeastChange});
    const IkResult result = solver.solve(target, start);
    REQUIRE(result.converged());
    for (std::size_t i = 0; i < start.size(); ++i)
      CHECK(bend_change(result.states[i], start[i]) < 1e-9);
  }
}

TEST_CASE("auto: a target out of reach gets the closest pose in position", "[ik]") {
  constexpr double kSlack = 2e-3;  // of the robot's length: closest by sampling and descending
  Random random(21);
  for (int r = 0; r < 12; ++r) {
    const ContinuumRobot robot = random_robot(random, 2 + r % 3);
    AutoSolver solver(robot);
    TipTarget target;
    target.X_BG.translation() =
        random.uniform(1.05, 2.5) * robot.max_length() * random.unit_vector();
    target.task = r % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection;
    CAPTURE(r);
    const IkResult result = solver.solve(target, robot.straight());
    CHECK(!result.converged());
    CHECK(result.iterations <= solver.options().max_iterations);
    CHECK(robot.within_limits(result.states));
    const double closest = closest_by_search(random, robot, target);
    CHECK(result.position_error <= closest + kSlack * robot.max_length());
  }
}

TEST_CASE("auto: out of reach by a million the arm points there", "[ik]") {
  const ContinuumRobot robot = plain_robot();
  AutoSolver solver(robot);
  const Vector3d way = Vector3d(1.0, 0.5, 2.0).normalized();
  const IkResult result =
      solver.solve({.X_BG = Isometry3d(Eigen::Translation3d(1e6 * way))}, robot.straight());
  CHECK(!result.converged());
  const Vector3d tip = oracle_tip_pose(robot, result.states).translation();
  CHECK(tip.dot(way) > 0.9 * robot.max_length());
  CHECK(result.position_error == Approx((1e6 * way - tip).norm()));
}

TEST_CASE("auto: the base feed is solved for on request, within its limit", "[ik]") {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 100 * kDegree};
  const ContinuumRobot robot(std::vector<SectionParameters>{section, section}, {.feed_limit = 0.3});
  AutoSolver given(robot), feeding(robot, {.feed_base = true});
  Random random(5);
  int needed = 0;
  for (int k = 0; k < 100; ++k) {
    CAPTURE(k);
    const BaseState base{.feed = random.uniform(0.0, 0.3), .spin = 0.3};
    const TipTarget target = reachable_target(random, robot, TipTask::Position, base);
    const BaseState start_base{.feed = 0.0, .spin = 0.3};
    const IkResult result = feeding.solve(target, robot.straight(), start_base);
    CHECK(result.converged());
    CHECK(result.base.feed >= 0.0);
    CHECK(result.base.feed <= 0.3);
    CHECK(result.base.spin == 0.3);
    const Isometry3d X_BE = oracle_tip_pose(robot, result.states, result.base);
    CHECK(position_error(X_BE, target) <= feeding.options().position_tolerance);
    const IkResult without = given.solve(target, robot.straight(), start_base);
    CHECK(without.base.feed == 0.0);
    needed += !without.converged();
  }
  CHECK(needed > 20);
}

TEST_CASE("auto: the budget bounds the work whatever the target", "[ik]") {
  const int budget = GENERATE(1, 2, 7, 50, 500);
  Random random(31);
  for (int k = 0; k < 40; ++k) {
    const ContinuumRobot robot = random_robot(random, 3);
    const auto preference = static_cast<Preference>(k % 4);
    AutoSolver solver(robot, {.max_iterations = budget, .preference = preference});
    TipTarget target = reachable_target(random, robot, TipTask::PositionAndDirection);
    if (k % 2 == 0) target.X_BG.translation() *= random.uniform(0.2, 5.0);
    const IkResult result = solver.solve(target, robot.straight());
    CHECK(result.iterations <= budget);
    if (!result.converged() && result.iterations >= budget)
      CHECK(result.status == IkStatus::MaxIterations);
  }
}

TEST_CASE("auto: solving allocates nothing", "[ik]") {
  Random random(2);
  const ContinuumRobot robot = mixed_robot();
  AutoSolver solver(robot, {.preference = Preference::MidRange});
  const TipTarget near = reachable_target(random, robot, TipTask::PositionAndDirection);
  const TipTarget far{.X_BG = Isometry3d(Eigen::Translation3d(1.0, 2.0, 3.0))};
  AllocationCounter counter;
  (void)solver.solve(near, robot.straight());
  (void)solver.solve(far, robot.straight());
  CHECK(counter.count() == 0);
}

TEST_CASE("auto: options out of range are refused", "[ik]") {
  const ContinuumRobot robot = plain_robot();
  CHECK_THROWS_AS(AutoSolver(robot, {.max_iterations = 0}), ModelError);
  CHECK_THROWS_AS(AutoSolver(robot, {.position_tolerance = 0.0}), ModelError);
  CHECK_THROWS_AS(AutoSolver(robot, {.max_restarts = -1}), ModelError);
  CHECK_THROWS_WITH(AutoSolver(robot, {.jump_limit = -1.0}),
                    "auto options: jump_limit = -1 rad, must be > 0");
}
