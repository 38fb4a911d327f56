#include "bench/published/cell.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "bench/published/mobile_cell.hpp"
#include "tendril/avoidance/obstacle_solver.hpp"
#include "tendril/ik/batch.hpp"
#include "tendril/ik/half_plane_grid.hpp"
#include "tendril/ik/published/section_polynomial.hpp"
#include "tendril/ik/section_ik.hpp"
#include "tendril/ik/start_pose.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/plan_file/plan_result.hpp"

namespace tendril::tables {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Time of deterministic work [s]: the shortest of three, as the others were delayed by other
/// programs.
template <class Work>
double timed(const Work& work) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point begin = Clock::now();
    work();
    shortest = std::min(shortest, seconds(Clock::now() - begin));
  }
  return shortest;
}

/// Seed of block `block` of a row: blocks are drawn independently of each other.
SplitMix64 block_random(std::uint64_t seed, std::int64_t block) {
  const std::uint64_t row = SplitMix64(seed).next();
  return SplitMix64(SplitMix64(row + static_cast<std::uint64_t>(block)).next());
}

TipTarget draw_target(const ContinuumRobot& robot, TipTask task, SplitMix64& random,
                      std::span<SectionState> states) {
  const BaseState base = random_base(robot, random);
  random_states(robot, random, states);
  return {.X_BG = tip_pose(robot, states, base), .task = task};
}

AnySolver solver_for(const Method& method, const ContinuumRobot& robot,
                     const Tolerances& tolerances) {
  return make_solver(method.name, robot,
                     {.max_iterations = method.max_iterations,
                      .position_tolerance = tolerances.position,
                      .angle_tolerance = tolerances.angle});
}

/// Repeats the timing of solves that took much longer than most successes of their block and keeps
/// the shorter time: the work of a solve is deterministic, so a difference is due to other
/// programs.
void time_slow_ones_again(const AnySolver& solver, std::span<const TipTarget> targets,
                          std::span<BatchResult> results) {
  constexpr double kSlow = 4.0;  // times the median
  std::vector<double> times;
  for (const BatchResult& result : results) {
    if (result.converged()) times.push_back(result.time);
  }
  if (times.empty()) return;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::vector<std::size_t> slow;
  std::vector<TipTarget> slow_targets;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (!results[k].converged() || results[k].time <= kSlow * *middle) continue;
    slow.push_back(k);
    slow_targets.push_back(targets[k]);
  }
  std::vector<BatchResult> again(slow.size());
  std::vector<SectionState> states(slow.size() *
                                   static_cast<std::size_t>(solver.robot().section_count()));
  solve_batch(solver, slow_targets, again, states, {.threads = 1, .measure_time = true});
  for (std::size_t i = 0; i < slow.size(); ++i)
    results[slow[i]].time = std::min(results[slow[i]].time, again[i].time);
}

void solve_and_add(const AnySolver& solver, std::span<const TipTarget> targets,
                   const Tolerances& tolerances, Measurement& measurement) {
  const auto sections = static_cast<std::size_t>(solver.robot().section_count());
  std::vector<BatchResult> results(targets.size());
  std::vector<SectionState> states(targets.size() * sections);
  solve_batch(solver, targets, results, states, {.threads = 1, .measure_time = true});
  time_slow_ones_again(solver, targets, results);
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const BatchResult& result = results[k];
    Outcome outcome{.claimed = result.converged(),
                    .iterations = result.iterations,
                    .time = result.time,
                    .time_for_mean = result.time};
    verify(solver.robot(), SectionStates(states).subspan(k * sections, sections), result.base,
           targets[k], tolerances, outcome);
    measurement.add(outcome);
  }
}

// ---- tips --------------------------------------------------------------------------------------

class TipCell final : public Cell {
 public:
  TipCell(const TipProblem& problem, const Method& method, std::uint64_t seed, std::int64_t samples)
      : problem_(problem), method_(method), seed_(seed), samples_(samples) {}

  std::int64_t block_count() const override { return (samples_ + kBlock - 1) / kBlock; }

  void run_block(std::int64_t block) override {
    std::call_once(
        made_, [&] { solver_.emplace(solver_for(method_, problem_.robot, problem_.tolerances)); });
    std::array<TipTarget, kBlock> storage;
    const std::int64_t first = block * kBlock;
    const std::span targets(storage.data(),
                            static_cast<std::size_t>(std::min(kBlock, samples_ - first)));
    draw_targets(problem_, seed_, first, targets);
    Measurement measurement;
    solve_and_add(*solver_, targets, problem_.tolerances, measurement);
    const std::scoped_lock lock(mutex_);
    measurement_.merge(measurement);
  }

  std::variant<Measurement, Coverage> result() override {
    solver_.reset();
    return std::move(measurement_);
  }

 private:
  const TipProblem& problem_;
  const Method& method_;
  std::uint64_t seed_;
  std::int64_t samples_;
  std::once_flag made_;
  std::optional<AnySolver> solver_;
  std::mutex mutex_;
  Measurement measurement_;
};

// ---- single sections ---------------------------------------------------------------------------

/// Least time between two readings of the clock, which a reading adds to the time of a solve.
double clock_cost() {
  double least = 1.0;
  for (int i = 0; i < 1000; ++i) {
    const Clock::time_point begin = Clock::now();
    least = std::min(least, seconds(Clock::now() - begin));
  }
  return least;
}

/// Polar coordinates of a target about the section's base axis, and the solve in the bend plane.
template <class Solve>
SectionState solve_in_plane(const Eigen::Vector3d& p, Solve&& solve, SectionIkResult& solution) {
  solution = solve(std::hypot(p.x(), p.y()), p.z());
  return {
      .theta = solution.theta, .phi = std::atan2(p.y(), p.x()), .extension = solution.extension};
}

/// A solve takes about as long as a reading of the clock. The mean is therefore measured over
/// rounds of all targets of the section between two readings; the quantiles are of single solves,
/// minus the time of a reading.
template <class Solve>
void measure_section(const ContinuumRobot& robot, std::span<const TipTarget> targets,
                     const Tolerances& tolerances, Solve&& solve, Measurement& measurement) {
  static const double reading = clock_cost();
  constexpr std::size_t kMinSolves = 50;  // in a round
  const std::size_t repeats = std::max<std::size_t>(1, kMinSolves / targets.size());
  SectionIkResult solution;
  double checksum = 0.0;  // keeps the rounds from being optimized away
  const auto run_round = [&] {
    const Clock::time_point begin = Clock::now();
    for (std::size_t r = 0; r < repeats; ++r) {
      for (const TipTarget& target : targets)
        checksum += solve_in_plane(target.position(), solve, solution).theta;
    }
    return seconds(Clock::now() - begin);
  };
  constexpr int kRounds = 5;  // the shortest is taken: the others were delayed by other programs
  double shortest = run_round();
  for (int i = 1; i < kRounds; ++i) shortest = std::min(shortest, run_round());
  const double mean = shortest / static_cast<double>(repeats * targets.size());
  for (const TipTarget& target : targets) {
    const Clock::time_point begin = Clock::now();
    const SectionState state = solve_in_plane(target.position(), solve, solution);
    const double time = seconds(Clock::now() - begin) - reading;
    Outcome outcome{.claimed = solution.reached && std::isfinite(checksum),
                    .iterations = solution.iterations,
                    .time = std::max(time, 0.0),
                    .time_for_mean = mean};
    const Eigen::Vector3d p_BE = tip_pose(robot, {&state, 1}).translation();
    outcome.position_error = (p_BE - target.position()).norm();
    outcome.angle_error =
        std::atan2(p_BE.cross(target.position()).norm(), p_BE.dot(target.position()));
    outcome.verified = within(tolerances, outcome.position_error, outcome.angle_error) &&
                       robot.within_limits({&state, 1});
    measurement.add(outcome);
  }
}

class SectionCell final : public Cell {
 public:
  SectionCell(const SectionProblem& problem, const Method& method, std::uint64_t seed,
              std::int64_t samples)
      : problem_(problem), method_(method), seed_(seed), samples_(samples) {}

  std::int64_t block_count() const override {
    return std::min<std::int64_t>(SectionProblem::kSections, samples_);
  }

  void run_block(std::int64_t block) override {
    SplitMix64 random = block_random(seed_, block);
    const ContinuumRobot robot({random_section(problem_, random)});
    const std::int64_t count =
        samples_ * (block + 1) / block_count() - samples_ * block / block_count();
    std::vector<TipTarget> targets(static_cast<std::size_t>(count));
    SectionState state;
    for (TipTarget& target : targets)
      target = draw_target(robot, TipTask::Position, random, {&state, 1});
    Measurement measurement;
    measure(robot, targets, measurement);
    const std::scoped_lock lock(mutex_);
    measurement_.merge(measurement);
  }

  std::variant<Measurement, Coverage> result() override { return std::move(measurement_); }

 private:
  void measure(const ContinuumRobot& robot, std::span<const TipTarget> targets,
               Measurement& measurement) const {
    const SectionShape shape(robot.section(0));
    const SectionIkOptions options{.max_iterations = method_.max_iterations,
                                   .position_tolerance = problem_.tolerances.position,
                                   .angle_tolerance = problem_.tolerances.angle};
    if (method_.name == "section-iterative") {
      const auto solve = [&](double rho, double z) {
        return solve_section_iterative(shape, rho, z, options);
      };
      measure_section(robot, targets, problem_.tolerances, solve, measurement);
    } else if (method_.name == "section-newton") {
      const auto solve = [&](double rho, double z) {
        return solve_section_newton(shape, rho, z, options);
      };
      measure_section(robot, targets, problem_.tolerances, solve, measurement);
    } else if (method_.name == "section-polynomial") {
      const SectionPolynomial polynomial(shape);
      const auto solve = [&](double rho, double z) { return polynomial.solve(rho, z, options); };
      measure_section(robot, targets, problem_.tolerances, solve, measurement);
    } else {
      solve_and_add(solver_for(method_, robot, problem_.tolerances), targets, problem_.tolerances,
                    measurement);
    }
  }

  const SectionProblem& problem_;
  const Method& method_;
  std::uint64_t seed_;
  std::int64_t samples_;
  std::mutex mutex_;
  Measurement measurement_;
};

// ---- clutter -----------------------------------------------------------------------------------

class ClutterCell final : public Cell {
 public:
  ClutterCell(const ClutterRow& row, const Method& method, std::int64_t samples)
      : row_(row), method_(method), samples_(samples), robot_(clutter_robot(row.kind.sections)) {}

  std::int64_t block_count() const override { return (samples_ + kProblems - 1) / kProblems; }

  void run_block(std::int64_t block) override {
    Measurement measurement;
    if (avoids()) {
      ObstacleOptions options{.position_tolerance = row_.tolerances.position,
                              .angle_tolerance = row_.tolerances.angle,
                              .body_radius = row_.kind.body_radius};
      if (method_.name == "avoiding-reach") options.method = ObstacleMethod::Reach;
      if (method_.max_iterations > 0) options.max_iterations = method_.max_iterations;
      ObstacleSolver solver(robot_, options);
      measure(block, measurement, [&](const ClutterProblem& problem, SectionStates start) {
        const ObstacleResult result = solver.solve(problem.target, start, problem.obstacles);
        return Solution{result.reached(), result.iterations, result.states};
      });
    } else {
      AnySolver solver = solver_for(method_, robot_, row_.tolerances);
      measure(block, measurement, [&](const ClutterProblem& problem, SectionStates start) {
        const IkResult result = solver.solve(problem.target, start);
        return Solution{result.converged(), result.iterations, result.states};
      });
    }
    const std::scoped_lock lock(mutex_);
    measurement_.merge(measurement);
  }

  std::variant<Measurement, Coverage> result() override { return std::move(measurement_); }

 private:
  static constexpr std::int64_t kProblems = 16;  // in a block

  [[nodiscard]] bool avoids() const {
    return method_.name == "obstacles" || method_.name == "avoiding-reach";
  }

  struct Solution {
    bool claimed;
    int iterations;
    SectionStates states;
  };

  template <class Solve>
  void measure(std::int64_t block, Measurement& measurement, Solve&& solve) const {
    std::vector<SectionState> start(static_cast<std::size_t>(robot_.section_count()));
    const std::int64_t end = std::min(samples_, (block + 1) * kProblems);
    for (std::int64_t k = block * kProblems; k < end; ++k) {
      const ClutterProblem problem =
          clutter_problem(robot_, row_.kind, static_cast<std::uint64_t>(k));
      straight_start(robot_, problem.target, {}, start);
      const Clock::time_point begin = Clock::now();
      const Solution solution = solve(problem, start);
      const double time = seconds(Clock::now() - begin);
      Outcome outcome{.claimed = solution.claimed,
                      .iterations = solution.iterations,
                      .time = time,
                      .time_for_mean = time};
      verify(robot_, solution.states, {}, problem.target, row_.tolerances, outcome);
      const bool free = is_free(problem.obstacles, solution.states);
      outcome.verified = outcome.verified && free;
      // Other methods ignore the spheres: their solutions do not claim to be free of collisions.
      if (!avoids()) outcome.claimed = outcome.claimed && free;
      measurement.add(outcome);
    }
  }

  /// Tells whether the body is free, by dense sampling of the backbone, not by the solver's own
  /// clearance.
  [[nodiscard]] bool is_free(const Obstacles& obstacles, SectionStates states) const {
    constexpr int kPoints = 50;              // in a section
    constexpr double kTouchDistance = 1e-6;  // [m]
    for (int i = 0; i < robot_.section_count(); ++i) {
      for (int k = 1; k <= kPoints; ++k) {
        const Eigen::Vector3d p =
            backbone_pose(robot_, states, {}, i, static_cast<double>(k) / kPoints).translation();
        if (obstacles.nearest(p).distance < row_.kind.body_radius - kTouchDistance) return false;
      }
    }
    return true;
  }

  const ClutterRow& row_;
  const Method& method_;
  std::int64_t samples_;
  ContinuumRobot robot_;
  std::mutex mutex_;
  Measurement measurement_;
};

// ---- plans with contact ------------------------------------------------------------------------

class WrapCell final : public Cell {
 public:
  WrapCell(const WrapRow& row, std::int64_t samples) : plan_(*row.plan), samples_(samples) {}

  std::int64_t block_count() const override { return (samples_ + kBlock - 1) / kBlock; }

  void run_block(std::int64_t block) override {
    Measurement measurement;
    for (std::int64_t k = block * kBlock; k < std::min(samples_, (block + 1) * kBlock); ++k) {
      PlanResult found;
      const double time = timed([&] { found = solve_plan(plan_); });
      measurement.solutions = static_cast<int>(found.paths.size());
      measurement.add({.claimed = !found.paths.empty(),
                       .verified = all_end_at_target(found),
                       .iterations = static_cast<int>(found.arcs_tried),
                       .time = time,
                       .time_for_mean = time});
    }
    const std::scoped_lock lock(mutex_);
    measurement_.merge(measurement);
  }

  std::variant<Measurement, Coverage> result() override { return std::move(measurement_); }

 private:
  [[nodiscard]] bool all_end_at_target(const PlanResult& found) const {
    constexpr double kTolerance = 1e-9;  // [m]
    return std::all_of(found.paths.begin(), found.paths.end(), [&](const ContactPath& path) {
      const PlanarArc& last = path.steps.back().arc;
      return (last.end().position - *plan_.target).norm() <= kTolerance;
    });
  }

  const PlanFile& plan_;
  std::int64_t samples_;
  std::mutex mutex_;
  Measurement measurement_;
};

// ---- coverage ----------------------------------------------------------------------------------

constexpr double kCellSize = 1e-3;   // [m]
constexpr int kColumns = 86;         // rho from 0
constexpr int kRows = 104;           // z from kLowestZ
constexpr double kLowestZ = -3e-3;   // [m]
constexpr double kLeastTime = 1e-9;  // [s]: a clock may not resolve a solve

constexpr HalfPlaneGrid kGrid{.edge = kCellSize, .lowest_z = kLowestZ};

bool is_in_window(const GridCell& cell) {
  return cell.column < kColumns && cell.row >= 0 && cell.row < kRows;
}

}  // namespace

class SharedRow {
 public:
  SharedRow(const TipProblem& problem, std::uint64_t seed, std::int64_t samples)
      : problem_(problem), seed_(seed), samples_(samples) {}

  /// Tells whether a position target lies in the cell.
  [[nodiscard]] bool hit(int column, int row) {
    std::call_once(drawn_, [&] { draw(); });
    return hits_[index(column, row)];
  }

 private:
  static std::size_t index(int column, int row) {
    return static_cast<std::size_t>(row * kColumns + column);
  }
  void draw() {
    hits_.assign(index(0, kRows), false);
    std::array<TipTarget, kBlock> storage;
    for (std::int64_t first = 0; first < samples_; first += kBlock) {
      const std::span targets(storage.data(),
                              static_cast<std::size_t>(std::min(kBlock, samples_ - first)));
      draw_targets(problem_, seed_, first, targets);
      for (const TipTarget& target : targets) {
        const GridCell cell = kGrid.cell_of(target.position());
        if (is_in_window(cell)) hits_[index(cell.column, cell.row)] = true;
      }
    }
  }

  const TipProblem& problem_;
  std::uint64_t seed_;
  std::int64_t samples_;
  std::once_flag drawn_;
  std::vector<bool> hits_;
};

namespace {

class CoverageCell final : public Cell {
 public:
  CoverageCell(const TipProblem& problem, const Method& method, std::int64_t samples,
               std::shared_ptr<SharedRow> monte_carlo)
      : problem_(problem), method_(method), monte_carlo_(std::move(monte_carlo)) {
    coverage_.stride = coverage_stride(samples);
    coverage_.columns = (kColumns + coverage_.stride - 1) / coverage_.stride;
    coverage_.rows = (kRows + coverage_.stride - 1) / coverage_.stride;
    coverage_.map.resize(static_cast<std::size_t>(coverage_.columns * coverage_.rows));
    coverage_.times.resize(coverage_.map.size());
  }

  /// A block is a row of cells; each writes its own part of the map.
  std::int64_t block_count() const override { return coverage_.rows; }

  void run_block(std::int64_t block) override {
    std::call_once(
        made_, [&] { solver_.emplace(solver_for(method_, problem_.robot, problem_.tolerances)); });
    AnySolver solver = *solver_;
    const int row = static_cast<int>(block) * coverage_.stride;
    for (int i = 0; i < coverage_.columns; ++i) {
      const int column = i * coverage_.stride;
      const auto at = static_cast<std::size_t>(block * coverage_.columns + i);
      coverage_.times[at] = time_to_reach(solver, column, row).value_or(0.0);
      const bool inverse = coverage_.times[at] > 0.0;
      const bool drawn = monte_carlo_->hit(column, row);
      coverage_.map[at] = inverse ? (drawn ? '1' : '2') : (drawn ? '3' : '0');
    }
  }

  std::variant<Measurement, Coverage> result() override {
    solver_.reset();
    return std::move(coverage_);
  }

 private:
  /// Time of the solve that puts the tip into the cell, for the first of five targets in it for
  /// which one does: at its center and near its corners [s], > 0.
  [[nodiscard]] std::optional<double> time_to_reach(AnySolver& solver, int column, int row) const {
    const double rho = column * kCellSize, z = kLowestZ + row * kCellSize;
    const double nearest_z = std::max({z, -(z + kCellSize), 0.0});
    if (std::hypot(rho, nearest_z) > problem_.robot.max_length() + kCellSize)
      return std::nullopt;  // outside the extended arm's reach
    const GridCell cell{.row = row, .column = column};
    std::vector<SectionState> start(static_cast<std::size_t>(problem_.robot.section_count()));
    for (const Eigen::Vector3d& place : kGrid.places(cell)) {
      TipTarget target;
      target.X_BG.translation() = place;
      straight_start(problem_.robot, target, {}, start);
      const IkResult solution = solver.solve(target, start);
      const Eigen::Vector3d tip =
          tip_pose(problem_.robot, solution.states, solution.base).translation();
      if (kGrid.cell_of(tip) == cell && problem_.robot.within_limits(solution.states))
        return std::max(kLeastTime, timed([&] { (void)solver.solve(target, start); }));
    }
    return std::nullopt;
  }

  const TipProblem& problem_;
  const Method& method_;
  std::shared_ptr<SharedRow> monte_carlo_;
  std::once_flag made_;
  std::optional<AnySolver> solver_;
  Coverage coverage_;
};

}  // namespace

void draw_targets(const TipProblem& problem, std::uint64_t seed, std::int64_t first,
                  std::span<TipTarget> targets) {
  SplitMix64 random = block_random(seed, first / kBlock);
  std::vector<SectionState> states(static_cast<std::size_t>(problem.target_robot.section_count()));
  for (TipTarget& target : targets)
    target = draw_target(problem.target_robot, problem.task, random, states);
}

int coverage_stride(std::int64_t samples) noexcept {
  constexpr double kAllCells = 50000.0;
  return std::max(1, static_cast<int>(std::lround(std::sqrt(
                         kAllCells / static_cast<double>(std::max<std::int64_t>(1, samples))))));
}

std::shared_ptr<SharedRow> share_row(const Row& row, std::int64_t samples) {
  const auto* coverage = std::get_if<CoverageProblem>(&row.problem);
  if (coverage == nullptr) return nullptr;
  return std::make_shared<SharedRow>(coverage->problem, row.seed, samples);
}

std::unique_ptr<Cell> make_cell(const Row& row, const Method& method, std::int64_t samples,
                                const std::shared_ptr<SharedRow>& shared) {
  if (const auto* tip = std::get_if<TipProblem>(&row.problem))
    return std::make_unique<TipCell>(*tip, method, row.seed, samples);
  if (const auto* section = std::get_if<SectionProblem>(&row.problem))
    return std::make_unique<SectionCell>(*section, method, row.seed, samples);
  if (const auto* mobile = std::get_if<MobileRow>(&row.problem))
    return make_mobile_cell(*mobile, method, row.seed, samples);
  if (const auto* clutter = std::get_if<ClutterRow>(&row.problem))
    return std::make_unique<ClutterCell>(*clutter, method, samples);
  if (const auto* wrap = std::get_if<WrapRow>(&row.problem))
    return std::make_unique<WrapCell>(*wrap, samples);
  return std::make_unique<CoverageCell>(std::get<CoverageProblem>(row.problem).problem, method,
                                        samples, shared);
}

}  // namespace tendril::tables
