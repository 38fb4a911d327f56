#include "tendril/ik/published/jacobian_solver.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/ik/start_pose.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::AngleAxisd;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

static_assert(IkSolver<JacobianSolver>);

namespace {

TipTarget reachable_target(Random& random, const ContinuumRobot& robot, TipTask task) {
  return {.X_BG = oracle_tip_pose(robot, random_states(random, robot)), .task = task};
}

/// The weighted task vector x = (p, w_A z) of the tip, from the oracle's kinematics.
VectorXd task_vector(const Eigen::Isometry3d& X, const TipTarget& target,
                     const JacobianOptions& options) {
  VectorXd x(target.task == TipTask::Position ? 3 : 6);
  x.head<3>() = X.translation();
  if (x.size() == 6) x.tail<3>() = options.direction_weight * X.linear().col(2);
  return x;
}

/// One step of the first form of (1.18), q + (J^T J + lambda I)^-1 J^T (x_goal - x), J by central
/// differences of the oracle: nothing in common with the solver.
std::vector<SectionState> step_by_differences(const ContinuumRobot& robot,
                                              const std::vector<SectionState>& states,
                                              const TipTarget& target,
                                              const JacobianOptions& options) {
  const bool polar = options.coordinates == JacobianCoordinates::Polar;
  const auto moved = [&](const VectorXd& dq) {
    std::vector<SectionState> next = states;
    Eigen::Index k = 0;
    for (int i = 0; i < robot.section_count(); ++i) {
      SectionState& state = next[static_cast<std::size_t>(i)];
      if (polar) {
        state.theta += dq[k++];
        state.phi += dq[k++];
      } else {
        const double u = state.theta * std::cos(state.phi) + dq[k++];
        const double v = state.theta * std::sin(state.phi) + dq[k++];
        state.theta = std::hypot(u, v);
        state.phi = std::atan2(v, u);
      }
      if (robot.section(i).is_extensible()) state.extension += options.length_weight * dq[k++];
    }
    return next;
  };
  const int n = robot.coordinate_count();
  const VectorXd x = task_vector(oracle_tip_pose(robot, states), target, options);
  MatrixXd J(x.size(), n);
  for (int k = 0; k < n; ++k) {
    const VectorXd h = kDifferenceStep * VectorXd::Unit(n, k);
    J.col(k) = (task_vector(oracle_tip_pose(robot, moved(h)), target, options) -
                task_vector(oracle_tip_pose(robot, moved(-h)), target, options)) /
               (2.0 * kDifferenceStep);
  }
  const MatrixXd A = J.transpose() * J + options.damping * MatrixXd::Identity(n, n);
  const VectorXd residual = task_vector(target.X_BG, target, options) - x;
  std::vector<SectionState> next = moved(A.ldlt().solve(J.transpose() * residual));
  for (int i = 0; i < robot.section_count(); ++i) {
    SectionState& state = next[static_cast<std::size_t>(i)];
    if (state.theta < 0.0) {  // the same pose
      state.theta = -state.theta;
      state.phi += pi;
    }
    state.extension = std::clamp(state.extension, 0.0, robot.section(i).variable_length());
    state.theta = std::min(state.theta, robot.section(i).bend_angle_limit_at(state.extension));
  }
  return next;
}

double percent_reached(const ContinuumRobot& robot, const JacobianOptions& options, int count) {
  Random random(2024);
  JacobianSolver solver(robot, options);
  std::vector<SectionState> start(static_cast<std::size_t>(robot.section_count()));
  int reached = 0;
  for (int k = 0; k < count; ++k) {
    const TipTarget target = reachable_target(random, robot, TipTask::PositionAndDirection);
    straight_start(robot, target, {}, start);
    reached += solver.solve(target, start).converged();
  }
  return 100.0 * reached / count;
}

}  // namespace

TEST_CASE("jacobian: a step is that of the first form of (1.18)", "[ik]") {
  // Well inside the limits, so that the damping of (1.18) and not the clamping decides; lambda is
  // large enough for the difference quotients' error of 1e-10 not to be amplified.
  constexpr double kStepTolerance = 1e-6;
  const auto seed = GENERATE(range(0u, 40u));
  const auto coordinates = GENERATE(JacobianCoordinates::Polar, JacobianCoordinates::BendVector);
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 1 + static_cast<int>(seed) % 4);
  std::vector<SectionState> start;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double s = random.uniform(0.4, 0.9) * robot.section(i).variable_length();
    const double theta = random.uniform(0.2, 0.8) * robot.section(i).bend_angle_limit_at(s);
    start.push_back({theta, random.angle(), s});
  }
  const TipTarget target = reachable_target(random, robot, task);
  const JacobianOptions options{
      .max_iterations = 1, .coordinates = coordinates, .damping = 1e-4, .length_weight = 0.02};
  const std::vector<SectionState> expected = step_by_differences(robot, start, target, options);
  JacobianSolver solver(robot, options);
  const IkResult result = solver.solve(target, start);
  const auto score = [&](const std::vector<SectionState>& states) {
    const Eigen::Isometry3d X = oracle_tip_pose(robot, states);
    return std::max(position_error(X, target) / options.position_tolerance,
                    angle_error(X, target) / options.angle_tolerance);
  };
  // The best pose seen: the step's, or the start where the step made it worse.
  const std::vector<SectionState>& best = score(expected) < score(start) ? expected : start;
  CHECK(result.iterations == 1);
  for (std::size_t i = 0; i < start.size(); ++i) {
    CHECK((bend_vector(result.states[i]) - bend_vector(best[i])).norm() < kStepTolerance);
    CHECK(std::abs(result.states[i].extension - best[i].extension) < kStepTolerance);
  }
}

TEST_CASE("jacobian: most reachable targets are reached", "[ik][slow]") {
  // 120 targets of position and direction each, 300 steps; the rates are as measured.
  constexpr double kMargin = 4.0;  // [%]: the targets are fixed, their rounding is not
  JacobianOptions options{.max_iterations = 300, .position_tolerance = 1e-5};
  const auto check = [&](const ContinuumRobot& robot, double polar, double bend_vector) {
    options.coordinates = JacobianCoordinates::Polar;
    CHECK(percent_reached(robot, options, 120) > polar - kMargin);
    options.coordinates = JacobianCoordinates::BendVector;
    CHECK(percent_reached(robot, options, 120) > bend_vector - kMargin);
  };
  SECTION("robot 1 of [FABRIKx] table 3.10; the source has 81.3 % in 30 ms") {
    options.angle_tolerance = 0.01 * kDegree;
    check(table_robot(), 95.8, 90.8);
  }
  SECTION("a section of each type") {
    check(mixed_robot(), 91.6, 96.6);
    // Lengths in units of 1 mm per rad, as where q is in millimeters, hardly take part.
    options.length_weight = 1e-3;
    CHECK(percent_reached(mixed_robot(), options, 120) < 80.0);
  }
}

TEST_CASE("jacobian: straight and shortest arms start with a bend", "[ik]") {
  const auto coordinates = GENERATE(JacobianCoordinates::Polar, JacobianCoordinates::BendVector);
  // A full retreat of both sections leaves no freedom at all without the least start.
  const ContinuumRobot robot{{.variable_length = 0.1, .bend_angle_limit = 2.0},
                             {.variable_length = 0.1, .bend_angle_limit = 2.0}};
  const std::vector<SectionState> goal{{0.8, 0.4, 0.06}, {0.5, 0.9, 0.07}};
  const TipTarget target{.X_BG = oracle_tip_pose(robot, goal)};
  const std::vector<SectionState> shortest(2);
  JacobianSolver solver(robot, {.max_iterations = 500, .coordinates = coordinates});
  CHECK(solver.solve(target, shortest).converged());
}

TEST_CASE("jacobian: a target off the start's plane is reached from the straight arm", "[ik]") {
  // phi of a straight section has no effect: without the least bend, polar coordinates would stay
  // in the plane phi = 0.
  const auto coordinates = GENERATE(JacobianCoordinates::Polar, JacobianCoordinates::BendVector);
  const ContinuumRobot robot = plain_robot();
  const TipTarget target{
      .X_BG = oracle_tip_pose(
          robot, std::vector<SectionState>{{0.5, 2.0, 0.0}, {0.6, 1.2, 0.0}, {0.4, 2.8, 0.0}})};
  JacobianSolver solver(robot, {.coordinates = coordinates});
  CHECK(solver.solve(target, robot.straight()).converged());
}

TEST_CASE("jacobian: from a bent start a rotated world turns the solution", "[ik]") {
  constexpr double kTurnTolerance = 1e-6;
  const auto seed = GENERATE(range(0u, 20u));
  const auto coordinates = GENERATE(JacobianCoordinates::Polar, JacobianCoordinates::BendVector);
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 3);
  std::vector<SectionState> start;
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    const double s = random.uniform(0.5, 1.0) * section.variable_length();
    start.push_back({random.uniform(0.5, 1.0) * section.bend_angle_limit_at(s), random.angle(), s});
  }
  TipTarget target = reachable_target(random, robot, TipTask::PositionAndDirection);
  JacobianSolver solver(robot, {.max_iterations = 10, .coordinates = coordinates});
  const IkResult plain = solver.solve(target, start);
  const std::vector<SectionState> plain_states(plain.states.begin(), plain.states.end());
  const double angle = random.angle();
  target.X_BG = AngleAxisd(angle, Vector3d::UnitZ()) * target.X_BG;
  for (SectionState& state : start) state.phi += angle;
  const IkResult rotated = solver.solve(target, start);
  for (std::size_t i = 0; i < start.size(); ++i) {
    SectionState expected = plain_states[i];
    expected.phi += angle;
    CHECK((bend_vector(rotated.states[i]) - bend_vector(expected)).norm() < kTurnTolerance);
  }
}

TEST_CASE("jacobian: the coordinates find the same single arc", "[ik]") {
  // One section, position and direction: the pose is unique.
  constexpr double kAgreement = 1e-6;
  const ContinuumRobot robot({{.length = 0.05, .variable_length = 0.05, .bend_angle_limit = 3.0}});
  const std::vector<SectionState> goal{{1.2, -2.0, 0.045}};
  const TipTarget target{.X_BG = oracle_tip_pose(robot, goal),
                         .task = TipTask::PositionAndDirection};
  for (const auto coordinates : {JacobianCoordinates::Polar, JacobianCoordinates::BendVector}) {
    JacobianSolver solver(
        robot, {.position_tolerance = 1e-9, .angle_tolerance = 1e-8, .coordinates = coordinates});
    const IkResult result = solver.solve(target, robot.straight());
    REQUIRE(result.converged());
    CHECK((bend_vector(result.states[0]) - bend_vector(goal[0])).norm() < kAgreement);
    CHECK(result.states[0].extension == Approx(goal[0].extension).margin(kAgreement));
  }
}

TEST_CASE("jacobian: an arm that nothing moves any more has stalled", "[ik]") {
  // Sideways in the arm's plane and out of reach: it comes to rest at its bend limit.
  const ContinuumRobot robot({{.length = 0.1, .bend_angle_limit = 0.3}});
  TipTarget target;
  target.X_BG.translation() = Vector3d(0.3, 0.0, 0.1);
  const std::vector<SectionState> start{{0.2, 0.0, 0.0}};
  JacobianSolver solver(robot, {.max_iterations = 3000});
  const IkResult result = solver.solve(target, start);
  CHECK(result.status == IkStatus::Stalled);
  CHECK(result.iterations < 3000);
  CHECK(result.states[0].theta == 0.3);
}

TEST_CASE("jacobian: bad options are refused", "[ik]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ContinuumRobot robot = plain_robot();
  CHECK_THROWS_WITH(JacobianSolver(robot, {.max_iterations = 0}),
                    "jacobian options: max_iterations = 0, must be >= 1");
  CHECK_THROWS_WITH(JacobianSolver(robot, {.damping = -1.0}),
                    "jacobian options: damping = -1 m^2, must be >= 0");
  CHECK_THROWS_WITH(JacobianSolver(robot, {.direction_weight = -1.0}),
                    "jacobian options: direction_weight = -1 m, must be > 0");
  CHECK_THROWS_AS(JacobianSolver(robot, {.length_weight = nan}), ModelError);
  CHECK_THROWS_AS(JacobianSolver(robot, {.position_tolerance = nan}), ModelError);
  CHECK_THROWS_AS(JacobianSolver(robot, {.angle_tolerance = 0.0}), ModelError);
}
