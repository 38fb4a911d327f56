#include "tendril/ik/published/fabrikc_solver.hpp"

#include "tests/ik/published/reaching_cases.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

static_assert(IkSolver<FabrikcSolver>);

namespace {

/// Tolerances and budget of [Chord].
FabrikcOptions published(bool limit_bend_inside = false) {
  return {.max_iterations = 500,
          .position_tolerance = 1e-6,
          .angle_tolerance = 1e-3,
          .limit_bend_inside = limit_bend_inside};
}

/// Tolerances so small that only a pose at rest ends the solve.
constexpr FabrikcOptions kNeverMet{
    .max_iterations = 500, .position_tolerance = 1e-300, .angle_tolerance = 1e-300};

}  // namespace

TEST_CASE("fabrikc: one section is solved by its tangents in one pass", "[ik]") {
  // Both ends and both tangents are given: length of the links and the angles come out exactly.
  // From bends in the series to the cap near 180 degrees.
  const double theta = GENERATE(1e-9, 1e-8, 1e-6, 0.0199, 0.0201, 0.5, 1.5, 2.9, 3.1, pi - 1e-4);
  const bool has_link = GENERATE(false, true);
  CAPTURE(theta, has_link);
  SectionParameters parameters{.length = 0.1, .bend_angle_limit = pi};
  if (has_link) {
    parameters.length_weights = {1, 2, 1, 0.5};
    parameters.angle_weights = {0, 3, 1, 0};
  }
  const ContinuumRobot robot({parameters});
  FabrikcSolver solver(robot, {.position_tolerance = 1e-12, .angle_tolerance = 1e-11});
  for (const double phi : {-3.0, -1.0, 0.0, 0.5, 2.0}) {
    const std::vector<SectionState> goal{{theta, phi, 0.0}};
    const TipTarget target = target_of(robot, goal, TipTask::PositionAndDirection);
    const IkResult result = solver.solve(target, robot.straight());
    CHECK(result.converged());
    CHECK(result.iterations == 1);
    CHECK(result.states[0].theta == Approx(theta).margin(kAlgebraTolerance));
    CHECK(theta * std::remainder(result.states[0].phi - phi, 2 * pi) ==
          Approx(0.0).margin(kAlgebraTolerance));
  }
}

TEST_CASE("fabrikc: a pose that meets its goal is a rest point of the passes", "[ik]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = seed % 4 == 0 ? linked_robot(pi) : random_robot(random, 4);
  const BaseState base{random.uniform(0.0, 0.2), random.angle()};
  const TipTask task = seed % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection;
  const std::vector<SectionState> goal = random_bends(random, robot, 2.5);
  FabrikcOptions options = kNeverMet;
  options.limit_bend_inside = seed % 3 == 0;
  FabrikcSolver solver(robot, options);
  const IkResult result = solver.solve(target_of(robot, goal, task, base), goal, base);
  CHECK(result.status != IkStatus::MaxIterations);  // Converged where the error is 0 to the bit
  CHECK(result.iterations <= 5);
  CHECK(result.position_error < kAlgebraTolerance);
}

TEST_CASE("fabrikc: rigid links and a tool are sub-sections without bend", "[ik]") {
  const ContinuumRobot robot = linked_robot(90 * kDegree);
  FabrikcSolver solver(robot, published(true));
  Random random(7);
  constexpr int kTargets = 300;
  int converged = 0;
  for (int k = 0; k < kTargets; ++k) {
    const std::vector<SectionState> goal = random_bends(random, robot, pi);
    const TipTarget target = target_at(linked_tip_pose(goal), TipTask::PositionAndDirection);
    const IkResult result = solver.solve(target, robot.straight());
    if (!result.converged()) continue;
    ++converged;
    const Eigen::Isometry3d X_BE = linked_tip_pose(result.states);
    CHECK(position_error(X_BE, target) < 1e-6 + kAlgebraTolerance);
    CHECK(angle_error(X_BE, target) < 1e-3 + kAlgebraTolerance);
  }
  CHECK(converged >= kTargets - 3);  // measured 300
}

TEST_CASE("fabrikc: success rates of the published experiment", "[ik][slow]") {
  // 500 iterations, 1000 targets; reference measured by an independent implementation.
  struct Cell {
    const char* name;
    int sections;
    double largest_deg, limit_deg;
    bool limit_bend_inside;
    double percent;
  };
  const auto cell = GENERATE(values<Cell>({
      {"5 sections, 30 degrees", 5, 30, 360, false, 97.2},
      {"10 sections, 120 degrees, limited", 10, 120, 120, false, 66.4},
      {"3 sections, 90 degrees, limited, clamped", 3, 90, 90, true, 83.8},
      {"5 sections, 60 degrees, limited, clamped", 5, 60, 60, true, 99.3},
  }));
  DYNAMIC_SECTION(cell.name) {
    const ContinuumRobot robot = arc_robot(cell.sections, cell.limit_deg * kDegree);
    const Outcome outcome = published_experiment(
        FabrikcSolver(robot, published(cell.limit_bend_inside)), cell.largest_deg * kDegree, 1000);
    CHECK(outcome.success_percent == Approx(cell.percent).margin(3.0));
  }
}

TEST_CASE("fabrikc: more sections make it easier, limits harder unless they are inside the passes",
          "[ik][slow]") {
  const double largest = 90 * kDegree;
  constexpr int kTargets = 100;
  const auto rate = [&](int sections, double limit, bool inside) {
    return published_experiment(FabrikcSolver(arc_robot(sections, limit), published(inside)),
                                largest, kTargets)
        .success_percent;
  };
  CHECK(rate(3, 2 * pi, false) < rate(5, 2 * pi, false));
  CHECK(rate(10, 2 * pi, false) == 100.0);
  for (const int sections : {3, 5, 10}) {
    CAPTURE(sections);
    CHECK(rate(sections, largest, false) < rate(sections, 2 * pi, false));
    CHECK(rate(sections, largest, false) < rate(sections, largest, true));
  }
}

TEST_CASE("fabrikc: variable curvature is reached more often than published", "[ik][slow]") {
  // [FABRIKx] table 3.11, robot 1: 78.5 % in 30 ms. Straight start, 10 um, 0.01 degrees.
  FabrikcOptions options{.position_tolerance = 1e-5, .angle_tolerance = 0.01 * kDegree};
  const double plain =
      published_experiment(FabrikcSolver(table_robot(), options), pi, 300).success_percent;
  options.limit_bend_inside = true;
  const double clamped =
      published_experiment(FabrikcSolver(table_robot(), options), pi, 300).success_percent;
  CAPTURE(plain, clamped);
  CHECK(plain > 78.5);
  CHECK(clamped > plain);
}

TEST_CASE("fabrikc: a goal that is met only outside the limits ends with the pose clamped",
          "[ik]") {
  Random random(1);
  const ContinuumRobot robot = arc_robot(10, 90 * kDegree);
  FabrikcSolver plain(robot, published()), clamped(robot, published(true));
  int outside = 0;
  for (int k = 0; k < 40; ++k) {
    const TipTarget target =
        target_of(robot, random_bends(random, robot, pi), TipTask::PositionAndDirection);
    const IkResult result = plain.solve(target, robot.straight());
    check_honest(plain, target, result);
    CHECK(clamped.solve(target, robot.straight()).converged());
    if (result.converged()) continue;
    ++outside;
    CHECK(result.status == IkStatus::Stalled);
    CHECK(result.iterations < 500);
  }
  CHECK(outside > 5);
}

TEST_CASE("fabrikc: bends above 180 degrees are out of reach, but a start for others", "[ik]") {
  const ContinuumRobot robot = arc_robot(3, 2 * pi);
  FabrikcSolver solver(robot, published());
  const std::vector<SectionState> coiled{{4.0, 0.3, 0.0}, {5.0, 1.0, 0.0}, {2 * pi, -2.0, 0.0}};
  const TipTarget coil = target_of(robot, coiled, TipTask::PositionAndDirection);
  CHECK(solver.solve(coil, coiled).iterations == 0);  // the start itself is not touched
  const std::vector<SectionState> goal{{0.8, 0.3, 0.0}, {0.9, 1.0, 0.0}, {1.1, -2.0, 0.0}};
  const TipTarget target = target_of(robot, goal, TipTask::Position);
  const IkResult result = solver.solve(target, coiled);
  check_honest(solver, target, result);
  CHECK(result.converged());
}

TEST_CASE("fabrikc: bad options are refused", "[ik]") {
  const ContinuumRobot robot = plain_robot();
  CHECK_THROWS_WITH(FabrikcSolver(robot, {.max_iterations = 0}),
                    "fabrikc options: max_iterations = 0, must be >= 1");
  CHECK_THROWS_AS(FabrikcSolver(robot, {.position_tolerance = -1.0}), ModelError);
  CHECK_THROWS_AS(FabrikcSolver(robot, {.angle_tolerance = 0.0}), ModelError);
}
