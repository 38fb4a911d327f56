#include "tendril/ik/driven_solver.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tendril/kinematics/coordinates.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::MatrixXd;
using Eigen::VectorXd;

static_assert(IkSolver<DrivenSolver>);

namespace {

ContinuumRobot three_sections(const BaseParameters& base = {}) {
  return ContinuumRobot({{.length = 0.1}, {.length = 0.08}, {.length = 0.12}}, base);
}

/// Random directions of random coordinates, and where the body is without them.
Actuation random_actuation(Random& random, int coordinates, int drives) {
  Actuation actuation;
  actuation.directions = MatrixXd::NullaryExpr(coordinates, drives, [&]() {
    return random.uniform(0.0, 1.0) < 0.6 ? random.uniform(-1.0, 1.0) : 0.0;
  });
  for (int j = 0; j < drives; ++j) {
    actuation.directions(random.integer(0, coordinates - 1), j) += 1.5;
    actuation.directions.col(j).normalize();
  }
  actuation.low = VectorXd::Constant(drives, -1.0);
  actuation.low[0] = 0.05;  // a tendon only pulls
  actuation.high = VectorXd::Ones(drives);
  actuation.driven = MatrixXd::Identity(coordinates, coordinates);
  actuation.rest = VectorXd::NullaryExpr(coordinates, [&]() { return random.uniform(-0.3, 0.3); });
  return actuation;
}

VectorXd random_drives(Random& random, const Actuation& actuation) {
  return VectorXd::NullaryExpr(actuation.low.size(), [&](Eigen::Index j) {
    return random.uniform(actuation.low[j], actuation.high[j]);
  });
}

std::vector<SectionState> pose(const ContinuumRobot& robot, const Actuation& actuation,
                               const VectorXd& u) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, actuation.rest + actuation.directions * u, states);
  return states;
}

}  // namespace

TEST_CASE("driven solver: what drives can do is found, and nothing else moves", "[ik]") {
  const auto seed = GENERATE(range(0u, 60u));
  const int drives = GENERATE(1, 2, 3, 5);
  CAPTURE(seed, drives);
  Random random(seed);
  const ContinuumRobot robot =
      three_sections({.feed_limit = seed % 2 ? 0.1 : 0.0, .spin = seed % 3 == 0});
  const Actuation actuation = random_actuation(random, robot.coordinate_count(), drives);
  const BaseState base{.feed = random.uniform(0.0, robot.base().feed_limit),
                       .spin = robot.base().spin ? random.angle() : 0.0};
  TipTarget target;
  target.task = seed % 2 ? TipTask::Position : TipTask::PositionAndDirection;
  target.X_BG =
      oracle_tip_pose(robot, pose(robot, actuation, random_drives(random, actuation)), base);
  DrivenSolver solver(robot, actuation, {.max_iterations = 5000, .max_restarts = 200});
  const AllocationCounter counter;
  const IkResult result = solver.solve(target, robot.straight());
  CHECK(counter.count() == 0);
  REQUIRE(result.converged());
  const Eigen::Isometry3d X =
      oracle_tip_pose(robot, {result.states.begin(), result.states.end()}, result.base);
  CHECK((X.translation() - target.position()).norm() < 1.1e-5);
  if (target.task != TipTask::Position)
    CHECK(X.linear().col(2).dot(target.direction()) > std::cos(1.1e-3));
  // q - q0 is in the directions.
  VectorXd q(robot.coordinate_count());
  to_coordinates(robot, result.states, q);
  const VectorXd moved = q - actuation.rest;
  CHECK((moved - actuation.projector() * moved).norm() < 1e-6);
  if (drives == 1) CHECK(actuation.directions.col(0).dot(moved) >= 0.05 - 1e-9);
}

TEST_CASE("driven solver: out of reach, it comes as near as a search on a grid", "[ik]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = three_sections();
  const Actuation actuation = random_actuation(random, robot.coordinate_count(), 2);
  TipTarget target;
  target.X_BG.translation() = 0.3 * random.unit_vector();
  double nearest = std::numeric_limits<double>::infinity();
  constexpr int kSteps = 120;
  for (int i = 0; i <= kSteps; ++i) {
    for (int j = 0; j <= kSteps; ++j) {
      const VectorXd fraction = Eigen::Vector2d(i, j) / kSteps;
      const VectorXd u = actuation.low + fraction.cwiseProduct(actuation.high - actuation.low);
      const Eigen::Isometry3d X = oracle_tip_pose(robot, pose(robot, actuation, u), {});
      nearest = std::min(nearest, (X.translation() - target.position()).norm());
    }
  }
  DrivenSolver solver(robot, actuation, {.max_iterations = 5000});
  const IkResult result = solver.solve(target, robot.straight());
  CHECK(result.position_error < nearest + 1e-4);
  if (nearest > 0.01) CHECK(!result.converged());
}
