#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

// Laws that every solver that reaches forward and backward keeps, and the published experiment. A
// law takes `make(robot, tolerances...)` or a solver and checks; the test cases are the callers'.
namespace tendril::test {

inline TipTarget target_at(const Eigen::Isometry3d& X_BG, TipTask task) {
  return {.X_BG = X_BG, .task = task};
}

inline TipTarget target_of(const ContinuumRobot& robot, SectionStates states, TipTask task,
                           const BaseState& base = {}) {
  return target_at(oracle_tip_pose(robot, states, base), task);
}

/// Uniform robot of the published experiment: sections of 100 mm, one arc each.
inline ContinuumRobot arc_robot(int section_count, double bend_angle_limit) {
  const SectionParameters arc{.length = 0.1, .bend_angle_limit = bend_angle_limit};
  return ContinuumRobot(
      std::vector<SectionParameters>(static_cast<std::size_t>(section_count), arc));
}

/// Five sections with rigid links before their arcs, unequal lengths and a tool behind the last
/// one, as sub-sections without bend; `kLinks`, `kArcs` and `kTool` are the same robot in pieces.
inline constexpr double kLinks[] = {0.01, 0.02, 0.0, 0.03, 0.015};
inline constexpr double kArcs[] = {0.1, 0.08, 0.12, 0.09, 0.1};
inline constexpr double kTool = 0.04;

inline ContinuumRobot linked_robot(double bend_angle_limit) {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < 5; ++i) {
    SectionParameters section{.length = kLinks[i] + kArcs[i], .bend_angle_limit = bend_angle_limit};
    if (kLinks[i] > 0.0) {
      section.length_weights.push_back(kLinks[i]);
      section.angle_weights.push_back(0.0);
    }
    section.length_weights.push_back(kArcs[i]);
    section.angle_weights.push_back(1.0);
    if (i == 4) {
      section.length += kTool;
      section.length_weights.push_back(kTool);
      section.angle_weights.push_back(0.0);
    }
    sections.push_back(section);
  }
  return ContinuumRobot(sections);
}

/// Tip pose of `linked_robot` as rigid links, plain arcs and a tool.
inline Eigen::Isometry3d linked_tip_pose(SectionStates states) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  for (int i = 0; i < 5; ++i) {
    const auto k = static_cast<std::size_t>(i);
    X.translate(Eigen::Vector3d(0.0, 0.0, kLinks[k]));
    X = X * oracle_section_pose(Section({.length = kArcs[k]}), states[k]);
  }
  X.translate(Eigen::Vector3d(0.0, 0.0, kTool));
  return X;
}

/// Random bends up to `largest`, as the published experiment draws them; lengths anywhere.
inline std::vector<SectionState> random_bends(Random& random, const ContinuumRobot& robot,
                                              double largest) {
  std::vector<SectionState> states;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double extension = random.uniform(0.0, robot.section(i).variable_length());
    const double limit = robot.section(i).bend_angle_limit_at(extension);
    const double theta = random.uniform(0.0, std::min(largest, limit));
    states.push_back({theta, random.angle(), extension});
  }
  return states;
}

/// The solution checked from its states alone: limits, errors and status.
template <class Solver>
void check_honest(const Solver& solver, const TipTarget& target, const IkResult& result) {
  CHECK(solver.robot().within_limits(result.states));
  const Eigen::Isometry3d X_BE = oracle_tip_pose(solver.robot(), result.states, result.base);
  CHECK(result.position_error == Approx(position_error(X_BE, target)).margin(kAlgebraTolerance));
  CHECK(result.angle_error == Approx(angle_error(X_BE, target)).margin(kAlgebraTolerance));
  const bool within = result.position_error <= solver.options().position_tolerance &&
                      result.angle_error <= solver.options().angle_tolerance;
  CHECK(result.converged() == within);
  CHECK(result.iterations <= solver.options().max_iterations);
}

struct Outcome {
  double success_percent = 0.0;
  double mean_iterations = 0.0;  ///< of the successes
};

/// One cell of the published experiment: bends uniform up to `largest`, straight start, errors
/// recomputed with matrices.
template <class Solver>
Outcome published_experiment(Solver solver, double largest, int count) {
  Random random(2022);
  const ContinuumRobot& robot = solver.robot();
  int converged = 0;
  long iterations = 0;
  for (int k = 0; k < count; ++k) {
    const TipTarget target =
        target_of(robot, random_bends(random, robot, largest), TipTask::PositionAndDirection);
    const IkResult result = solver.solve(target, robot.straight());
    if (!result.converged()) continue;
    const Eigen::Isometry3d X_BE = oracle_tip_pose(robot, result.states);
    const bool met =
        position_error(X_BE, target) <= solver.options().position_tolerance + kAlgebraTolerance &&
        angle_error(X_BE, target) <= solver.options().angle_tolerance + kAlgebraTolerance &&
        robot.within_limits(result.states);
    REQUIRE(met);
    ++converged;
    iterations += result.iterations;
  }
  return {100.0 * converged / count, converged > 0 ? double(iterations) / converged : 0.0};
}

template <class Options>
void law_honest(const Options& options, unsigned seed, auto make) {
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, random.integer(1, 6));
  const BaseState base{random.uniform(0.0, 0.2), random.angle()};
  const TipTask task = seed % 2 == 0 ? TipTask::Position : TipTask::PositionAndDirection;
  auto solver = make(robot, options);
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

/// A rotated target (or a spun base) turns the solution; scaled lengths and a fed base leave its
/// bends.
template <class Options>
void law_symmetries(Options options, unsigned seed, auto make) {
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
  auto solver = make(robot, options);
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
  auto second = make(robot, options);
  same_bends(second.solve(rotated, robot.straight()), a);
  same_bends(second.solve(rotated, robot.straight(), {.spin = a}), 0.0);

  TipTarget fed = target;
  fed.X_BG.translation().z() += 0.5;
  same_bends(second.solve(fed, robot.straight(), {.feed = 0.5}), 0.0);

  TipTarget scaled = target;
  scaled.X_BG.translation() *= 8.0;
  options.position_tolerance *= 8.0;
  auto third = make(large, options);
  same_bends(third.solve(scaled, large.straight()), 0.0);
}

template <class Options>
void law_degenerate_targets(Options options, auto make) {
  options.max_iterations = 40;
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
    auto solver = make(robot, options);
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

template <class Options>
void law_thousand_sections(Options options, auto make) {
  options.max_iterations = 30;
  const ContinuumRobot robot = arc_robot(ContinuumRobot::kMaxSections, 1.0);
  auto solver = make(robot, options);
  TipTarget target;
  target.task = TipTask::PositionAndDirection;
  target.X_BG.translation() = Eigen::Vector3d(30.0, -20.0, 70.0);
  check_honest(solver, target, solver.solve(target, robot.straight()));
}

template <class Options>
void law_best_iterate(Options options, auto make) {
  Random random(11);
  const ContinuumRobot robot = arc_robot(3, 100 * kDegree);
  for (int k = 0; k < 20; ++k) {
    const TipTarget target =
        target_of(robot, random_bends(random, robot, 2.0), TipTask::PositionAndDirection);
    double previous = std::numeric_limits<double>::infinity();
    for (const int budget : {1, 2, 4, 8, 16, 32, 64}) {
      options.max_iterations = budget;
      auto solver = make(robot, options);
      const IkResult result = solver.solve(target, robot.straight());
      const double score = std::max(result.position_error / options.position_tolerance,
                                    result.angle_error / options.angle_tolerance);
      CHECK(score <= previous * (1 + 1e-9) + 1e-9);
      previous = score;
    }
  }
}

template <class Options>
void law_refusals(const Options& options, auto make) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ContinuumRobot robot = plain_robot();
  auto solver = make(robot, options);
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

/// Same arguments, same bits, whatever was solved before; nothing from the heap; and a start that
/// is the solver's own solution.
template <class Options>
void law_pure(const Options& options, auto make) {
  Random random(5);
  for (const ContinuumRobot& robot : {plain_robot(), mixed_robot(), table_robot()}) {
    auto used = make(robot, options), fresh = make(robot, options);
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

/// A target that moves in small steps is followed from solution to solution; returns the most
/// iterations of one step.
template <class Options>
int most_iterations_following(const Options& options, auto make) {
  const ContinuumRobot robot = plain_robot();
  auto solver = make(robot, options);
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
  return most;
}

}  // namespace tendril::test
