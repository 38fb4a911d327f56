#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tendril/mobile/closed_form.hpp"
#include "tendril/mobile/youbot_targets.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kExact = 1e-9;  // [m] and [rad] closed form: rounding only

/// The cheapest pose over a grid of the first two hinges, by another way than the closed form: all
/// postures of the arm, those with the wrist at the right height.
double cheapest_on_grid(const MobileRobot& robot, const ToolTarget& target,
                        const MobileClosedForm& solver) {
  constexpr double kStep = 0.5 * kDegree;
  double cheapest = std::numeric_limits<double>::infinity();
  const MobileRobotParameters& arm = robot.parameters();
  const Eigen::Vector3d axis = target.X_WG.linear().col(0);
  const double azimuth = std::atan2(axis.y(), axis.x());
  for (const bool opposite : {false, true}) {
    const double psi = opposite ? azimuth + std::numbers::pi : azimuth;
    const double last =
        std::atan2(std::hypot(axis.x(), axis.y()) * (opposite ? -1.0 : 1.0), axis.z());
    const double desired =
        target.X_WG.translation().z() - arm.links[2].length * std::cos(last) - arm.shoulder_height;
    for (double q2 = arm.links[0].limits.min; q2 <= arm.links[0].limits.max; q2 += kStep) {
      // The elbow that gives the wrist its height.
      const double rest = (desired - arm.links[0].length * std::cos(q2)) / arm.links[1].length;
      if (std::abs(rest) > 1.0) continue;
      for (const double b2 : {std::acos(rest), -std::acos(rest)}) {
        const double q3 = std::remainder(b2 - q2, 2.0 * std::numbers::pi);
        const double q4 = std::remainder(last - b2, 2.0 * std::numbers::pi);
        if (!arm.links[1].limits.contains(q3) || !arm.links[2].limits.contains(q4)) continue;
        const double yaw = std::remainder(psi, 2.0 * std::numbers::pi);
        if (!arm.yaw.contains(yaw)) continue;
        std::array<double, 5> joints = {yaw, q2, q3, q4, 0.0};
        const Eigen::Matrix3d left_over =
            tool_pose_by_product(robot, {}, joints).linear().transpose() * target.X_WG.linear();
        joints[4] = std::atan2(left_over(2, 1), left_over(1, 1));
        if (!arm.roll.contains(joints[4])) continue;
        const Eigen::Vector3d off =
            target.X_WG.translation() - tool_pose_by_product(robot, {}, joints).translation();
        cheapest = std::min(
            cheapest, solver.cost({}, youbot_start_joints(), {.x = off.x(), .y = off.y()}, joints));
      }
    }
  }
  return cheapest;
}

}  // namespace

TEST_CASE("closed form: every reachable target is reached, exactly", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileClosedForm solver(robot);
  Random random(11);
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const ToolTarget target = target_of(robot, random_pose(random, robot));
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    REQUIRE(result.converged());
    const Eigen::Isometry3d X = tool_pose_by_product(robot, result.base, result.joints);
    CHECK((X.translation() - target.X_WG.translation()).norm() < kExact);
    CHECK(rotation_angle(X.linear(), target.X_WG.linear()) < kExact);
    CHECK(within_limits(robot, result.joints));
  }
}

TEST_CASE("closed form: its pose is no dearer than any on a grid of postures", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileClosedForm solver(robot);
  Random random(12);
  int compared = 0;
  for (int k = 0; k < 40; ++k) {
    CAPTURE(k);
    const ToolTarget target = target_of(robot, random_pose(random, robot));
    const double grid = cheapest_on_grid(robot, target, solver);
    if (!std::isfinite(grid)) continue;  // the platform must turn, which the grid does not
    ++compared;
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    REQUIRE(result.converged());
    CHECK(solver.cost({}, youbot_start_joints(), result.base, result.joints) <= grid + 1e-9);
  }
  CHECK(compared > 20);
}

TEST_CASE("closed form: unreachable is said only where no posture of a fine grid fits",
          "[mobile]") {
  // Narrow limits make many targets of the full robot unreachable.
  const MobileRobot full(youbot());
  MobileRobotParameters narrow = youbot();
  narrow.links[0].limits = {.min = -0.3, .max = 0.4};
  narrow.links[1].limits = {.min = 0.2, .max = 1.2};
  narrow.links[2].limits = {.min = -0.5, .max = 0.9};
  const MobileRobot robot(narrow);
  MobileClosedForm solver(robot);
  Random random(13);
  int unreachable = 0, reached = 0;
  for (int k = 0; k < 150; ++k) {
    CAPTURE(k);
    const ToolTarget target = target_of(full, random_pose(random, full));
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    if (result.converged()) {
      ++reached;
      CHECK(within_limits(robot, result.joints));
    } else {
      ++unreachable;
      CHECK(result.status == MobileStatus::UnreachableLimits);
      CHECK_FALSE(std::isfinite(cheapest_on_grid(robot, target, solver)));
    }
  }
  CHECK(unreachable > 50);
  CHECK(reached > 5);
}

TEST_CASE("closed form: a frozen base keeps its pose; a wall is kept off", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileClosedForm solver(robot);
  Random random(14);
  for (int k = 0; k < 50; ++k) {
    CAPTURE(k);
    const RandomPose pose = random_pose(random, robot);
    const ToolTarget target = target_of(robot, pose);
    const MobileResult frozen =
        solver.solve(target, pose.base, youbot_start_joints(), {.frozen = true});
    REQUIRE(frozen.converged());
    CHECK(frozen.base_travel == 0.0);
    CHECK(frozen.base.heading == pose.base.heading);

    const PlatformRule half{
        .allows = [](const void*, const PlatformPose& p) noexcept { return p.x > 0.0; }};
    const MobileResult walled = solver.solve(target, {.x = 1.0}, youbot_start_joints(), half);
    if (walled.converged()) CHECK(walled.base.x > 0.0);
  }
}

TEST_CASE("closed form: bad options are refused by name", "[mobile]") {
  const MobileRobot robot(youbot());
  CHECK_THROWS_WITH(MobileClosedForm(long_armed_robot(4)),
                    "mobile closed form: link count = 4, must be 3");
  CHECK_THROWS_WITH(MobileClosedForm(robot, {.step = 0.0}),
                    "mobile closed form: step = 0 m, must be > 0");
  CHECK_THROWS_WITH(MobileClosedForm(robot, {.cost = {.base_weight = -1.0}}),
                    "mobile closed form: base_weight = -1 1/m, must be >= 0");
  CHECK_THROWS_WITH(MobileClosedForm(robot, {.cost = {.joint_weights = {1.0}}}),
                    "mobile closed form: joint_weights count = 1, must be 0 or 5");
}

TEST_CASE("closed form: a solve takes nothing from the heap", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileClosedForm solver(robot);
  Random random(15);
  const ToolTarget target = target_of(robot, random_pose(random, robot));
  const AllocationCounter counter;
  const MobileResult result = solver.solve(target, {}, youbot_start_joints());
  CHECK(counter.count() == 0);
  CHECK(result.converged());
}
