// Laws that hold for every solver of `solver_infos()`, whoever adds one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "tendril/ik/any_solver.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::AngleAxisd;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kLimitTolerance = 1e-9;  // [rad], [m]
constexpr double kTurnTolerance = 1e-6;   // [rad], [m]: a rotated problem has other rounding

struct NamedRobot {
  std::string name;
  ContinuumRobot robot;
};

std::vector<SectionParameters> repeated(int count, const SectionParameters& section) {
  return std::vector<SectionParameters>(static_cast<std::size_t>(count), section);
}

/// Robots of every kind: most solvers serve only some of them.
std::vector<NamedRobot> ordinary_robots() {
  const SectionParameters arc{.length = 0.05, .bend_angle_limit = 60 * kDegree};
  std::vector<NamedRobot> robots{
      {"three arcs", plain_robot()},
      {"one arc", ContinuumRobot({arc})},
      {"ten arcs", ContinuumRobot(repeated(10, arc))},
      {"three arcs on a feed", ContinuumRobot(repeated(3, arc), {.feed_limit = 0.3})},
      {"mixed", mixed_robot()},
      {"table 3.10 robot 1", table_robot()}};
  for (unsigned seed = 0; seed < 3; ++seed) {
    Random random(seed);
    robots.push_back({"random_robot(" + std::to_string(seed) + ")",
                      random_robot(random, 1 + static_cast<int>(seed))});
  }
  return robots;
}

/// Ends of the ranges of the parameters.
std::vector<NamedRobot> extreme_robots() {
  const SectionParameters full_turn{.length = 0.1, .bend_angle_limit = 2 * pi};
  const SectionParameters telescopic{.variable_length = 0.1, .bend_angle_limit = 100 * kDegree};
  const SectionParameters telescopic_turn{.variable_length = 0.1, .bend_angle_limit = 2 * pi};
  const SectionParameters tiny{.length = 1e-3}, huge{.length = 10.0}, plain{.length = 0.1};
  const SectionParameters tiny_weighted{
      .length = 1e-3, .length_weights = {1, 2, 4}, .angle_weights = {1, 2, 10}};
  const SectionParameters huge_variable{.length = 5.0, .variable_length = 5.0};
  const SectionParameters stiff{.length = 0.05, .bend_angle_limit = 1e-3};
  return {
      {"one full turn", ContinuumRobot({full_turn})},
      {"three full turns", ContinuumRobot(repeated(3, full_turn))},
      {"telescopic", ContinuumRobot(repeated(2, telescopic))},
      {"one telescopic", ContinuumRobot({telescopic})},
      {"telescopic full turns", ContinuumRobot(repeated(3, telescopic_turn))},
      {"stiff", ContinuumRobot(repeated(3, stiff))},
      {"lengths 1 mm to 10 m", ContinuumRobot({tiny, huge, plain})},
      {"lengths 10 m to 1 mm", ContinuumRobot({huge_variable, plain, tiny_weighted})},
  };
}

/// The most sections that a robot may have.
std::vector<NamedRobot> long_robots() {
  constexpr int n = ContinuumRobot::kMaxSections;
  return {{"1000 arcs", ContinuumRobot(repeated(n, {.length = 0.05}))},
          {"1000 telescopic",
           ContinuumRobot(repeated(n, {.variable_length = 0.05, .bend_angle_limit = 0.5}))}};
}

/// The solver, or nothing if it does not serve such a robot.
std::optional<AnySolver> solver_for(const char* name, const ContinuumRobot& robot,
                                    const SolverOptions& options) {
  try {
    return make_solver(name, robot, options);
  } catch (const ModelError&) {
    return std::nullopt;
  }
}

/// Calls `law(solver, robot)` for every solver and every robot that it serves; each solver must
/// serve one of them if it serves several sections.
void for_all_solvers(const std::vector<NamedRobot>& robots, const SolverOptions& options,
                     const std::function<void(AnySolver&, const ContinuumRobot&)>& law) {
  for (const SolverInfo& info : solver_infos()) {
    int served = 0;
    for (const NamedRobot& named : robots) {
      std::optional<AnySolver> solver = solver_for(info.name, named.robot, options);
      if (!solver) continue;
      ++served;
      INFO("solver " << info.name << ", robot " << named.name);
      law(*solver, named.robot);
    }
    INFO("solver " << info.name);
    CHECK((served > 0 || info.single_section));
  }
}

/// A solution checked from its states alone.
void check_honest(const IkResult& result, const ContinuumRobot& robot, const TipTarget& target,
                  const SolverOptions& options, int max_iterations) {
  REQUIRE(static_cast<int>(result.states.size()) == robot.section_count());
  CHECK(std::all_of(result.states.begin(), result.states.end(), [](const SectionState& s) {
    return std::isfinite(s.theta) && std::isfinite(s.phi) && std::isfinite(s.extension);
  }));
  // Rounding grows along the robot, and with the distances that the error is the difference of.
  const double along = kAlgebraTolerance * (1.0 + 0.01 * robot.section_count());
  const double distances = 1.0 + robot.max_length() + target.position().norm();
  const Eigen::Isometry3d X_BE = oracle_tip_pose(robot, result.states, result.base);
  CHECK(result.position_error ==
        Approx(position_error(X_BE, target)).epsilon(0).margin(along * distances));
  CHECK(result.angle_error == Approx(angle_error(X_BE, target)).epsilon(0).margin(along));
  const bool inside = robot.within_limits(result.states, kLimitTolerance);
  const bool within = result.position_error <= options.position_tolerance &&
                      result.angle_error <= options.angle_tolerance;
  CHECK(result.converged() == (inside && within));
  CHECK((result.status == IkStatus::Converged || result.status == IkStatus::MaxIterations ||
         result.status == IkStatus::Stalled));
  CHECK(result.iterations >= 0);
  CHECK(result.iterations <= max_iterations);
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_bits(SectionStates a, SectionStates b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SectionState& s, const SectionState& t) {
                      return same_bits(s.theta, t.theta) && same_bits(s.phi, t.phi) &&
                             same_bits(s.extension, t.extension);
                    });
}

/// Copy of a result, kept after the solver's next call.
struct Answer {
  IkResult result;
  std::vector<SectionState> states;
  explicit Answer(const IkResult& from)
      : result(from), states(from.states.begin(), from.states.end()) {}
};

void check_same_bits(const Answer& a, const Answer& b) {
  CHECK(a.result.status == b.result.status);
  CHECK(a.result.iterations == b.result.iterations);
  CHECK(a.result.jumped == b.result.jumped);
  CHECK(same_bits(a.result.position_error, b.result.position_error));
  CHECK(same_bits(a.result.angle_error, b.result.angle_error));
  CHECK(same_bits(a.result.base.feed, b.result.base.feed));
  CHECK(same_bits(a.result.base.spin, b.result.base.spin));
  CHECK(same_bits(SectionStates(a.states), SectionStates(b.states)));
}

TipTarget target_of(const ContinuumRobot& robot, SectionStates states, TipTask task,
                    const BaseState& base = {}) {
  return {.X_BG = oracle_tip_pose(robot, states, base), .task = task};
}

/// Solvers that descend from `random_states` of seed 1 when the start does not lead to the target.
bool restarts_from_seed(const SolverInfo& info) {
  return std::strcmp(info.name, "levenberg") == 0 || std::strcmp(info.name, "auto") == 0;
}

TipTask task_of(unsigned seed) {
  return seed % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection;
}

}  // namespace

TEST_CASE("every solver: solutions are honest and inside the limits", "[ik]") {
  const SolverOptions options{.max_iterations = 25};
  for_all_solvers(ordinary_robots(), options, [&](AnySolver& solver, const ContinuumRobot& robot) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const BaseState base{.feed = random.uniform(0.0, 0.1), .spin = random.angle()};
      TipTarget target = target_of(robot, random_states(random, robot), task_of(seed), base);
      if (seed % 4 == 3) target.X_BG.translation() *= 3.0;  // out of reach
      const std::vector<SectionState> start = random_states(random, robot);
      const IkResult result =
          solver.solve(target, seed % 3 == 0 ? robot.straight() : SectionStates(start), base);
      check_honest(result, robot, target, options, options.max_iterations);
      const double feed_limit = robot.base().feed_limit;
      CHECK((feed_limit > 0.0 ? result.base.feed >= 0.0 && result.base.feed <= feed_limit
                              : result.base.feed == base.feed));
      CHECK(result.base.spin == base.spin);
    }
  });
}

TEST_CASE("solvers with base shift: targets beyond the arm's own reach are found", "[ik]") {
  const ContinuumRobot robot(repeated(3, {.length = 0.05, .bend_angle_limit = pi / 2}),
                             {.feed_limit = 0.3});
  constexpr unsigned kTargets = 200;
  const auto solved_by = [&](const char* name, bool feed_base) {
    AnySolver solver = make_solver(name, robot, {.feed_base = feed_base});
    unsigned solved = 0;
    for (unsigned seed = 0; seed < kTargets; ++seed) {
      Random random(seed);
      const BaseState base{.feed = random.uniform(0.0, 0.3)};
      const TipTarget target = target_of(robot, random_states(random, robot), task_of(seed), base);
      solved += solver.solve(target, robot.straight()).converged();
    }
    return solved;
  };
  for (const char* const name : {"auto", "levenberg", "fabrikx", "jacobian", "fabrikx-jacobian"}) {
    INFO("solver " << name);
    CHECK(solved_by(name, true) > 3 * solved_by(name, false));
  }
  CHECK(solved_by("auto", true) == kTargets);
}

TEST_CASE("every solver: budgets down to one iteration are kept", "[ik]") {
  for (const int budget : {1, 2, 5}) {
    CAPTURE(budget);
    const SolverOptions options{.max_iterations = budget};
    for_all_solvers(
        ordinary_robots(), options, [&](AnySolver& solver, const ContinuumRobot& robot) {
          for (unsigned seed = 0; seed < 2; ++seed) {
            CAPTURE(seed);
            Random random(seed);
            const TipTarget target = target_of(robot, random_states(random, robot), task_of(seed));
            check_honest(solver.solve(target, robot.straight()), robot, target, options, budget);
          }
        });
  }
}

TEST_CASE("every solver: a start that meets the target is the solution, without an iteration",
          "[ik]") {
  const SolverOptions options{.max_iterations = 25};
  for_all_solvers(ordinary_robots(), options, [&](AnySolver& solver, const ContinuumRobot& robot) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const BaseState base{.feed = random.uniform(0.0, 0.1), .spin = random.angle()};
      const std::vector<SectionState> random_start = random_states(random, robot);
      const SectionStates start = seed == 0 ? robot.straight() : SectionStates(random_start);
      const TipTarget target = target_of(robot, start, task_of(seed), base);
      const IkResult result = solver.solve(target, start, base);
      CHECK(result.status == IkStatus::Converged);
      CHECK(result.iterations == 0);
      CHECK_FALSE(result.jumped);
      check_honest(result, robot, target, options, 0);
      for (std::size_t i = 0; i < start.size(); ++i) {
        CHECK((bend_vector(result.states[i]) - bend_vector(start[i])).norm() < kLimitTolerance);
        CHECK(result.states[i].extension == Approx(start[i].extension).margin(kLimitTolerance));
      }
    }
  });
}

TEST_CASE("every solver: a descent that converged is the result, whatever failed ones cost",
          "[ik]") {
  // Loose tolerances: a pose that misses one of them by little may cost less than one that meets
  // both.
  const SolverOptions options{
      .max_iterations = 1000, .position_tolerance = 1e-2, .angle_tolerance = 0.5};
  SolverOptions without_restarts = options;
  without_restarts.max_restarts = 0;
  constexpr int kRestartsTried = 20;
  const NamedRobot robots[] = {
      {"two variable", ContinuumRobot(repeated(
                           2, {.length = 0.05, .variable_length = 0.05, .bend_angle_limit = 6.0}))},
      {"three arcs", plain_robot()}};
  for (const SolverInfo& info : solver_infos()) {
    for (const auto& [name, robot] : robots) {
      std::optional<AnySolver> solver = solver_for(info.name, robot, options);
      if (!solver) continue;
      AnySolver alone = make_solver(info.name, robot, without_restarts);
      const unsigned count = restarts_from_seed(info) ? 1500 : 20;
      for (unsigned seed = 0; seed < count; ++seed) {
        INFO("solver " << info.name << ", robot " << name << ", seed " << seed);
        Random random(seed);
        const TipTarget target =
            target_of(robot, random_states(random, robot), TipTask::PositionAndDirection);
        const Answer by_all(solver->solve(target, robot.straight()));
        const Answer from_start(alone.solve(target, robot.straight()));
        if (from_start.result.converged()) CHECK(by_all.result.converged());
        if (!restarts_from_seed(info)) check_same_bits(by_all, from_start);
        if (by_all.result.status != IkStatus::Stalled || !restarts_from_seed(info)) continue;
        // It says that no descent within the budget met the target.
        SplitMix64 elsewhere(1);
        std::vector<SectionState> start(by_all.states.size());
        for (int restart = 0; restart < kRestartsTried; ++restart) {
          random_states(robot, elsewhere, start);
          CHECK_FALSE(alone.solve(target, start).converged());
        }
      }
    }
  }
}

TEST_CASE("every solver: restarts that did not find the pose returned are no jump", "[ik]") {
  const SolverOptions options{.max_iterations = 300};
  SolverOptions without_restarts = options;
  without_restarts.max_restarts = 0;
  for (const SolverInfo& info : solver_infos()) {
    int kept_the_first = 0;
    for (const NamedRobot& named : ordinary_robots()) {
      const ContinuumRobot& robot = named.robot;
      std::optional<AnySolver> solver = solver_for(info.name, robot, options);
      if (!solver) continue;
      AnySolver alone = make_solver(info.name, robot, without_restarts);
      for (unsigned seed = 0; seed < 40; ++seed) {
        INFO("solver " << info.name << ", robot " << named.name << ", seed " << seed);
        Random random(seed);
        TipTarget target = target_of(robot, random_states(random, robot), task_of(seed));
        if (seed % 4 != 0) target.X_BG.translation() *= 3.0;  // out of reach, mostly
        if (seed % 8 == 1) {                                  // on the axis, behind the base too
          const double z = random.uniform(-0.5, 1.0) * robot.max_length();
          target.X_BG = Eigen::Translation3d(0.0, 0.0, z);
        }
        const std::vector<SectionState> random_start = random_states(random, robot);
        const SectionStates start = seed % 2 == 0 ? SectionStates(random_start) : robot.straight();
        const Answer by_all(solver->solve(target, start));
        const Answer from_start(alone.solve(target, start));
        if (same_bits(by_all.states, start)) CHECK_FALSE(by_all.result.jumped);
        if (!same_bits(by_all.states, from_start.states)) continue;
        CHECK(by_all.result.jumped == from_start.result.jumped);
        kept_the_first += !by_all.result.converged();
      }
    }
    INFO("solver " << info.name);
    CHECK(kept_the_first > 0);
  }
}

TEST_CASE("every solver: the same input gives the same bits", "[ik]") {
  const SolverOptions options{.max_iterations = 25};
  for (const SolverInfo& info : solver_infos()) {
    for (const NamedRobot& named : ordinary_robots()) {
      std::optional<AnySolver> used = solver_for(info.name, named.robot, options);
      if (!used) continue;
      const ContinuumRobot& robot = named.robot;
      INFO("solver " << info.name << ", robot " << named.name);
      for (unsigned seed = 0; seed < 2; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const TipTarget target = target_of(robot, random_states(random, robot), task_of(seed));
        const TipTarget other = target_of(robot, random_states(random, robot), task_of(seed + 1));
        const std::vector<SectionState> start = random_states(random, robot);
        AnySolver fresh = make_solver(info.name, robot, options);
        AnySolver copy = *used;  // of a solver that has served other targets
        const Answer by_used(used->solve(target, start));
        const Answer by_fresh(fresh.solve(target, start));
        (void)fresh.solve(other, start);  // the copy is independent of what else is solved
        const Answer by_copy(copy.solve(target, start));
        check_same_bits(by_used, by_fresh);
        check_same_bits(by_used, by_copy);
        // A solution that is still a view of the solver's own buffer may be the next start.
        const IkResult solution = copy.solve(target, start);
        const Answer kept(solution);
        const Answer from_view(copy.solve(other, solution.states));
        const Answer from_own(fresh.solve(other, kept.states));
        check_same_bits(from_view, from_own);
      }
    }
  }
}

TEST_CASE("every solver: solve takes nothing from the heap", "[ik]") {
  const SolverOptions options{.max_iterations = 25};
  for_all_solvers(ordinary_robots(), options, [&](AnySolver& solver, const ContinuumRobot& robot) {
    for (unsigned seed = 0; seed < 2; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const TipTarget target = target_of(robot, random_states(random, robot), task_of(seed));
      TipTarget bad = target;
      bad.X_BG.translation().x() = std::numeric_limits<double>::quiet_NaN();
      const AllocationCounter counter;
      (void)solver.solve(target, robot.straight());
      (void)solver.solve(bad, robot.straight());
      CHECK(counter.count() == 0);
    }
  });
}

TEST_CASE("every solver: a rotated world turns the solution", "[ik]") {
  // Some methods have inherent directions that do not turn with the world.
  struct Exception {
    const char* solver;
    const char* reason;
  };
  const Exception exceptions[] = {
      {"levenberg", "restarts from seeded poses"},
      {"auto", "restarts from seeded poses"},
      {"jacobian", "bends straight sections in direction phi = 0 at the start"},
      {"jacobian-polar", "bends straight sections in direction phi = 0 at the start"},
      {"pseudo-inverse", "the same, and near singular poses its steps are rounding"},
      {"fabrikx-jacobian", "holds jacobian"},
      {"fabrikx-jacobian-chained", "holds jacobian"}};
  const SolverOptions options{.max_iterations = 15};  // rounding grows with the iterations
  for (const SolverInfo& info : solver_infos()) {
    if (std::any_of(std::begin(exceptions), std::end(exceptions),
                    [&](const Exception& e) { return std::strcmp(e.solver, info.name) == 0; }))
      continue;
    for (const NamedRobot& named : ordinary_robots()) {
      const ContinuumRobot& robot = named.robot;
      std::optional<AnySolver> solver = solver_for(info.name, robot, options);
      if (!solver) continue;
      INFO("solver " << info.name << ", robot " << named.name);
      for (unsigned seed = 0; seed < 4; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const TipTarget target = target_of(robot, random_states(random, robot), task_of(seed));
        std::vector<SectionState> start = random_states(random, robot);
        const Answer plain(solver->solve(target, start));
        const double angle = random.angle();
        TipTarget turned_target = target;
        turned_target.X_BG = AngleAxisd(angle, Vector3d::UnitZ()) * target.X_BG;
        const auto check_turned = [&](const Answer& rotated, double turn) {
          CHECK(rotated.result.status == plain.result.status);
          CHECK(rotated.result.iterations == plain.result.iterations);
          CHECK(rotated.result.position_error ==
                Approx(plain.result.position_error).margin(kTurnTolerance));
          for (std::size_t i = 0; i < start.size(); ++i) {
            SectionState expected = plain.states[i];
            expected.phi += turn;
            CHECK((bend_vector(rotated.states[i]) - bend_vector(expected)).norm() < kTurnTolerance);
            CHECK(rotated.states[i].extension == Approx(expected.extension).margin(kTurnTolerance));
          }
        };
        // A base that turns with the world needs no other bends; one that does not, rotated ones.
        check_turned(Answer(solver->solve(turned_target, start, {.spin = angle})), 0.0);
        for (SectionState& state : start) state.phi += angle;
        check_turned(Answer(solver->solve(turned_target, start)), angle);
      }
    }
  }
}

TEST_CASE("every solver: targets and starts that are no numbers are refused", "[ik]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for_all_solvers(ordinary_robots(), {}, [&](AnySolver& solver, const ContinuumRobot& robot) {
    Random random(1);
    const std::vector<SectionState> start = random_states(random, robot);
    const TipTarget target = target_of(robot, start, TipTask::PositionAndDirection);
    const auto check_refused = [&](const IkResult& result, IkStatus status) {
      CHECK(result.status == status);
      CHECK(result.iterations == 0);
      CHECK(result.position_error == infinity);
      CHECK(result.angle_error == infinity);
      CHECK(same_bits(result.states, robot.straight()));
      CHECK(std::isfinite(result.base.feed));
      CHECK(std::isfinite(result.base.spin));
    };
    TipTarget too_far = target;
    too_far.X_BG.translation().x() = 1e160;  // its square overflows
    check_refused(solver.solve(too_far, start), IkStatus::InvalidTarget);
    for (const double bad : {nan, infinity, -infinity}) {
      TipTarget bad_position = target, bad_direction = target;
      bad_position.X_BG.translation().z() = bad;
      bad_direction.X_BG.linear()(1, 2) = bad;
      check_refused(solver.solve(bad_position, start), IkStatus::InvalidTarget);
      check_refused(solver.solve(bad_direction, start), IkStatus::InvalidTarget);
      for (double SectionState::*field :
           {&SectionState::theta, &SectionState::phi, &SectionState::extension}) {
        std::vector<SectionState> bad_start = start;
        bad_start.back().*field = bad;
        check_refused(solver.solve(target, bad_start), IkStatus::InvalidStart);
      }
      check_refused(solver.solve(target, start, {.feed = bad}), IkStatus::InvalidStart);
      check_refused(solver.solve(target, start, {.spin = bad}), IkStatus::InvalidStart);
    }
    std::vector<SectionState> longer = start;
    longer.emplace_back();
    check_refused(solver.solve(target, longer), IkStatus::InvalidStart);
    check_refused(solver.solve(target, SectionStates(start).first(start.size() - 1)),
                  IkStatus::InvalidStart);
    check_refused(solver.solve(target, {}), IkStatus::InvalidStart);
    CHECK(solver.solve(target, start).converged());  // a refusal leaves no trace
  });
}

TEST_CASE("every solver: a target of position only has no direction", "[ik]") {
  for_all_solvers(ordinary_robots(), {.max_iterations = 20},
                  [](AnySolver& solver, const ContinuumRobot& robot) {
                    Random random(1);
                    TipTarget target =
                        target_of(robot, random_states(random, robot), TipTask::Position);
                    const Answer plain(solver.solve(target, robot.straight()));
                    target.X_BG.rotate(AngleAxisd(1.0, Vector3d::UnitX()));
                    check_same_bits(Answer(solver.solve(target, robot.straight())), plain);
                  });
}

TEST_CASE("every solver: degenerate problems get finite solutions in bounded work", "[ik]") {
  const auto check_degenerate = [](const std::vector<NamedRobot>& robots, int budget) {
    const SolverOptions options{.max_iterations = budget};
    for_all_solvers(robots, options, [&](AnySolver& solver, const ContinuumRobot& robot) {
      const double L = robot.max_length();
      const Vector3d points[] = {{0, 0, 0},       {0, 0, L / 2},     {0, 0, L},
                                 {0, 0, 2 * L},   {0, 0, -L / 2},    {0, 0, -2 * L},
                                 {L / 2, 0, 0},   {1e-14, 0, L / 3}, {1e6 * L, 0, 0},
                                 {0, 0, 1e6 * L}, {0, 0, -1e6 * L},  {1e150, 0, 0}};
      const double tilts[] = {0.0, pi / 2, pi};  // ahead, sideways, back
      const auto count = static_cast<std::size_t>(robot.section_count());
      const std::vector<SectionState> shortest(count);
      const std::vector<SectionState> folded(count, {2 * pi, 0.0, L});     // clamped
      const std::vector<SectionState> wild(count, {-3.0, 1e4, -2.0 * L});  // clamped
      int k = 0;
      for (const Vector3d& point : points) {
        for (const SectionStates start : {robot.straight(), SectionStates(shortest),
                                          SectionStates(folded), SectionStates(wild)}) {
          TipTarget target;
          target.X_BG.translation() = point;
          target.X_BG.linear() = AngleAxisd(tilts[k % 3], Vector3d::UnitY()).toRotationMatrix();
          target.task = task_of(static_cast<unsigned>(k++));
          INFO("target " << point.transpose() << ", case " << k);
          check_honest(solver.solve(target, start), robot, target, options, budget);
        }
      }
    });
  };
  check_degenerate(extreme_robots(), 8);
}

TEST_CASE("every solver: the longest robots get finite solutions", "[ik]") {
  const SolverOptions options{.max_iterations = 1};
  for_all_solvers(long_robots(), options, [&](AnySolver& solver, const ContinuumRobot& robot) {
    const std::vector<SectionState> shortest(static_cast<std::size_t>(robot.section_count()));
    for (const double side : {0.0, 0.3, 1e6}) {
      CAPTURE(side);
      TipTarget target{.task = side == 0.3 ? TipTask::PositionAndDirection : TipTask::Position};
      target.X_BG.translation() = Vector3d(side, 0.0, 0.5) * robot.max_length();
      const SectionStates start = side == 0.0 ? SectionStates(shortest) : robot.straight();
      check_honest(solver.solve(target, start), robot, target, options, 1);
    }
  });
}
