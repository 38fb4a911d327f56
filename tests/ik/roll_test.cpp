// Targets with a roll: the tip's whole frame, judged by another derivation of the kinematics.
#include <catch2/catch.hpp>
#include <cmath>

#include "tendril/ik/any_solver.hpp"
#include "tendril/kinematics/turning.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/turning_robots.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kPosition = 1e-5, kAngle = 1e-3;  // tolerances [m], [rad]

/// Whether the solver meets the pose that `own` has, by the oracle and within all limits.
bool meets_pose(AnySolver& solver, const std::vector<SectionState>& own, const BaseState& base) {
  const ContinuumRobot& robot = solver.robot();
  const TipTarget target{oracle_turning_tip(robot, own, base), TipTask::Pose};
  const IkResult result = solver.solve(target, robot.straight());
  if (!result.converged()) return false;
  CHECK(robot.within_limits(result.states));
  CHECK(result.base.feed >= 0.0);
  CHECK(result.base.feed <= robot.base().feed_limit);
  const std::vector<SectionState> found = in_own_frames(robot, result.states);
  const Eigen::Isometry3d X = oracle_turning_tip(robot, found, result.base);
  const Eigen::Matrix3d turn = X.linear().transpose() * target.X_BG.linear();
  const double angle = Eigen::AngleAxisd(turn).angle();
  CHECK((X.translation() - target.position()).norm() <= kPosition * 1.001);
  CHECK(angle <= kAngle * 1.001);
  CHECK(result.angle_error == Approx(angle).margin(1e-7));
  return true;
}

int met_of(const ContinuumRobot& robot, int count) {
  AnySolver solver = make_solver("auto", robot);
  Random random(7);
  int met = 0;
  for (int k = 0; k < count; ++k) {
    const std::vector<SectionState> own = random_states(random, robot);
    const BaseState base{.feed = random.uniform(0.0, robot.base().feed_limit),
                         .spin = robot.base().spin ? random.angle() : 0.0};
    if (meets_pose(solver, own, base)) ++met;
  }
  return met;
}

}  // namespace

TEST_CASE("roll: a base that spins meets every reachable pose", "[ik]") {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 100 * kDegree};
  CHECK(met_of(ContinuumRobot({section, section, section}, {.spin = true}), 100) == 100);
}

TEST_CASE("roll: the redundancy of four sections meets it", "[ik]") {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 100 * kDegree};
  CHECK(met_of(ContinuumRobot({section, section, section, section}), 100) >= 98);
}

TEST_CASE("roll: sections that turn meet it", "[ik]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  CHECK(met_of(random_turning_robot(random, 3), 20) == 20);
}

TEST_CASE("roll: solvers that meet none refuse the target", "[ik]") {
  const TipTarget target{Eigen::Isometry3d(Eigen::Translation3d(0.0, 0.0, 0.3)), TipTask::Pose};
  for (const SolverInfo& info : solver_infos()) {
    const ContinuumRobot robot = info.single_section ? one_arc_robot() : plain_robot();
    AnySolver solver = make_solver(info.name, robot);
    const IkStatus status = solver.solve(target, robot.straight()).status;
    CAPTURE(info.name);
    CHECK((status == IkStatus::InvalidTarget) == !info.meets_roll);
  }
}
