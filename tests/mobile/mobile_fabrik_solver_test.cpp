#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "tendril/mobile/fabrik_solver.hpp"
#include "tendril/mobile/youbot_targets.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kPositionTolerance = 1e-4, kAngleTolerance = 1e-3;  // the solver's own
constexpr double kRounding = 1e-9;  // of forward kinematics computed in two ways

ToolTarget listed_target(std::size_t k) { return tool_target(listed_youbot_targets()[k]); }

/// A claim of success is true by the independent forward kinematics, limits included.
void check_claim(const MobileRobot& robot, const ToolTarget& target, const MobileResult& result) {
  if (!result.converged()) return;
  const Eigen::Isometry3d X = tool_pose_by_product(robot, result.base, result.joints);
  const double position = (X.translation() - target.X_WG.translation()).norm();
  const double angle = rotation_angle(X.linear(), target.X_WG.linear());
  CHECK(position <= kPositionTolerance + kRounding);
  CHECK(angle <= kAngleTolerance + kRounding);
  CHECK(std::abs(position - result.position_error) < kRounding);
  CHECK(std::abs(angle - result.angle_error) < kRounding);
  CHECK(within_limits(robot, result.joints));
}

std::vector<ToolTarget> random_targets(const MobileRobot& robot, int count, unsigned seed) {
  Random random(seed);
  std::vector<ToolTarget> targets;
  for (int k = 0; k < count; ++k) targets.push_back(target_of(robot, random_pose(random, robot)));
  return targets;
}

struct Count {
  int claimed = 0, met = 0;
};

Count count_met(MobileFabrikSolver& solver, std::span<const ToolTarget> targets) {
  Count count;
  for (const ToolTarget& target : targets) {
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    check_claim(solver.robot(), target, result);
    count.met += result.converged();
    count.claimed += result.converged() || result.status == MobileStatus::WrongOrientation;
  }
  return count;
}

MobileFabrikOptions without_fallback() { return {.fallback = false}; }

}  // namespace

TEST_CASE("mobile fabrik: all listed targets are met without the closed form", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot, without_fallback());
  for (std::size_t k = 0; k < listed_youbot_targets().size(); ++k) {
    CAPTURE(k);
    const ToolTarget target = listed_target(k);
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    CHECK(result.converged());
    check_claim(robot, target, result);
    CHECK(result.iterations > 0);
    CHECK(result.attempts >= 1);
  }
}

TEST_CASE("mobile fabrik: random reachable targets are met; all of them with the closed form",
          "[mobile]") {
  const MobileRobot robot(youbot());
  const std::vector<ToolTarget> targets = random_targets(robot, 2000, 21);
  MobileFabrikSolver alone(robot, without_fallback());
  CHECK(count_met(alone, targets).met >= 1970);  // 98.5 %; measured 100 %
  MobileFabrikSolver both(robot);
  CHECK(count_met(both, targets).met == 2000);
}

TEST_CASE("mobile fabrik: each step from the printed algorithm on meets more targets", "[mobile]") {
  const MobileRobot robot(youbot());
  const std::vector<ToolTarget> targets = random_targets(robot, 1000, 22);
  MobileFabrikOptions options{.stall_ratio = 1e-3, .fallback = false};
  options.features = {false, false, false, false, false};
  const auto count = [&] {
    MobileFabrikSolver solver(robot, options);
    return count_met(solver, targets);
  };
  const Count printed = count();
  CHECK(printed.claimed > printed.met + 20);  // says success with a wrong orientation
  options.features.orientation_test = true;
  const Count tested = count();
  CHECK(tested.claimed == tested.met);
  CHECK(tested.met > printed.met);
  options.features.orientation_forward = true;
  const Count forward = count();
  CHECK(forward.met > tested.met);
  options.features.second_plane = true;
  const Count planes = count();
  CHECK(planes.met > forward.met);
  options.features.mirror_shift = true;
  const Count mirrored = count();
  CHECK(mirrored.met > planes.met);
  options.features.starts = true;
  CHECK(count().met > mirrored.met);
}

TEST_CASE("mobile fabrik: a start that meets the target is returned unchanged", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  Random random(23);
  for (int k = 0; k < 50; ++k) {
    const RandomPose pose = random_pose(random, robot);
    const MobileResult result = solver.solve(target_of(robot, pose), pose.base, pose.joints);
    REQUIRE(result.converged());
    CHECK(result.iterations == 0);
    CHECK(result.attempts == 0);
    CHECK(std::equal(pose.joints.begin(), pose.joints.end(), result.joints.begin()));
    CHECK(result.base.x == pose.base.x);
    CHECK(result.base.heading == pose.base.heading);
  }
}

TEST_CASE("mobile fabrik: a moved and rotated world moves and turns the solution", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot, without_fallback());
  Random random(24);
  const std::vector<ToolTarget> targets = random_targets(robot, 200, 24);
  constexpr double kSameAnswer = 1e-6;  // rounding, grown by the iterations
  int same = 0;
  for (const ToolTarget& target : targets) {
    const double turn = random.angle();
    const Eigen::Isometry3d X =
        Eigen::Translation3d(random.uniform(-2, 2), random.uniform(-2, 2), 0.0) *
        Eigen::AngleAxisd(turn, Eigen::Vector3d::UnitZ());
    const MobileResult first = solver.solve(target, {}, youbot_start_joints());
    REQUIRE(first.converged());
    const std::vector<double> joints(first.joints.begin(), first.joints.end());
    ToolTarget moved;
    moved.X_WG = X * target.X_WG;
    const PlatformPose start{.x = X.translation().x(), .y = X.translation().y(), .heading = turn};
    const MobileResult second = solver.solve(moved, start, youbot_start_joints());
    REQUIRE(second.converged());
    double difference = 0.0;
    for (std::size_t j = 0; j < joints.size(); ++j)
      difference = std::max(difference, std::abs(joints[j] - second.joints[j]));
    same += difference < kSameAnswer;
  }
  CHECK(same >= 198);  // an iterate may fall on the other side of a threshold
}

TEST_CASE("mobile fabrik: a mirrored target has the mirrored solution", "[mobile]") {
  const MobileRobot robot(youbot());  // its yaw and roll ranges are symmetric
  MobileFabrikSolver solver(robot);
  constexpr double kSameAnswer = 1e-6;
  for (std::size_t k = 0; k < listed_youbot_targets().size(); ++k) {
    CAPTURE(k);
    ListedToolTarget listed = listed_youbot_targets()[k];
    const MobileResult first = solver.solve(listed_target(k), {}, youbot_start_joints());
    REQUIRE(first.converged());
    const std::vector<double> joints(first.joints.begin(), first.joints.end());
    const double y = first.base.y;
    listed.y = -listed.y;
    listed.roll_deg = -listed.roll_deg;
    listed.yaw_deg = -listed.yaw_deg;
    const ToolTarget mirrored = tool_target(listed);
    const MobileResult second = solver.solve(mirrored, {}, youbot_start_joints());
    REQUIRE(second.converged());
    CHECK(std::abs(second.base.y + y) < kSameAnswer);
    for (const std::size_t j : {1u, 2u, 3u})
      CHECK(std::abs(second.joints[j] - joints[j]) < kSameAnswer);
    CHECK(std::abs(std::remainder(second.joints[0] + joints[0], 2.0 * std::numbers::pi)) <
          kSameAnswer);
  }
}

TEST_CASE("mobile fabrik: the same bits again, from copies and on every thread", "[mobile]") {
  const MobileRobot robot(youbot());
  const std::vector<ToolTarget> targets = random_targets(robot, 200, 25);
  const auto solutions = [&](MobileFabrikSolver solver, std::size_t first, std::size_t step,
                             std::vector<std::array<double, 8>>& out) {
    for (std::size_t k = first; k < targets.size(); k += step) {
      const MobileResult r = solver.solve(targets[k], {}, youbot_start_joints());
      std::copy(r.joints.begin(), r.joints.end(), out[k].begin());
      out[k][5] = r.base.x, out[k][6] = r.base.y, out[k][7] = r.base.heading;
    }
  };
  const MobileFabrikSolver solver(robot);
  std::vector<std::array<double, 8>> alone(targets.size()), shared(targets.size());
  solutions(solver, 0, 1, alone);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 3; ++t)
      threads.emplace_back([&, t] { solutions(solver, t, 3, shared); });
  }
  CHECK(std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(alone[0])) == 0);
}

TEST_CASE("mobile fabrik: a solve takes nothing from the heap", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot, {.polish = true});
  const std::vector<ToolTarget> targets = random_targets(robot, 20, 26);
  ToolTarget unreachable = targets[0];
  unreachable.X_WG.translation().z() = 3.0;
  const AllocationCounter counter;
  int met = 0;
  for (const ToolTarget& target : targets)
    met += solver.solve(target, {}, youbot_start_joints()).converged();
  (void)solver.solve(unreachable, {}, youbot_start_joints());
  CHECK(counter.count() == 0);
  CHECK(met == 20);
}

TEST_CASE("mobile fabrik: the previous solution may be the next start", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot), fresh(robot);
  const std::vector<ToolTarget> targets = random_targets(robot, 20, 27);
  MobileResult previous = solver.solve(targets[0], {}, youbot_start_joints());
  for (const ToolTarget& target : targets) {
    const std::vector<double> start(previous.joints.begin(), previous.joints.end());
    const PlatformPose base = previous.base;
    previous = solver.solve(target, base, previous.joints);
    const MobileResult expected = fresh.solve(target, base, start);
    REQUIRE(previous.converged());
    CHECK(std::equal(expected.joints.begin(), expected.joints.end(), previous.joints.begin()));
  }
}

TEST_CASE("mobile fabrik: a roll outside its range is met from the other arm plane", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  // 175 deg of roll is in the dead zone of the roll joint, 175 - 180 deg is not.
  const ToolTarget target = tool_target({0.8, 0.2, 0.35}, 175.0 * kDegree, 0.0, 0.3);
  const MobileResult result = solver.solve(target, {}, youbot_start_joints());
  REQUIRE(result.converged());
  CHECK(result.plane == ArmPlane::Opposite);
  check_claim(robot, target, result);
  // Neither plane holds a quarter turn when the joint hardly turns.
  MobileRobotParameters stiff = youbot();
  stiff.roll = {.min = -0.5, .max = 0.5};
  MobileFabrikSolver stiff_solver{MobileRobot(stiff)};
  const MobileResult refused = stiff_solver.solve(
      tool_target({0.8, 0.2, 0.35}, 90.0 * kDegree, 0.0, 0.3), {}, youbot_start_joints());
  CHECK(refused.status == MobileStatus::UnreachableRoll);
  CHECK(refused.iterations == 0);
}

TEST_CASE("mobile fabrik: a vertical tool is met from any azimuth, the desired one first",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  const ToolTarget target = tool_target({0.8, 0.3, 0.10}, 0.0, -90.0 * kDegree, 0.7);
  const MobileResult result = solver.solve(target, {}, youbot_start_joints());
  REQUIRE(result.converged());
  CHECK(result.plane == ArmPlane::Free);
  CHECK(std::abs(result.base.heading + result.joints[0] - 0.7) < 1e-9);
  // From a frozen base only the azimuth towards the target is left.
  Random random(28);
  int met = 0;
  for (int k = 0; k < 300; ++k) {
    RandomPose pose = random_pose(random, robot);
    pose.joints[3] = std::numbers::pi - pose.joints[1] - pose.joints[2];
    if (!within_limits(robot, pose.joints)) continue;
    const ToolTarget down = target_of(robot, pose);
    if (down.X_WG.translation().z() < 0.0) continue;
    const MobileResult frozen =
        solver.solve(down, pose.base, youbot_start_joints(), {.frozen = true});
    CHECK(frozen.converged());
    CHECK(frozen.base_travel == 0.0);
    ++met;
  }
  CHECK(met > 10);
}

TEST_CASE("mobile fabrik: a frozen base keeps its pose to the bit", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  Random random(29);
  for (int k = 0; k < 200; ++k) {
    CAPTURE(k);
    const RandomPose pose = random_pose(random, robot);
    const ToolTarget target = target_of(robot, pose);
    const MobileResult result =
        solver.solve(target, pose.base, youbot_start_joints(), {.frozen = true});
    CHECK(result.converged());
    check_claim(robot, target, result);
    CHECK(result.base.x == pose.base.x);
    CHECK(result.base.y == pose.base.y);
    CHECK(result.base.heading == pose.base.heading);
  }
  const MobileResult away =
      solver.solve(listed_target(12), {}, youbot_start_joints(), {.frozen = true});  // 2 m off
  CHECK(away.status == MobileStatus::BaseBlocked);
}

TEST_CASE("mobile fabrik: the platform keeps off forbidden ground, or says that it cannot",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  // A wall along the y axis, at x = 0.5, with the platform before it.
  const FloorPlan wall(0.58, 0.38, {{.x = 0.5, .length = 0.05, .width = 20.0}});
  const std::vector<ToolTarget> targets = random_targets(robot, 300, 30);
  int met = 0, blocked = 0;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    CAPTURE(k);
    const MobileResult result = solver.solve(targets[k], {}, youbot_start_joints(), wall.rule());
    check_claim(robot, targets[k], result);
    if (result.converged()) {
      CHECK(wall.allows(result.base));
      ++met;
    } else {
      CHECK(result.status == MobileStatus::BaseBlocked);
      ++blocked;
    }
  }
  CHECK(met > 200);
  // Walled in on all sides, with no more room than its own place.
  const FloorPlan cell(0.58, 0.38,
                       {{.x = 0.32, .length = 0.02, .width = 20.0},
                        {.x = -0.32, .length = 0.02, .width = 20.0},
                        {.y = 0.22, .length = 20.0, .width = 0.02},
                        {.y = -0.22, .length = 20.0, .width = 0.02},
                        {.x = 10.5, .length = 20.0, .width = 20.0},
                        {.x = -10.5, .length = 20.0, .width = 20.0},
                        {.y = 10.5, .length = 20.0, .width = 20.0},
                        {.y = -10.5, .length = 20.0, .width = 20.0}});
  REQUIRE(cell.allows({}));
  const MobileResult walled_in =
      solver.solve(listed_target(12), {}, youbot_start_joints(), cell.rule());
  CHECK(walled_in.status == MobileStatus::BaseBlocked);
}

TEST_CASE("mobile fabrik: with the nearest plane only, the arm does not flip", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot, {.planes = PlaneOrder::NearestOnly});
  MobileFabrikSolver first(robot, {.planes = PlaneOrder::NearestFirst});
  Random random(31);
  for (int k = 0; k < 200; ++k) {
    CAPTURE(k);
    const RandomPose pose = random_pose(random, robot);
    RandomPose next = pose;
    for (const std::size_t j : {1u, 2u, 3u}) next.joints[j] *= 0.98;
    const ToolTarget target = target_of(robot, next);
    for (MobileFabrikSolver* s : {&solver, &first}) {
      const MobileResult result = s->solve(target, pose.base, pose.joints);
      if (!result.converged()) continue;
      const double turn =
          result.base.heading + result.joints[0] - pose.base.heading - pose.joints[0];
      CHECK(std::cos(turn) > 0.0);
    }
  }
}

TEST_CASE("mobile fabrik: polish never costs more and comes to the cheapest pose of the plane",
          "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver plain(robot), polished(robot, {.polish = true});
  const MobileClosedForm closed_form(robot);
  const std::vector<ToolTarget> targets = random_targets(robot, 100, 32);
  double saved = 0.0;
  for (const ToolTarget& target : targets) {
    const MobileResult before = plain.solve(target, {}, youbot_start_joints());
    const MobileResult after = polished.solve(target, {}, youbot_start_joints());
    REQUIRE(before.converged());
    REQUIRE(after.converged());
    check_claim(robot, target, after);
    CHECK(after.plane == before.plane);
    const double cost_before =
        closed_form.cost({}, youbot_start_joints(), before.base, before.joints);
    const double cost_after = closed_form.cost({}, youbot_start_joints(), after.base, after.joints);
    CHECK(cost_after <= cost_before + kAlgebraTolerance);
    saved += cost_before - cost_after;
  }
  CHECK(saved > 1.0);
}

TEST_CASE(
    "mobile fabrik: the third priority moves travel from the base and the elbow to the shoulder",
    "[mobile]") {
  const std::vector<ToolTarget> targets = random_targets(MobileRobot(youbot()), 2000, 33);
  struct Mean {
    double shoulder = 0.0, elbow = 0.0, base = 0.0;
  };
  const auto mean_of = [&](double k3) {
    MobileRobotParameters parameters = youbot();
    parameters.priorities = {1.0, k3, 1.0};
    MobileFabrikSolver solver{MobileRobot(parameters)};
    Mean mean;
    for (const ToolTarget& target : targets) {
      const MobileResult result = solver.solve(target, {}, youbot_start_joints());
      REQUIRE(result.converged());
      mean.shoulder += std::abs(result.joints[1] - youbot_start_joints()[1]) / 2000.0;
      mean.elbow += std::abs(result.joints[2] - youbot_start_joints()[2]) / 2000.0;
      mean.base += result.base_travel / 2000.0;
    }
    return mean;
  };
  const Mean loose = mean_of(0.5), plain = mean_of(1.0), stiff = mean_of(3.0);
  CHECK(loose.shoulder < plain.shoulder);
  CHECK(plain.shoulder < stiff.shoulder);
  CHECK(loose.elbow > plain.elbow);
  CHECK(plain.elbow > stiff.elbow);
  CHECK(loose.base > plain.base);
  CHECK(plain.base > stiff.base);
}

TEST_CASE("mobile fabrik: arms of other lengths and numbers of links are solved too", "[mobile]") {
  const int links = GENERATE(2, 4, 6, 10);
  CAPTURE(links);
  const MobileRobot robot = long_armed_robot(links);
  MobileFabrikSolver solver(robot);
  const std::vector<ToolTarget> targets = random_targets(robot, 200, 34);
  const std::vector<double> start(static_cast<std::size_t>(robot.joint_count()), 0.3);
  int met = 0;
  for (const ToolTarget& target : targets) {
    const MobileResult result = solver.solve(target, {}, start);
    check_claim(robot, target, result);
    met += result.converged();
  }
  CHECK(met >= (links == 2 ? 150 : 190));
}

TEST_CASE("mobile fabrik: robots of any size and limits reach every pose that they can take",
          "[mobile]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  const auto limits = [&] {  // some over half a turn, some not around zero
    const double middle = random.uniform(-3.0, 3.0), half = random.uniform(0.1, 3.5);
    return JointLimits{.min = middle - half, .max = middle + half};
  };
  const double size = random.uniform(0.2, 5.0);
  MobileRobotParameters parameters{.mount_x = random.uniform(-0.3, 0.3) * size,
                                   .mount_y = random.uniform(-0.3, 0.3) * size,
                                   .shoulder_height = random.uniform(1.5, 3.0) * size,
                                   .shoulder_offset = random.uniform(0.0, 0.2) * size,
                                   .yaw = limits(),
                                   .links = {},
                                   .roll = limits(),
                                   .tool_tilt = random.uniform(-0.5, 0.5)};
  for (int i = 0; i < 3; ++i)
    parameters.links.push_back({.length = random.uniform(0.1, 0.5) * size, .limits = limits()});
  const MobileRobot robot(parameters);
  MobileFabrikSolver solver(robot);
  std::vector<double> start;
  for (int j = 0; j < robot.joint_count(); ++j) start.push_back(robot.joint_limits(j).min);
  for (int k = 0; k < 25; ++k) {
    CAPTURE(k);
    const ToolTarget target = target_of(robot, random_pose(random, robot));
    const MobileResult result = solver.solve(target, {}, start);
    check_claim(robot, target, result);
    CHECK(result.converged());
  }
}

TEST_CASE(
    "mobile fabrik: far targets are met, and out of all proportion the solution remains finite",
    "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  for (const double far : {1e3, 1e6, 1e12, 1e100, 1e150}) {
    CAPTURE(far);
    ToolTarget target = listed_target(0);
    target.X_WG.translation().x() = far;
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    if (far <= 1e6) {
      CHECK(result.converged());
      check_claim(robot, target, result);
    }
    CHECK(within_limits(robot, result.joints));
    CHECK(std::isfinite(result.base.x));
  }
}

TEST_CASE("mobile fabrik: with one plane the closed form keeps to it", "[mobile]") {
  const MobileRobot robot(youbot());
  // One pass is not enough: the closed form has to help.
  MobileFabrikSolver solver(robot, {.max_iterations = 1, .planes = PlaneOrder::NearestOnly});
  Random random(36);
  int helped = 0;
  for (int k = 0; k < 100; ++k) {
    CAPTURE(k);
    const RandomPose pose = random_pose(random, robot);
    const ToolTarget target = target_of(robot, pose);
    std::vector<double> start = pose.joints;
    for (const std::size_t j : {1u, 2u, 3u}) start[j] *= 0.9;
    const MobileResult result = solver.solve(target, {.heading = pose.base.heading}, start);
    CHECK(result.converged());
    check_claim(robot, target, result);
    const double turn = result.base.heading + result.joints[0] - pose.base.heading - pose.joints[0];
    CHECK(std::cos(turn) > 1.0 - 1e-9);
    helped += result.fallback;
  }
  CHECK(helped > 10);
}

TEST_CASE("mobile fabrik: a tool that leans from its link is rotated right", "[mobile]") {
  MobileRobotParameters parameters = youbot();
  parameters.tool_tilt = std::atan(0.002 / 0.2175);
  const MobileRobot robot(parameters);
  MobileFabrikSolver solver(robot, without_fallback());
  const std::vector<ToolTarget> targets = random_targets(robot, 200, 35);
  CHECK(count_met(solver, targets).met >= 195);
}

TEST_CASE("mobile fabrik: what cannot be reached is named", "[mobile]") {
  const MobileRobot robot(youbot());
  MobileFabrikSolver solver(robot);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const ToolTarget good = listed_target(0);
  const auto status = [&](const ToolTarget& target) {
    const MobileResult result = solver.solve(target, {}, youbot_start_joints());
    CHECK(within_limits(robot, result.joints));
    CHECK(std::isfinite(result.base.x));
    return result.status;
  };
  // The wrist would have to be 0.29 m over or under the shoulder, or more.
  CHECK(status(tool_target({0.5, 0, 0.60}, 0, 0, 0)) == MobileStatus::UnreachableHeight);
  CHECK(status(tool_target({0.5, 0, 3.0}, 0, 1.0, 0)) == MobileStatus::UnreachableHeight);
  CHECK(status(tool_target({0.5, 0, -0.1}, 0, 0, 0)) == MobileStatus::UnderFloor);
  CHECK(status(tool_target({0.5, 0, 0.1}, 0, 90.0 * kDegree, 0)) == MobileStatus::UnderFloor);
  for (const double bad : {nan, infinity, -infinity, 1e200}) {
    CAPTURE(bad);
    ToolTarget target = good;
    target.X_WG.translation().y() = bad;
    CHECK(status(target) == MobileStatus::InvalidTarget);
  }
  ToolTarget spoiled = good;
  spoiled.X_WG.matrix()(1, 2) = nan;
  CHECK(status(spoiled) == MobileStatus::InvalidTarget);
  spoiled = good;
  spoiled.azimuth = nan;
  CHECK(status(spoiled) == MobileStatus::InvalidTarget);
  spoiled = good;
  spoiled.X_WG.linear() *= 1.01;
  CHECK(status(spoiled) == MobileStatus::InvalidRotation);
  spoiled = good;
  spoiled.X_WG.linear().col(2) *= -1.0;
  CHECK(status(spoiled) == MobileStatus::InvalidRotation);
  spoiled = good;
  spoiled.X_WG.linear().setZero();
  CHECK(status(spoiled) == MobileStatus::InvalidRotation);

  const std::array<double, 3> few{};
  CHECK(solver.solve(good, {}, few).status == MobileStatus::InvalidStart);
  std::array<double, 5> spoiled_start = youbot_start_joints();
  spoiled_start[2] = nan;
  CHECK(solver.solve(good, {}, spoiled_start).status == MobileStatus::InvalidStart);
  const MobileResult nowhere = solver.solve(good, {.x = nan}, youbot_start_joints());
  CHECK(nowhere.status == MobileStatus::InvalidStart);
  CHECK(nowhere.base.x == 0.0);
  CHECK(solver.solve(good, {.heading = infinity}, youbot_start_joints()).status ==
        MobileStatus::InvalidStart);
  CHECK(solver.solve(good, {.heading = 1e300}, youbot_start_joints()).status ==
        MobileStatus::InvalidStart);
  spoiled = good;
  spoiled.azimuth = -1e300;
  CHECK(status(spoiled) == MobileStatus::InvalidTarget);
  // Joints outside their limits are brought inside.
  const std::array<double, 5> exceeding = {9.0, 9.0, -9.0, 9.0, 9.0};
  CHECK(solver.solve(good, {}, exceeding).converged());
}

TEST_CASE("mobile fabrik: limits that no posture keeps are proven by the closed form", "[mobile]") {
  MobileRobotParameters narrow = youbot();
  narrow.links[1].limits = {.min = 0.0, .max = 0.1};
  narrow.links[2].limits = {.min = 0.0, .max = 0.1};
  const MobileRobot robot(narrow);
  const ToolTarget target = tool_target({1.0, 0.0, 0.2}, 0.0, -90.0 * kDegree, 0.0);
  MobileFabrikSolver solver(robot), alone(robot, without_fallback());
  CHECK(solver.solve(target, {}, youbot_start_joints()).status == MobileStatus::UnreachableLimits);
  CHECK(alone.solve(target, {}, youbot_start_joints()).status == MobileStatus::Stalled);
}

TEST_CASE("mobile fabrik: bad options are refused by name", "[mobile]") {
  const MobileRobot robot(youbot());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(MobileFabrikSolver(robot, {.max_iterations = 0}),
                    "mobile fabrik options: max_iterations = 0, must be >= 1");
  CHECK_THROWS_WITH(MobileFabrikSolver(robot, {.position_tolerance = nan}),
                    "mobile fabrik options: position_tolerance = nan m, must be > 0");
  CHECK_THROWS_WITH(MobileFabrikSolver(robot, {.angle_tolerance = 0.0}),
                    "mobile fabrik options: angle_tolerance = 0 rad, must be > 0");
  CHECK_THROWS_WITH(MobileFabrikSolver(robot, {.max_stalls = -1}),
                    "mobile fabrik options: max_stalls = -1, must be >= 0");
  CHECK_THROWS_WITH(MobileFabrikSolver(robot, {.stall_ratio = 1.0}),
                    "mobile fabrik options: stall_ratio = 1, must be in (0, 1)");
  CHECK_THROWS_WITH(MobileFabrikSolver(long_armed_robot(5), {.polish = true}),
                    "mobile fabrik options: polish = 1, must be off unless the arm has 3 links");
  CHECK_THROWS_AS(MobileFabrikSolver(robot, {.cost = {.base_weight = nan}}), ModelError);
}
