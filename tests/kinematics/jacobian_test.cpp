#include "tendril/kinematics/jacobian.hpp"

#include <catch2/catch.hpp>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

using Jacobian = Eigen::Matrix<double, 6, Eigen::Dynamic>;
using Vector6d = Eigen::Matrix<double, 6, 1>;

std::vector<SectionState> shifted(const ContinuumRobot& robot, std::vector<SectionState> states,
                                  int column, double step) {
  for (int i = 0; i < robot.section_count(); ++i) {
    const int local = column - robot.coordinate_index(i);
    if (local < 0 || local >= robot.section(i).coordinate_count()) continue;
    SectionState& state = states[std::size_t(i)];
    const Eigen::Vector2d uv = bend_vector(state);
    if (local == 2) state.extension += step;
    if (local < 2)
      state = state_from_bend_vector(uv.x() + (local == 0 ? step : 0.0),
                                     uv.y() + (local == 1 ? step : 0.0), state.extension);
  }
  return states;
}

/// Position and direction of z by central differences in the smooth coordinates; `pose` maps states
/// to a pose.
template <class Pose>
Jacobian differences(const ContinuumRobot& robot, const std::vector<SectionState>& states,
                     const Pose& pose) {
  const auto value = [&](int column, double step) {
    const Isometry3d X = pose(shifted(robot, states, column, step));
    return (Vector6d() << X.translation(), X.linear().col(2)).finished();
  };
  Jacobian J(6, robot.coordinate_count());
  for (int k = 0; k < J.cols(); ++k)
    J.col(k) = (value(k, kDifferenceStep) - value(k, -kDifferenceStep)) / (2 * kDifferenceStep);
  return J;
}

}  // namespace

TEST_CASE("jacobian: reference values of a three-section robot", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  const std::vector<SectionState> states{{60 * kDegree, 30 * kDegree, 0.0},
                                         {45 * kDegree, -110 * kDegree, 0.015},
                                         {20 * kDegree, 75 * kDegree, 0.030}};
  Jacobian reference(6, 8);  // u1 v1 u2 v2 s2 u3 v3 s3; position rows of u and v in mm
  reference << 68.059614, 4.758243, 43.171551, 11.853406, 0.616338, 11.453911, 2.261086,
      0.595052,                                                                                //
      -6.689566, 82.393455, -8.784150, 56.196283, -0.028348, -2.642279, 14.693522, -0.067038,  //
      -46.592519, -4.004586, -33.201366, -3.027336, 0.757846, -9.082958, -1.505943, 0.794548,  //
      0.739339, 0.018931, 0.735388, 0.080317, 0, 0.737832, 0.082054, 0,                        //
      -0.100154, 0.923741, -0.162171, 0.975061, 0, -0.172333, 0.977167, 0,                     //
      -0.633383, -0.127515, -0.622483, -0.187269, 0, -0.623395, -0.189039, 0;
  Jacobian J(6, 8);
  const Isometry3d X_BE = tip_jacobian(robot, states, {}, J);
  for (const int bend : {0, 1, 2, 3, 5, 6}) J.col(bend).head<3>() /= kMillimeter;
  CHECK((J - reference).cwiseAbs().maxCoeff() < 1e-6);
  CHECK((X_BE.matrix() - tip_pose(robot, states).matrix()).norm() < kAlgebraTolerance);
}

TEST_CASE("jacobian: equals central differences, also where sections are straight",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, random.integer(1, 5));
  std::vector<SectionState> states = random_states(random, robot);
  for (SectionState& state : states) {
    const double theta[] = {state.theta, 0.0, 1e-13, 1e-9, 1e-5, 0.02};
    state.theta = theta[random.integer(0, 5)];
  }
  const BaseState base{random.uniform(0.0, 0.3), random.angle()};
  Jacobian J(6, robot.coordinate_count());
  const Isometry3d X_BE = tip_jacobian(robot, states, base, J);
  const Jacobian D =
      differences(robot, states, [&](SectionStates s) { return tip_pose(robot, s, base); });
  CHECK((J - D).cwiseAbs().maxCoeff() < kDifferenceTolerance);
  CHECK((X_BE.matrix() - tip_pose(robot, states, base).matrix()).norm() < kAlgebraTolerance);
}

TEST_CASE("jacobian: a straight section does not care about its bend direction", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  std::vector<SectionState> states{{0.5, 0.3, 0.0}, {0.0, 0.0, 0.015}, {0.3, 1.0, 0.03}};
  Jacobian a(6, 8), b(6, 8);
  tip_jacobian(robot, states, {}, a);
  states[1].phi = 2.0;
  tip_jacobian(robot, states, {}, b);
  CHECK((a - b).cwiseAbs().maxCoeff() < kAlgebraTolerance);
}

TEST_CASE("jacobian: of a backbone point equals central differences, later sections do not move it",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 4);
  std::vector<SectionState> states = random_states(random, robot);
  if (seed % 3 == 0) states[seed % 4].theta = 0.0;
  const BaseState base{random.uniform(0.0, 0.3), random.angle()};
  const int i = random.integer(0, 3);
  const double fraction = random.uniform(0.0, 1.0);
  Jacobian J = Jacobian::Constant(6, robot.coordinate_count(), 7.0);
  const Isometry3d X = backbone_jacobian(robot, states, base, i, fraction, J);
  const Jacobian D = differences(
      robot, states, [&](SectionStates s) { return backbone_pose(robot, s, base, i, fraction); });
  CHECK((J - D).cwiseAbs().maxCoeff() < kDifferenceTolerance);
  CHECK((X.matrix() - backbone_pose(robot, states, base, i, fraction).matrix()).norm() <
        kAlgebraTolerance);
  const int later = robot.coordinate_index(i) + robot.section(i).coordinate_count();
  CHECK(J.rightCols(J.cols() - later).isZero(0.0));
}

TEST_CASE("jacobian: at the end of the last section it is that of the tip", "[kinematics]") {
  Random random(7);
  const ContinuumRobot robot = random_robot(random, 3);
  const std::vector<SectionState> states = random_states(random, robot);
  Jacobian tip(6, robot.coordinate_count()), point(6, robot.coordinate_count());
  tip_jacobian(robot, states, {}, tip);
  backbone_jacobian(robot, states, {}, 2, 1.0, point);
  CHECK((tip - point).cwiseAbs().maxCoeff() < kAlgebraTolerance);
}

TEST_CASE("jacobian: and forward kinematics take nothing from the heap", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  Jacobian J(6, robot.coordinate_count());
  Isometry3d X;
  AllocationCounter counter;
  X = tip_pose(robot, robot.straight()) * tip_jacobian(robot, robot.straight(), {}, J);
  X = X * backbone_jacobian(robot, robot.straight(), {}, 1, 0.3, J);
  CHECK(counter.count() == 0);
  CHECK(X.matrix().allFinite());
}

TEST_CASE("allocation counter: sees new, Eigen's matrices and vectors", "[support]") {
  AllocationCounter counter;
  std::vector<double> numbers(100, 1.0);
  const long after_vector = counter.count();
  Eigen::VectorXd matrix = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(numbers.size()));
  const long after_matrix = counter.count();
  CHECK(after_vector >= 1);
  CHECK(after_matrix > after_vector);
  CHECK(matrix.sum() == 100.0);
}
