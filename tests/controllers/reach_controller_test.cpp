#include "controllers/arm/reach_controller.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The solver's default position tolerance, for the plan and for the correction of the measured
/// tip.
constexpr double kReachTolerance = 2e-6;

ReachController make(const ContinuumRobot& robot,
                     std::vector<std::pair<std::string, std::string>> texts = {}) {
  const Settings settings(ReachController::settings(), std::move(texts));
  return ReachController({robot, settings, kTimestep, kInfinity});
}

/// The tip pose of an arm bent to one side, well inside its limits.
Eigen::Isometry3d reachable(Random& random, const ContinuumRobot& robot) {
  std::vector<SectionState> states = random_states(random, robot);
  const double phi = random.angle();
  for (int i = 0; i < robot.section_count(); ++i) {
    SectionState& state = states[static_cast<std::size_t>(i)];
    state.theta = random.uniform(0.1, 0.5) * robot.section(i).bend_angle_limit_at(state.extension);
    state.phi = phi + random.uniform(-0.3, 0.3);
  }
  return tip_pose(robot, states);
}

}  // namespace

TEST_CASE("reach: an arm that tracks its command reaches the target", "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = seed % 2 ? mixed_robot() : plain_robot();
  ReachController controller = make(robot);
  KinematicArm arm(robot, kTimestep);
  arm.move_target(reachable(random, robot).translation());
  ControllerRun run(controller, robot);
  for (int i = 0; i < 1200; ++i) run.step(arm);
  run.update(arm.measurement);
  CHECK(run.report.progress == 1.0);
  CHECK(run.report.target == arm.measurement.X_BG.translation());
  CHECK(run.report.status == ControllerStatus::Working);
  CHECK(run.report.tip_error < kReachTolerance);
}

TEST_CASE("reach: with task = direction the tip points along the target's z axis",
          "[controllers]") {
  const ContinuumRobot robot = plain_robot();
  ReachController controller = make(robot, {{"task", "direction"}, {"max_iterations", "300"}});
  const std::vector<SectionState> states{{0.7, 0.3, 0}, {0.9, -0.4, 0}, {0.5, 1.0, 0}};
  KinematicArm arm(robot, kTimestep);
  const Eigen::Isometry3d X_BG = tip_pose(robot, states);
  arm.move_target(X_BG.translation());
  arm.measurement.X_BG = X_BG;
  ControllerRun run(controller, robot);
  for (int i = 0; i < 1200; ++i) run.step(arm);
  run.update(arm.measurement);
  CHECK(run.report.status == ControllerStatus::Working);
  CHECK(run.report.tip_error < 1e-5);
  CHECK(run.report.angle_error < 1e-3);
}

TEST_CASE("reach: a target that cannot be reached is reported, and the nearest pose is held",
          "[controllers]") {
  const ContinuumRobot robot = plain_robot();
  ReachController controller = make(robot);
  KinematicArm arm(robot, kTimestep);
  arm.move_target({0.3, 0.0, 0.3});
  ControllerRun run(controller, robot);
  for (int i = 0; i < 1500; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::NotReached);
  CHECK(run.report.tip_error ==
        Approx(arm.measurement.X_BG.translation().norm() - 0.3).margin(0.03));
  const VectorXd q = run.command.q;
  for (int i = 0; i < 200; ++i) run.step(arm);
  CHECK((run.command.q - q).norm() < 0.02);
}

TEST_CASE("reach: all commands are led to the solution by one factor within the rate limit",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = seed % 2 ? mixed_robot() : plain_robot();
  const double rate_limit = 0.8;
  ReachController controller = make(robot, {{"rate_limit", "0.8"}, {"integral_gain", "0"}});
  KinematicArm arm(robot, kTimestep);
  arm.move_target(reachable(random, robot).translation());
  ControllerRun run(controller, robot);
  const int n = robot.coordinate_count();
  VectorXd last(n), solution(n);
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  to_coordinates(robot, states, last);
  int limited_steps = 0;
  for (int i = 0; i < 100; ++i) {
    run.step(arm);
    const VectorXd step = run.command.q - last;
    CHECK(largest_change(robot, run.command.q, last, 0.05) <= rate_limit * kTimestep * (1 + 1e-9));
    load_states(run.memory, states);  // the solution of the inverse kinematics
    to_coordinates(robot, states, solution);
    const VectorXd way = solution - last;
    if (way.norm() > 1e-3) {
      CHECK((step - way * (step.dot(way) / way.squaredNorm())).norm() < 1e-12);
      CHECK((run.command.q_rate * kTimestep - step).norm() < 1e-12);
      limited_steps += run.report.progress < 1.0 ? 1 : 0;
    }
    last = run.command.q;
  }
  CHECK(limited_steps > 20);
}

TEST_CASE("reach: without a valid target the last command is held and nothing is forgotten",
          "[controllers]") {
  const ContinuumRobot robot = plain_robot();
  ReachController controller = make(robot, {{"integral_gain", "0"}});
  KinematicArm arm(robot, kTimestep);
  arm.move_target({0.08, 0.03, 0.24});
  ControllerRun run(controller, robot);
  for (int i = 0; i < 30; ++i) run.step(arm);
  const VectorXd held = run.command.q;

  const bool is_there = GENERATE(true, false);
  arm.measurement.has_target = is_there;
  if (is_there) arm.measurement.X_BG.translation().y() = std::numeric_limits<double>::quiet_NaN();
  run.update(arm.measurement);
  CHECK(run.report.status == ControllerStatus::InvalidTarget);
  CHECK(run.command.q == held);
  CHECK(run.command.q_rate.isZero());
  CHECK(run.next == run.memory);
}

TEST_CASE("reach: the memory is everything that a controller knows", "[controllers]") {
  Random random(4);
  const ContinuumRobot robot = mixed_robot();
  const std::vector<std::pair<std::string, std::string>> texts{{"sensor_delay", "0.01"}};
  ReachController one = make(robot, texts), other = make(robot, texts);
  KinematicArm arm(robot, kTimestep), stray(robot, kTimestep);
  arm.move_target(reachable(random, robot).translation());
  ControllerRun run(one, robot), continued(other, robot);
  // The other one has another past.
  stray.move_target(reachable(random, robot).translation());
  for (int i = 0; i < 77; ++i) continued.step(stray);
  for (int i = 0; i < 50; ++i) run.step(arm);

  continued.memory = run.memory;
  for (int i = 0; i < 50; ++i) {
    run.update(arm.measurement);
    continued.update(arm.measurement);
    REQUIRE(run.command.q == continued.command.q);
    REQUIRE(run.next == continued.next);
    continued.advance();
    run.step(arm);
  }
}

TEST_CASE("reach: update is a pure function of its arguments", "[controllers]") {
  Random random(6);
  const ContinuumRobot robot = plain_robot();
  ReachController controller = make(robot);
  KinematicArm arm(robot, kTimestep), other(robot, kTimestep);
  arm.move_target(reachable(random, robot).translation());
  other.move_target(reachable(random, robot).translation());
  ControllerRun run(controller, robot);
  for (int i = 0; i < 20; ++i) run.step(arm);
  run.update(arm.measurement);
  const VectorXd q = run.command.q;
  const std::vector<double> next = run.next, memory = run.memory;
  run.update(other.measurement);
  run.update(arm.measurement);
  CHECK(run.command.q == q);
  CHECK(run.next == next);
  CHECK(run.memory == memory);
}

TEST_CASE("reach: allocates nothing in a step", "[controllers]") {
  Random random(8);
  const ContinuumRobot robot = mixed_robot();
  const std::string task = GENERATE("position", "direction");
  ReachController controller = make(robot, {{"task", task}, {"sensor_delay", "0.006"}});
  KinematicArm arm(robot, kTimestep);
  arm.move_target(reachable(random, robot).translation());
  ControllerRun run(controller, robot);
  AllocationCounter counter;
  controller.update(arm.measurement, run.memory, run.next, run.command, run.report);
  CHECK(counter.count() == 0);
}

TEST_CASE("reach: refused settings name the setting and its range", "[controllers]") {
  struct Case {
    std::string name, text, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"task", "roll", "task = roll: must be one of position, direction, pose"},
      {"rate_limit", "0", "rate_limit = 0: must be in (0, 1000]"},
      {"max_iterations", "0", "max_iterations = 0: must be in [1, 10000]"},
      {"position_tolerance", "1", "position_tolerance = 1: must be in (0, 0.1]"},
      {"angle_tolerance", "0", "angle_tolerance = 0: must be in (0, 1]"},
      {"integral_gain", "x", "integral_gain = x: must be in [0, 100]"},
      {"solver", "newton", "solver = newton: must be one of auto, levenberg, fabrikx"},
      {"solver", "chord",
       "solver = chord: must be one of auto, levenberg, fabrikx; published solvers are for "
       "comparison, in `tendril ik`"},
  }));
  DYNAMIC_SECTION(c.name) { CHECK_THROWS_WITH(make(plain_robot(), {{c.name, c.text}}), c.message); }
}

TEST_CASE("reach: a roll needs a solver that meets it, and no avoidance", "[controllers]") {
  CHECK_THROWS_WITH(make(plain_robot(), {{"task", "pose"}, {"solver", "fabrikx"}}),
                    "solver = fabrikx: meets no roll, must be auto or levenberg with task = pose");
  CHECK_THROWS_WITH(make(plain_robot(), {{"task", "pose"}, {"avoidance", "true"}}),
                    "task = pose: must be position or direction with avoidance");
}

TEST_CASE("reach: each recommended solver can be used in the loop", "[controllers]") {
  std::string recommended;
  for (const SolverInfo& info : solver_infos()) {
    if (info.group != SolverGroup::Recommended) continue;
    CAPTURE(info.name);
    CHECK_NOTHROW(make(plain_robot(), {{"solver", info.name}}));
    recommended += (recommended.empty() ? "" : " ") + std::string(info.name);
  }
  for (const SettingInfo& row : ReachController::settings())
    if (std::string_view(row.name) == "solver") CHECK(row.choices == recommended);
}

TEST_CASE("reach: at a wall in front of the target nothing is integrated, and the status says so",
          "[controllers]") {
  const ContinuumRobot robot = plain_robot();
  ReachController controller = make(robot);
  KinematicArm arm(robot, kTimestep);
  const Eigen::Isometry3d X_BG =
      tip_pose(robot, std::vector<SectionState>{{0.7, 0.3, 0}, {0.9, -0.4, 0}, {0.5, 1.0, 0}});
  arm.move_target(X_BG.translation());
  ControllerRun run(controller, robot);
  for (int i = 0; i < 1200; ++i) run.step(arm);
  // The body that holds it back: 5 mm before the target.
  const bool is_fixed = GENERATE(true, false);
  CAPTURE(is_fixed);
  const Vector3d into = X_BG.linear().col(2);
  arm.measurement.X_BE.translation() = X_BG.translation() - 0.005 * into;
  arm.measurement.contacts.assign(
      1, {.normal = -into, .force = 1.0, .arc_length = 10.0, .is_fixed = is_fixed});
  const VectorXd q = run.command.q;
  const auto held_step = [&] {
    run.update(arm.measurement);
    run.advance();
  };
  for (int i = 0; i < 500; ++i) held_step();
  CHECK((run.command.q == q) == is_fixed);
  CHECK((run.report.status == ControllerStatus::Blocked) == is_fixed);
  // A tip that hops is held all the same; one that is free is corrected again.
  arm.measurement.contacts.clear();
  for (int i = 0; i < 10; ++i) held_step();
  CHECK((run.command.q == q) == is_fixed);
  for (int i = 0; i < 100; ++i) held_step();
  CHECK(run.command.q != q);
  CHECK(run.report.status == ControllerStatus::Working);
}

TEST_CASE("reach: a tip that lags along a wall is led along it, and lifted where it sticks",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = plain_robot();
  ReachController controller = make(robot);
  KinematicArm arm(robot, kTimestep);
  const Eigen::Isometry3d X_BG = reachable(random, robot);
  arm.move_target(X_BG.translation());
  ControllerRun run(controller, robot);
  for (int i = 0; i < 1200; ++i) run.step(arm);
  // It is held 2 mm before the wall's other side, and lags along the wall.
  const double lag = GENERATE(0.0005, 0.01);
  CAPTURE(lag);
  const Vector3d normal = -X_BG.linear().col(2), along = X_BG.linear().col(0);
  arm.measurement.X_BE.translation() = X_BG.translation() + 0.002 * normal - lag * along;
  arm.measurement.contacts.assign(
      1, {.normal = normal, .force = 1.0, .arc_length = 10.0, .is_fixed = true});
  const VectorXd q = run.command.q;
  for (int i = 0; i < 20; ++i) {
    run.update(arm.measurement);
    run.advance();
  }
  CHECK(run.report.status == ControllerStatus::Blocked);
  if (lag < 0.001) {
    CHECK(run.command.q == q);
    return;
  }
  const Vector3d moved =
      arm.measurement.tip_jacobian.topLeftCorner(3, robot.coordinate_count()) * (run.command.q - q);
  CHECK(moved.dot(along) > 0.0);
  CHECK(moved.dot(normal) > 0.0);
}

namespace {

/// The first section is passive and bent, of the second one tendons bend u alone, and only towards
/// x; the last has a servo.
Actuation partly_driven() {
  Actuation actuation;
  actuation.directions = Eigen::MatrixXd::Zero(6, 3);
  actuation.directions(2, 0) = actuation.directions(4, 1) = actuation.directions(5, 2) = 1.0;
  actuation.low = Vector3d(0.02, -2.0, -2.0);
  actuation.high = Vector3d(1.5, 2.0, 2.0);
  actuation.driven = actuation.directions * actuation.directions.transpose();
  actuation.rest = actuation.compliance = VectorXd::Zero(6);
  actuation.compliance.head<4>().setConstant(2.0);
  actuation.independent = {false, false, false, false, true, true};
  return actuation;
}

/// Servos bend the first section in the x-z plane, the second in the y-z plane, the last both ways.
Actuation in_planes() {
  Actuation actuation;
  actuation.directions = Eigen::MatrixXd::Zero(6, 4);
  actuation.directions(0, 0) = actuation.directions(3, 1) = 1.0;
  actuation.directions(4, 2) = actuation.directions(5, 3) = 1.0;
  actuation.low = VectorXd::Constant(4, -2.0);
  actuation.high = VectorXd::Constant(4, 2.0);
  actuation.driven = actuation.directions * actuation.directions.transpose();
  actuation.rest = actuation.compliance = VectorXd::Zero(6);
  actuation.independent = {true, false, false, true, true, true};
  return actuation;
}

ReachController make_partly_driven(const ContinuumRobot& robot, const Actuation& actuation,
                                   std::vector<std::pair<std::string, std::string>> texts = {}) {
  const Settings settings(ReachController::settings(), std::move(texts));
  std::vector<BodySpring> springs;
  for (const bool driven : actuation.independent)
    springs.push_back({.stiffness = 0.5, .driven = driven});
  return ReachController({.robot = robot,
                          .settings = settings,
                          .timestep = kTimestep,
                          .springs = springs,
                          .actuation = actuation});
}

}  // namespace

TEST_CASE(
    "reach: an arm that is driven in part reaches what its drives can do from where its "
    "body is",
    "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}, {.length = 0.1}});
  const Actuation actuation = partly_driven();
  ReachController controller = make_partly_driven(robot, actuation);
  KinematicArm arm(robot, kTimestep);
  VectorXd body = VectorXd::Zero(6), q = body;
  for (const int k : {0, 1, 3}) body[k] = random.uniform(-0.5, 0.5);
  q << body[0], body[1], random.uniform(0.1, 1.0), body[3], random.uniform(-1.0, 1.0),
      random.uniform(-1.0, 1.0);
  arm.move_to(q, {});
  arm.move_target(arm.measurement.X_BE.translation());
  arm.move_to(body, {});
  ControllerRun run(controller, robot);
  for (int i = 0; i < 3000; ++i) {
    run.update(arm.measurement);
    if (i > 100) {
      const AllocationCounter counter;
      run.update(arm.measurement);
      REQUIRE(counter.count() == 0);
    }
    run.advance();
    VectorXd next = run.command.q;
    REQUIRE(next[2] >= 0.02 - 1e-6);
    for (const int k : {0, 1, 3}) next[k] = body[k];  // no drive moves them
    REQUIRE((next - run.command.q).norm() < 1e-6);
    arm.move_to(next, run.command.base);
    arm.pass_time();
  }
  CHECK(run.report.status == ControllerStatus::Working);
  CHECK(run.report.tip_error < 1e-4);
}

TEST_CASE("reach: a target that drives cannot bring the tip to is said to be out of reach",
          "[controllers]") {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}, {.length = 0.1}});
  const Actuation actuation = partly_driven();
  ReachController controller = make_partly_driven(robot, actuation);
  KinematicArm arm(robot, kTimestep);
  VectorXd q = VectorXd::Zero(6);
  q << -1.2, 0.0, -1.0, 0.0, -0.5, 0.0;  // needs the passive section
  arm.move_to(q, {});
  arm.move_target(arm.measurement.X_BE.translation());
  arm.move_to(VectorXd::Zero(6), {});
  ControllerRun run(controller, robot);
  for (int i = 0; i < 3000; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::NotReached);
  CHECK(run.report.tip_error > 1e-3);
  CHECK(!run.report.arrived);
}

TEST_CASE("reach: sections that bend in one plane each reach what their planes allow",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot({{.length = 0.1, .bend_plane = BendPlane::XZ},
                              {.length = 0.1, .bend_plane = BendPlane::YZ},
                              {.length = 0.1}});
  const Actuation actuation = in_planes();
  ReachController controller = make_partly_driven(robot, actuation, {{"task", "direction"}});
  KinematicArm arm(robot, kTimestep);
  VectorXd q(6);
  q << random.uniform(-0.8, 0.8), 0.0, 0.0, random.uniform(-0.8, 0.8), random.uniform(-0.7, 0.7),
      random.uniform(-0.7, 0.7);
  arm.move_to(q, {});
  arm.measurement.X_BG = arm.measurement.X_BE;  // position and direction: one pose does both
  arm.measurement.has_target = true;
  arm.move_to(VectorXd::Zero(6), {});
  ControllerRun run(controller, robot);
  for (int i = 0; i < 3000; ++i) {
    run.step(arm);
    REQUIRE(run.command.q[1] == 0.0);
    REQUIRE(run.command.q[2] == 0.0);
  }
  CHECK(run.report.status == ControllerStatus::Working);
  CHECK(run.report.arrived);
  CHECK(run.report.tip_error < 1e-4);
  CHECK(run.report.angle_error < 1e-3);

  q[1] = 0.8;  // out of the plane of the first section
  arm.move_to(q, {});
  arm.measurement.X_BG = arm.measurement.X_BE;
  for (int i = 0; i < 1500; ++i) run.step(arm);
  CHECK(run.report.status == ControllerStatus::NotReached);
  CHECK(!run.report.arrived);
}

TEST_CASE("reach: what an arm that is driven in part cannot do is refused", "[controllers]") {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}, {.length = 0.1}});
  Actuation actuation = partly_driven();
  CHECK_THROWS_WITH(make_partly_driven(robot, actuation, {{"task", "pose"}}),
                    "task = pose: must be position or direction of an arm that is not driven in "
                    "every direction");
  CHECK_THROWS_WITH(make_partly_driven(robot, actuation, {{"avoidance", "true"}}),
                    Catch::StartsWith("avoidance = true: must be false"));
  CHECK_THROWS_WITH(make_partly_driven(robot, actuation, {{"solver", "fabrikx"}}),
                    Catch::StartsWith("solver = fabrikx: must be auto"));
  actuation.directions.resize(6, 0);
  CHECK_THROWS_WITH(
      make_partly_driven(robot, actuation),
      "robot: bend_servo = false in every section: nothing bends the arm to its target, one "
      "section at least must have servos, tendons or chambers");
}
