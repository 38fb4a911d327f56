// Laws of the published solvers that reach forward and backward.
#include "tendril/ik/published/chord_solver.hpp"
#include "tendril/ik/published/fabrikc_solver.hpp"
#include "tests/ik/published/reaching_cases.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

template <class Solver>
using OptionsOf = std::remove_cvref_t<decltype(std::declval<Solver>().options())>;

}  // namespace

TEMPLATE_TEST_CASE("reaching solvers: every solution is honest and inside the limits", "[ik]",
                   FabrikcSolver, ChordSolver) {
  const auto seed = GENERATE(range(0u, 100u));
  const bool inside = GENERATE(false, true);
  CAPTURE(seed, inside);
  const OptionsOf<TestType> options{.limit_bend_inside = inside};
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, random.integer(1, 6));
  const BaseState base{random.uniform(0.0, 0.2), random.angle()};
  const TipTask task = seed % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection;
  auto solver = TestType(robot, options);
  const std::vector<SectionState> goal = random_states(random, robot);
  TipTarget target = target_of(robot, goal, task, base);
  if (seed % 7 == 0) target.X_BG.translation() += 0.3 * random.unit_vector();  // often out of reach
  const std::vector<SectionState> start = random_states(random, robot);
  const IkResult result =
      solver.solve(target, seed % 3 == 0 ? SectionStates(start) : robot.straight(), base);
  check_honest(solver, target, result);
  CHECK(result.base.feed == base.feed);
  CHECK(result.base.spin == base.spin);
  for (std::size_t i = 0; i < start.size(); ++i) {  // the length is the start's
    const SectionState& given = seed % 3 == 0 ? start[i] : robot.straight()[i];
    CHECK(result.states[i].extension == given.extension);
  }
}

TEMPLATE_TEST_CASE(
    "reaching solvers: rotated, fed and scaled problems have rotated, fed and scaled solutions",
    "[ik]", FabrikcSolver, ChordSolver) {
  // A rotated target (or a spun base) turns the solution; scaled lengths and a fed base leave its
  // bends.
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  OptionsOf<TestType> options{.limit_bend_inside = seed % 2 == 0};
  Random random(seed);
  const SectionParameters arc{.length = 0.1, .bend_angle_limit = 2.0};
  const SectionParameters shaped{
      .length = 0.08, .bend_angle_limit = 2.0, .length_weights = {1, 2}, .angle_weights = {2, 1}};
  const ContinuumRobot robot{arc, shaped, arc};
  SectionParameters large_arc = arc, large_shaped = shaped;
  large_arc.length *= 8.0;
  large_shaped.length *= 8.0;
  const ContinuumRobot large{large_arc, large_shaped, large_arc};
  const TipTarget target =
      target_of(robot, random_bends(random, robot, 1.5), TipTask::PositionAndDirection);
  options.max_iterations = 20;
  options.position_tolerance = 1e-5;
  auto solver = TestType(robot, options);
  const IkResult result = solver.solve(target, robot.straight());
  const auto same_bends = [&](const IkResult& other, double turned_by) {
    REQUIRE(other.iterations == result.iterations);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(other.states[i].theta == Approx(result.states[i].theta).margin(1e-8));
      if (result.states[i].theta < 1e-3) continue;  // hardly a direction
      const double turn = other.states[i].phi - turned_by - result.states[i].phi;
      CHECK(std::remainder(turn, 2.0 * std::numbers::pi) == Approx(0.0).margin(1e-6));
    }
  };

  const double a = random.angle();
  TipTarget rotated = target;
  rotated.X_BG = Eigen::AngleAxisd(a, Eigen::Vector3d::UnitZ()) * target.X_BG;
  auto second = TestType(robot, options);
  same_bends(second.solve(rotated, robot.straight()), a);
  same_bends(second.solve(rotated, robot.straight(), {.spin = a}), 0.0);

  TipTarget fed = target;
  fed.X_BG.translation().z() += 0.5;
  same_bends(second.solve(fed, robot.straight(), {.feed = 0.5}), 0.0);

  TipTarget scaled = target;
  scaled.X_BG.translation() *= 8.0;
  options.position_tolerance *= 8.0;
  auto third = TestType(large, options);
  same_bends(third.solve(scaled, large.straight()), 0.0);
}

TEMPLATE_TEST_CASE("reaching solvers: degenerate targets give finite solutions inside the limits",
                   "[ik]", FabrikcSolver, ChordSolver) {
  const bool inside = GENERATE(false, true);
  const OptionsOf<TestType> options{.max_iterations = 40, .limit_bend_inside = inside};
  const double limit = GENERATE(100 * kDegree, std::numbers::pi, 2 * std::numbers::pi);
  const TipTask task = GENERATE(TipTask::Position, TipTask::PositionAndDirection);
  const SectionParameters arc{.length = 0.1, .bend_angle_limit = limit};
  const SectionParameters shaped{.length = 0.1,
                                 .bend_angle_limit = limit,
                                 .length_weights = {1, 2, 4},
                                 .angle_weights = {1, 2, 10}};
  const SectionParameters telescopic{.variable_length = 0.1, .bend_angle_limit = limit};
  const std::vector<ContinuumRobot> robots{{arc, arc, arc},
                                           {shaped, shaped},
                                           {telescopic, telescopic, telescopic},
                                           {arc, telescopic, shaped},
                                           ContinuumRobot({arc})};
  const std::vector<Eigen::Vector3d> points{
      {0, 0, 0},   {0, 0, 0.1},  {0, 0, 0.3},   {0, 0, -0.1},      {0, 0, -0.3},   {5, 0, 0},
      {0, 0, 9},   {0, 0, -9},   {0.1, 0, 0},   {1e-14, 0, 0},     {1e-9, 0, 0.2}, {3e5, 1, 2},
      {0, 0, 1e6}, {0, 0, -1e6}, {1e154, 0, 0}, {-9e153, 0, 9e153}};
  const Eigen::AngleAxisd ahead(0.0, Eigen::Vector3d::UnitX());
  const Eigen::AngleAxisd back(std::numbers::pi, Eigen::Vector3d::UnitX());
  const Eigen::AngleAxisd across(1.0, Eigen::Vector3d::UnitY());
  for (const ContinuumRobot& robot : robots) {
    auto solver = TestType(robot, options);
    const auto count = static_cast<std::size_t>(robot.section_count());
    const std::vector<SectionState> shortest(count);                   // telescopic sections vanish
    const std::vector<SectionState> folded(count, {limit, 0.0, 0.1});  // every section at its limit
    for (const Eigen::Vector3d& point : points) {
      CAPTURE(point.transpose(), robot.section_count(), limit);
      for (const SectionStates start :
           {robot.straight(), SectionStates(shortest), SectionStates(folded)}) {
        for (const Eigen::AngleAxisd& turn : {ahead, back, across}) {
          TipTarget target;
          target.task = task;
          target.X_BG.translation() = point;
          target.X_BG.linear() = turn.toRotationMatrix();
          const IkResult result = solver.solve(target, start);
          const bool sound =
              !std::isnan(result.position_error) && std::isfinite(result.angle_error) &&
              robot.within_limits(result.states) &&
              (result.status == IkStatus::Converged || result.status == IkStatus::Stalled ||
               result.status == IkStatus::MaxIterations);
          CHECK(sound);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("reaching solvers: a thousand sections are as good as three", "[ik]",
                   FabrikcSolver, ChordSolver) {
  const OptionsOf<TestType> options{.max_iterations = 30, .limit_bend_inside = true};
  const ContinuumRobot robot = arc_robot(ContinuumRobot::kMaxSections, 1.0);
  auto solver = TestType(robot, options);
  TipTarget target;
  target.task = TipTask::PositionAndDirection;
  target.X_BG.translation() = Eigen::Vector3d(30.0, -20.0, 70.0);
  check_honest(solver, target, solver.solve(target, robot.straight()));
}

TEMPLATE_TEST_CASE("reaching solvers: the best iterate is returned", "[ik]", FabrikcSolver,
                   ChordSolver) {
  OptionsOf<TestType> options{.limit_bend_inside = true};
  Random random(11);
  const ContinuumRobot robot = arc_robot(3, 100 * kDegree);
  for (int k = 0; k < 20; ++k) {
    const TipTarget target =
        target_of(robot, random_bends(random, robot, 2.0), TipTask::PositionAndDirection);
    double previous = std::numeric_limits<double>::infinity();
    for (const int budget : {1, 2, 4, 8, 16, 32, 64}) {
      options.max_iterations = budget;
      auto solver = TestType(robot, options);
      const IkResult result = solver.solve(target, robot.straight());
      const double score = std::max(result.position_error / options.position_tolerance,
                                    result.angle_error / options.angle_tolerance);
      CHECK(score <= previous * (1 + 1e-9) + 1e-9);
      previous = score;
    }
  }
}

TEMPLATE_TEST_CASE("reaching solvers: a warm start follows a moving target in few iterations",
                   "[ik]", FabrikcSolver, ChordSolver) {
  const OptionsOf<TestType> options{.position_tolerance = 1e-6};
  const ContinuumRobot robot = plain_robot();
  auto solver = TestType(robot, options);
  const std::vector<SectionState> first{{0.6, 0.2, 0.0}, {0.7, 1.0, 0.0}, {0.5, -0.5, 0.0}};
  TipTarget target = target_of(robot, first, TipTask::Position);
  IkResult result = solver.solve(target, first);
  CHECK(result.converged());
  CHECK(result.iterations == 0);
  int most = 0;
  for (int step = 0; step < 50; ++step) {
    target.X_BG.translation() += Eigen::Vector3d(2e-4, 0.0, 0.0);
    result = solver.solve(target, result.states);  // a view of the solver's own buffer
    REQUIRE(result.converged());
    most = std::max(most, result.iterations);
  }
  CHECK(most <= 20);
}

TEMPLATE_TEST_CASE(
    "reaching solvers: the solution depends on the arguments only and takes nothing from the heap",
    "[ik]", FabrikcSolver, ChordSolver) {
  // Nor on what was solved before; and the start may be the solver's own solution.
  const OptionsOf<TestType> options;
  Random random(5);
  for (const ContinuumRobot& robot : {plain_robot(), mixed_robot(), table_robot()}) {
    auto used = TestType(robot, options), fresh = TestType(robot, options);
    const TipTarget other =
        target_of(robot, random_bends(random, robot, 1.5), TipTask::PositionAndDirection);
    const TipTarget target =
        target_of(robot, random_bends(random, robot, 1.5), TipTask::PositionAndDirection);
    AllocationCounter counter;
    const IkResult before = used.solve(other, robot.straight());
    const IkResult own_start = used.solve(other, before.states);
    const IkResult a = used.solve(target, robot.straight());
    const IkResult b = fresh.solve(target, robot.straight());
    CHECK(counter.count() == 0);
    CHECK(own_start.position_error <=
          before.position_error + kAlgebraTolerance + options.position_tolerance);
    CHECK(a.iterations == b.iterations);
    for (std::size_t i = 0; i < a.states.size(); ++i) {
      CHECK(a.states[i].theta == b.states[i].theta);
      CHECK(a.states[i].phi == b.states[i].phi);
    }
  }
}

TEMPLATE_TEST_CASE("reaching solvers: bad targets and starts are refused with a status", "[ik]",
                   FabrikcSolver, ChordSolver) {
  const OptionsOf<TestType> options;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ContinuumRobot robot = plain_robot();
  auto solver = TestType(robot, options);
  TipTarget target;
  target.X_BG.translation() = Eigen::Vector3d(0.05, 0.02, 0.25);
  std::vector<SectionState> start(3);
  const auto refused = [&](IkStatus status, const BaseState& base = {}) {
    const IkResult result = solver.solve(target, start, base);
    CHECK(result.status == status);
    CHECK(result.iterations == 0);
    CHECK(result.position_error == std::numeric_limits<double>::infinity());
    CHECK(robot.within_limits(result.states));
  };
  SECTION("target not a number") {
    target.X_BG.translation().x() = nan;
    refused(IkStatus::InvalidTarget);
  }
  SECTION("too few states") {
    start.pop_back();
    refused(IkStatus::InvalidStart);
  }
  SECTION("state not a number") {
    start[1].phi = nan;
    refused(IkStatus::InvalidStart);
  }
  SECTION("base not a number") { refused(IkStatus::InvalidStart, {.feed = nan}); }
}

TEMPLATE_TEST_CASE("reaching solvers: a straight arm leaves its own axis", "[ik]", FabrikcSolver,
                   ChordSolver) {
  const int most = std::is_same_v<TestType, FabrikcSolver> ? 20 : 100;  // measured 10 and 58
  const ContinuumRobot robot = arc_robot(3, 120 * kDegree);
  TestType solver(robot,
                  {.max_iterations = 500, .position_tolerance = 1e-6, .angle_tolerance = 1e-3});
  TipTarget target;
  target.task = TipTask::PositionAndDirection;
  target.X_BG.translation() = Eigen::Vector3d(0.0, 0.0, 0.25);
  const IkResult result = solver.solve(target, robot.straight());
  CHECK(result.converged());
  CHECK(result.jumped);
  CHECK(result.iterations <= most);

  target.X_BG.translation().z() = 0.5;  // out of reach: does not move, and says so
  const IkResult far = solver.solve(target, robot.straight());
  CHECK(far.status == IkStatus::Stalled);
  CHECK_FALSE(far.jumped);
  if (std::is_same_v<TestType, FabrikcSolver>) CHECK(far.iterations <= 3);
  CHECK(far.position_error == Approx(0.2));
}
