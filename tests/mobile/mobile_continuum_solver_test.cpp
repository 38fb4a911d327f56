#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kRounding = 1e-9;  // [m], [rad]

/// Three sections of 100 mm on top of a platform, upright, or leaning forward.
MobileContinuum upright() {
  MobileContinuum robot{.arm = plain_robot(), .X_PB = Eigen::Isometry3d::Identity()};
  robot.X_PB.translation() << 0.1, 0.05, 0.2;
  return robot;
}

MobileContinuum leaning() {
  MobileContinuum robot = upright();
  robot.X_PB.linear() =
      Eigen::AngleAxisd(0.5 * std::numbers::pi, Eigen::Vector3d::UnitY()).toRotationMatrix();
  return robot;
}

/// Pose of the tip by elementary transforms.
Eigen::Isometry3d tip_of(const MobileContinuum& robot, const PlatformPose& base,
                         SectionStates states, const BaseState& arm_base = {}) {
  return Eigen::Translation3d(base.x, base.y, 0.0) *
         Eigen::AngleAxisd(base.heading, Eigen::Vector3d::UnitZ()) * robot.X_PB *
         tip_pose(robot.arm, states, arm_base);
}

/// The tip pose of a random pose with the tip over the floor.
TipTarget random_target(Random& random, const MobileContinuum& robot, TipTask task) {
  while (true) {
    const PlatformPose base{
        .x = random.uniform(-1.0, 1.0), .y = random.uniform(-1.0, 1.0), .heading = random.angle()};
    const TipTarget target{.X_BG = tip_of(robot, base, random_states(random, robot.arm)),
                           .task = task};
    if (target.position().z() > 0.0) return target;
  }
}

void check_claim(const MobileContinuum& robot, const TipTarget& target,
                 const MobileContinuumResult& result, const AutoOptions& options = {}) {
  const Eigen::Isometry3d X_WE = tip_of(robot, result.base, result.states, result.arm_base);
  CHECK(std::abs(position_error(X_WE, target) - result.position_error) < kRounding);
  CHECK(std::abs(angle_error(X_WE, target) - result.angle_error) < kRounding);
  CHECK(robot.arm.within_limits(result.states));
  if (!result.converged()) return;
  CHECK(result.position_error <= options.position_tolerance);
  CHECK(result.angle_error <= options.angle_tolerance);
}

}  // namespace

TEST_CASE("mobile continuum: targets out of the arm's reach are met with the platform's help",
          "[mobile]") {
  const MobileContinuum robot = GENERATE(upright(), leaning());
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  CAPTURE(static_cast<int>(task), robot.X_PB.linear()(2, 2));
  MobileContinuumSolver solver(robot);
  Random random(41);
  constexpr int kTargets = 100;
  int met = 0;
  for (int k = 0; k < kTargets; ++k) {
    const TipTarget target = random_target(random, robot, task);
    const MobileContinuumResult result = solver.solve(target, {}, robot.arm.straight());
    check_claim(robot, target, result);
    met += result.converged();
    CHECK(result.base_travel >= 0.0);
  }
  CHECK(met >= 98);
}

TEST_CASE("mobile continuum: what the arm reaches alone does not move the platform", "[mobile]") {
  const MobileContinuum robot = upright();
  MobileContinuumSolver solver(robot);
  Random random(42);
  for (int k = 0; k < 50; ++k) {
    const PlatformPose base{.x = random.uniform(-1.0, 1.0), .heading = random.angle()};
    const TipTarget target{.X_BG = tip_of(robot, base, random_states(random, robot.arm)),
                           .task = TipTask::PositionAndDirection};
    const MobileContinuumResult result = solver.solve(target, base, robot.arm.straight());
    REQUIRE(result.converged());
    CHECK(result.base_travel == 0.0);
    CHECK(result.base_shifts == 0);
    CHECK(result.base_poses == 1);
  }
}

TEST_CASE("mobile continuum: the platform goes no farther than the target asks", "[mobile]") {
  const MobileContinuum robot = upright();
  MobileContinuumSolver solver(robot);
  for (const double distance : {0.5, 1.0, 2.0}) {
    TipTarget target{.task = TipTask::Position};
    target.X_BG.translation() << 0.1 + distance, 0.05, 0.3;
    const MobileContinuumResult result = solver.solve(target, {}, robot.arm.straight());
    REQUIRE(result.converged());
    // No arm of 0.3 m, 0.1 m under the target, needs less; most is a quarter of the reach more.
    const double reach = std::sqrt(0.3 * 0.3 - 0.1 * 0.1);
    CHECK(result.base_travel >= distance - reach - kRounding);
    CHECK(result.base_travel <= distance - 0.75 * reach);
  }
}

TEST_CASE("mobile continuum: a frozen base does not move, walls are kept off, and both are named",
          "[mobile]") {
  const MobileContinuum robot = upright();
  MobileContinuumSolver solver(robot);
  TipTarget far{.task = TipTask::Position};
  far.X_BG.translation() << 2.0, 0.0, 0.3;
  const MobileContinuumResult frozen =
      solver.solve(far, {.x = 0.1}, robot.arm.straight(), {.frozen = true});
  CHECK(frozen.status == MobileStatus::BaseBlocked);
  CHECK(frozen.base.x == 0.1);
  check_claim(robot, far, frozen);

  const FloorPlan wall(0.5, 0.5, {{.x = 1.0, .length = 0.1, .width = 20.0}});
  const MobileContinuumResult round = solver.solve(far, {}, robot.arm.straight(), wall.rule());
  REQUIRE(round.converged());  // from the other side: the base pose counts, not the path
  CHECK(wall.allows(round.base));
  check_claim(robot, far, round);

  const FloorPlan block(0.5, 0.5, {{.x = 2.0, .length = 2.4, .width = 20.0}});
  const MobileContinuumResult blocked = solver.solve(far, {}, robot.arm.straight(), block.rule());
  CHECK(blocked.status == MobileStatus::BaseBlocked);
  CHECK(block.allows(blocked.base));
  check_claim(robot, far, blocked);
}

TEST_CASE("mobile continuum: a start on forbidden ground is left", "[mobile]") {
  const MobileContinuum robot = upright();
  MobileContinuumSolver solver(robot);
  TipTarget target{.task = TipTask::Position};
  target.X_BG.translation() << 0.2, 0.0, 0.4;
  const FloorPlan pit(0.05, 0.05, {{.x = 0.0, .length = 0.1, .width = 0.1}});
  const MobileContinuumResult result = solver.solve(target, {}, robot.arm.straight(), pit.rule());
  REQUIRE(result.converged());
  CHECK(pit.allows(result.base));
}

TEST_CASE("mobile continuum: the arm's base feeds when it may", "[mobile]") {
  MobileContinuum robot = upright();
  robot.arm = ContinuumRobot({{.length = 0.1}, {.length = 0.1}}, {.feed_limit = 0.3});
  MobileContinuumSolver solver(robot, {.arm = {.feed_base = true}});
  TipTarget target{.task = TipTask::Position};
  target.X_BG.translation() << 1.0, 0.0, 0.6;  // 0.4 m over the mount: more than the sections
  const MobileContinuumResult result = solver.solve(target, {}, robot.arm.straight());
  REQUIRE(result.converged());
  CHECK(result.arm_base.feed > 0.19);
  check_claim(robot, target, result);
}

TEST_CASE("mobile continuum: bad input is named", "[mobile]") {
  const MobileContinuum robot = upright();
  MobileContinuumSolver solver(robot);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TipTarget target{.task = TipTask::PositionAndDirection};
  target.X_BG.translation() << 1.0, 0.0, 0.4;
  const SectionStates straight = robot.arm.straight();
  const auto status = [&](const TipTarget& t) { return solver.solve(t, {}, straight).status; };
  TipTarget spoiled = target;
  spoiled.X_BG.translation().z() = 0.6;
  CHECK(status(spoiled) == MobileStatus::UnreachableHeight);
  spoiled.X_BG.translation().z() = -0.01;
  CHECK(status(spoiled) == MobileStatus::UnderFloor);
  spoiled.X_BG.translation().z() = nan;
  CHECK(status(spoiled) == MobileStatus::InvalidTarget);
  spoiled = target;
  spoiled.X_BG.linear() *= 2.0;
  CHECK(status(spoiled) == MobileStatus::InvalidRotation);
  CHECK(solver.solve(target, {}, straight.first(1)).status == MobileStatus::InvalidStart);
  CHECK(solver.solve(target, {.y = nan}, straight).status == MobileStatus::InvalidStart);
  CHECK(solver.solve(target, {}, straight, {}, {.feed = nan}).status == MobileStatus::InvalidStart);

  MobileContinuum bent = upright();
  bent.X_PB.linear() *= 2.0;
  CHECK_THROWS_WITH(MobileContinuumSolver(bent), Catch::Contains("X_PB is no pose"));
  CHECK_THROWS_WITH(MobileContinuumSolver(robot, {.quick_iterations = 0}),
                    "mobile continuum options: quick_iterations = 0, must be >= 1");
  CHECK_THROWS_AS(MobileContinuumSolver(robot, {.max_shifts = -1}), ModelError);
  CHECK_THROWS_AS(MobileContinuumSolver(robot, {.arm = {.max_iterations = 0}}), ModelError);
}

TEST_CASE("mobile continuum: the same bits again, and nothing from the heap", "[mobile]") {
  const MobileContinuum robot = leaning();
  MobileContinuumSolver solver(robot), other(robot);
  Random random(43);
  std::vector<TipTarget> targets;
  for (int k = 0; k < 20; ++k)
    targets.push_back(random_target(random, robot, TipTask::PositionAndDirection));
  MobileContinuumResult previous = solver.solve(targets[0], {}, robot.arm.straight());
  for (const TipTarget& target : targets) {
    const std::vector<SectionState> start(previous.states.begin(), previous.states.end());
    const PlatformPose base = previous.base;
    const MobileContinuumResult expected = other.solve(target, base, start);
    const AllocationCounter counter;
    previous = solver.solve(target, base, previous.states);  // may be the previous solution
    CHECK(counter.count() == 0);
    CHECK(previous.base.x == expected.base.x);
    CHECK(previous.position_error == expected.position_error);
    for (std::size_t i = 0; i < start.size(); ++i)
      CHECK(previous.states[i].theta == expected.states[i].theta);
  }
}
