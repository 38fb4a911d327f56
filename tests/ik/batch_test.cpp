#include "tendril/ik/batch.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <vector>

#include "tendril/ik/start_pose.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr int kTargets = 150;  // no multiple of what a thread takes at a time

struct Problem {
  ContinuumRobot robot = mixed_robot();
  std::vector<TipTarget> targets;
  std::vector<SectionState> starts;
};

Problem problem(int count = kTargets) {
  Problem problem;
  Random random(12);
  for (int k = 0; k < count; ++k) {
    problem.targets.push_back(
        {.X_BG = oracle_tip_pose(problem.robot, random_states(random, problem.robot)),
         .task = k % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection});
    const std::vector<SectionState> start = random_states(random, problem.robot);
    problem.starts.insert(problem.starts.end(), start.begin(), start.end());
  }
  return problem;
}

struct Answers {
  std::vector<BatchResult> results;
  std::vector<SectionState> states;
};

Answers solve(const Problem& problem, const AnySolver& solver, const BatchOptions& options) {
  Answers solutions{std::vector<BatchResult>(problem.targets.size()),
                    std::vector<SectionState>(problem.starts.size())};
  solve_batch(solver, problem.targets, solutions.results, solutions.states, options);
  return solutions;
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same(const BatchResult& a, const BatchResult& b) {
  return a.status == b.status && a.iterations == b.iterations &&
         same_bits(a.position_error, b.position_error) && same_bits(a.angle_error, b.angle_error) &&
         a.jumped == b.jumped && same_bits(a.base.feed, b.base.feed) &&
         same_bits(a.base.spin, b.base.spin);
}

bool same(const SectionState& a, const SectionState& b) {
  return same_bits(a.theta, b.theta) && same_bits(a.phi, b.phi) &&
         same_bits(a.extension, b.extension);
}

void check_same(const Answers& a, const Answers& b) {
  const auto equal = [](const auto& x, const auto& y) { return same(x, y); };
  CHECK(std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), equal));
  CHECK(std::equal(a.states.begin(), a.states.end(), b.states.begin(), b.states.end(), equal));
}

/// The batch by hand: one solver, one target after the other.
Answers one_by_one(const Problem& problem, AnySolver solver, bool own_starts) {
  Answers solutions;
  const auto sections = static_cast<std::size_t>(problem.robot.section_count());
  std::vector<SectionState> start(sections);
  for (std::size_t k = 0; k < problem.targets.size(); ++k) {
    straight_start(problem.robot, problem.targets[k], {}, start);
    const IkResult result =
        solver.solve(problem.targets[k],
                     own_starts ? SectionStates(problem.starts).subspan(k * sections, sections)
                                : SectionStates(start));
    solutions.results.push_back({.status = result.status,
                                 .iterations = result.iterations,
                                 .position_error = result.position_error,
                                 .angle_error = result.angle_error,
                                 .jumped = result.jumped,
                                 .base = result.base});
    solutions.states.insert(solutions.states.end(), result.states.begin(), result.states.end());
  }
  return solutions;
}

}  // namespace

TEST_CASE("batch: the solutions are those of single solves at any number of threads", "[ik]") {
  const Problem given = problem();
  const bool own_starts = GENERATE(false, true);
  for (const char* name : {"levenberg", "fabrikx-jacobian-chained"}) {
    const AnySolver solver = make_solver(name, given.robot, {.max_iterations = 10});
    const Answers expected = one_by_one(given, solver, own_starts);
    for (const int threads : {1, 2, 3, 7, 0}) {
      CAPTURE(name, own_starts, threads);
      BatchOptions options{.threads = threads};
      if (own_starts) options.starts = given.starts;
      check_same(solve(given, solver, options), expected);
    }
  }
}

TEST_CASE("batch: any number of targets, none and one included", "[ik]") {
  const int count = GENERATE(0, 1, 2, 63, 64, 65, 128);
  const int threads = GENERATE(0, 1, 3);
  CAPTURE(count, threads);
  const Problem given = problem(count);
  const AnySolver solver = make_solver("fabrikx", given.robot, {.max_iterations = 5});
  check_same(solve(given, solver, {.threads = threads}), one_by_one(given, solver, false));
}

TEST_CASE("batch: the solver given is not used itself", "[ik]") {
  const Problem given = problem(10);
  AnySolver solver = make_solver("fabrikx", given.robot);
  const IkResult solution = solver.solve(given.targets[0], given.robot.straight());
  const std::vector<SectionState> kept(solution.states.begin(), solution.states.end());
  (void)solve(given, solver, {});
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(same(solution.states[i], kept[i]));
}

TEST_CASE("batch: a bad target leaves the others alone", "[ik]") {
  Problem given = problem(100);
  const AnySolver solver = make_solver("jacobian", given.robot, {.max_iterations = 30});
  const Answers clean = solve(given, solver, {.threads = 2});
  given.targets[41].X_BG.translation().x() = std::numeric_limits<double>::quiet_NaN();
  const Answers solutions = solve(given, solver, {.threads = 2});
  for (std::size_t k = 0; k < solutions.results.size(); ++k) {
    CAPTURE(k);
    if (k == 41) {
      CHECK(solutions.results[k].status == IkStatus::InvalidTarget);
    } else {
      CHECK(same(solutions.results[k], clean.results[k]));
    }
  }
}

TEST_CASE("batch: times are measured on request only", "[ik]") {
  const Problem given = problem(70);
  const AnySolver solver = make_solver("fabrikx", given.robot, {.max_iterations = 50});
  const Answers untimed = solve(given, solver, {.threads = 2});
  const Answers timed = solve(given, solver, {.threads = 2, .measure_time = true});
  check_same(timed, untimed);
  double sum = 0.0;
  for (std::size_t k = 0; k < given.targets.size(); ++k) {
    CHECK(untimed.results[k].time == 0.0);
    CHECK(timed.results[k].time >= 0.0);
    sum += timed.results[k].time;
  }
  CHECK(sum > 0.0);
}

TEST_CASE("batch: sizes that do not fit are refused", "[ik]") {
  const Problem given = problem(4);
  const AnySolver solver = make_solver("fabrikx", given.robot);
  std::vector<BatchResult> results(4), few_results(3);
  std::vector<SectionState> states(12), few_states(11);
  CHECK_THROWS_WITH(solve_batch(solver, given.targets, few_results, states),
                    "batch: number of results = 3, must be 4");
  CHECK_THROWS_WITH(solve_batch(solver, given.targets, results, few_states),
                    "batch: number of states = 11, must be 12");
  CHECK_THROWS_WITH(solve_batch(solver, given.targets, results, states, {.starts = few_states}),
                    "batch: number of start states = 11, must be 12");
  CHECK_THROWS_WITH(solve_batch(solver, given.targets, results, states, {.threads = -1}),
                    "batch: threads = -1, must be >= 0");
  CHECK_THROWS_AS(solve_batch(solver, given.targets, few_results, states), ModelError);
}
