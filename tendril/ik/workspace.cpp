#include "tendril/ik/workspace.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <span>
#include <utility>

#include "tendril/ik/batch.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using std::numbers::pi;

constexpr int kTimings = 3;             // of a solve, of which the least is kept
constexpr std::size_t kBlock = 4096;    // targets solved at a time
constexpr double kSmallestPart = 1e-6;  // of the arm's length: least extent of the window
constexpr double kSlack = 1e-6;         // of the extent, so that its ends are inside cells
constexpr const char *kSampling = "random poses", *kSolving = "cells", *kTurning = "directions";

void require(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw ModelError(std::string("workspace: ") + name + " = " + std::to_string(value) +
                     ", must be in [" + std::to_string(low) + ", " + std::to_string(high) + "]");
}

/// A pose with every section straight, at its bend limit or in between, in one plane.
void extreme_states(const ContinuumRobot& robot, SplitMix64& random,
                    std::span<SectionState> states) {
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    SectionState& state = states[static_cast<std::size_t>(i)];
    const auto part = [&] { return std::clamp(random.uniform(-0.5, 1.5), 0.0, 1.0); };
    state.extension = part() * section.variable_length();
    state.theta = part() * section.bend_angle_limit_at(state.extension);
    state.phi = random.uniform() < 0.5 ? 0.0 : pi;
  }
}

bool is_stopped(const WorkspaceOptions& options) {
  return options.stop != nullptr && options.stop->load();
}

void tell(const WorkspaceOptions& options, const char* what, double part) {
  if (options.on_progress) options.on_progress(what, part);
}

/// Random poses: every second one as published, the others extreme. At least one block of them.
template <class Use>
void for_each_sample(const ContinuumRobot& robot, const WorkspaceOptions& options, const Use& use) {
  SplitMix64 random(options.seed);
  std::vector<SectionState> states(static_cast<std::size_t>(robot.section_count()));
  for (std::int64_t k = 0; k < options.samples; ++k) {
    BaseState base = random_base(robot, random);
    base.spin = 0.0;  // it turns the tip about the axis of the set
    if (k % 2 == 0) {
      random_states(robot, random, states);
    } else {
      extreme_states(robot, random, states);
    }
    use(states, base, tip_pose(robot, states, base).translation());
    if ((k + 1) % static_cast<std::int64_t>(kBlock) != 0) continue;
    tell(options, kSampling, static_cast<double>(k) / static_cast<double>(options.samples));
    if (is_stopped(options)) return;
  }
}

/// Cells whose longer side has the desired number.
HalfPlaneGrid grid_for(const ContinuumRobot& robot, const WorkspaceOptions& options) {
  double rho = 0.0, low = std::numeric_limits<double>::infinity(), high = -low;
  for_each_sample(robot, options, [&](SectionStates, const BaseState&, const Eigen::Vector3d& p) {
    rho = std::max(rho, hypotenuse(p.x(), p.y()));
    low = std::min(low, p.z());
    high = std::max(high, p.z());
  });
  const double extent = std::max({rho, high - low, kSmallestPart * robot.max_length()});
  return {.edge = (1.0 + kSlack) * extent / options.cells, .lowest_z = low - 0.5 * kSlack * extent};
}

/// The search for reachable cells.
class Search {
 public:
  Search(const ContinuumRobot& robot, const WorkspaceOptions& options)
      : robot_(robot),
        options_(options),
        sections_(static_cast<std::size_t>(robot.section_count())),
        grid_(grid_for(robot, options)),
        solver_(make_solver(solver_name(), robot, options.solving)) {}

  Workspace run() {
    sample();
    std::vector<GridCell> wave;
    for (const auto& [cell, found] : found_) wave.push_back(cell);
    while (!wave.empty() && !is_stopped(options_)) {
      tell(options_, kSolving,
           static_cast<double>(tried_.size()) / static_cast<double>(tried_.size() + wave.size()));
      wave = beside(try_cells(wave));
    }
    find_dexterity();
    return result();
  }

 private:
  [[nodiscard]] std::string solver_name() const {
    return options_.solver.empty() ? solver_infos().front().name : options_.solver;
  }
  void sample() {
    for_each_sample(robot_, options_,
                    [&](SectionStates states, const BaseState& base, const Eigen::Vector3d& p) {
                      const GridCell cell = grid_.cell_of(p);
                      WorkspaceCell& found = found_[cell];
                      if (found.sampled) return;
                      found.cell = cell;
                      found.sampled = true;
                      place_tip(found, p, base, states);
                    });
  }

  static void place_tip(WorkspaceCell& found, const Eigen::Vector3d& tip, const BaseState& base,
                        SectionStates states) {
    found.tip = tip;
    found.base = base;
    found.states.assign(states.begin(), states.end());
  }

  /// Solves for the places in the cells, center first, and returns the cells that are reached.
  std::vector<GridCell> try_cells(const std::vector<GridCell>& wave) {
    tried_.insert(wave.begin(), wave.end());
    std::vector<GridCell> open = wave;
    for (std::size_t place = 0; place < HalfPlaneGrid().places({}).size() && !open.empty(); ++place)
      open = try_place(open, place);
    std::vector<GridCell> reached;
    for (const GridCell& cell : wave) {
      if (found_.contains(cell)) reached.push_back(cell);
    }
    return reached;
  }

  /// Solves for one place in each of the cells, and returns those where that failed.
  std::vector<GridCell> try_place(const std::vector<GridCell>& cells, std::size_t place) {
    std::vector<GridCell> open;
    for (std::size_t first = 0; first < cells.size() && !is_stopped(options_); first += kBlock) {
      const std::span block =
          std::span(cells).subspan(first, std::min(kBlock, cells.size() - first));
      std::vector<TipTarget> targets(block.size());
      for (std::size_t k = 0; k < block.size(); ++k)
        targets[k].X_BG.translation() = grid_.places(block[k])[place];
      solve(solver_, targets);
      for (std::size_t k = 0; k < block.size(); ++k) {
        if (!keep(block[k], k, place == 0)) open.push_back(block[k]);
      }
    }
    return open;
  }

  void solve(const AnySolver& solver, std::span<const TipTarget> targets) {
    results_.resize(targets.size());
    states_.resize(targets.size() * sections_);
    const BatchOptions options{.threads = options_.threads, .measure_time = options_.measure_time};
    solve_batch(solver, targets, results_, states_, options);
    if (!options_.measure_time) return;
    std::vector<std::size_t> met;
    std::vector<TipTarget> repeated;
    for (std::size_t k = 0; k < targets.size(); ++k) {
      if (!results_[k].converged()) continue;
      met.push_back(k);
      repeated.push_back(targets[k]);
    }
    std::vector<BatchResult> again(met.size());
    std::vector<SectionState> states(met.size() * sections_);
    for (int i = 1; i < kTimings; ++i) {
      solve_batch(solver, repeated, again, states, options);
      for (std::size_t k = 0; k < met.size(); ++k)
        results_[met[k]].time = std::min(results_[met[k]].time, again[k].time);
    }
  }

  /// Takes solution `k` if it puts the tip into the cell; tells whether it met its target.
  bool keep(const GridCell& cell, std::size_t k, bool is_center) {
    const BatchResult& result = results_[k];
    const SectionStates states = SectionStates(states_).subspan(k * sections_, sections_);
    const Eigen::Vector3d tip = tip_pose(robot_, states, result.base).translation();
    const bool inside = grid_.cell_of(tip) == cell && robot_.within_limits(states);
    if (!inside) return false;
    WorkspaceCell& found = found_[cell];
    found.cell = cell;
    found.solved = true;
    place_tip(found, tip, result.base, states);
    if (!result.converged()) return false;
    found.converged = true;
    found.center = is_center;
    found.iterations = result.iterations;
    found.time = result.time;
    return true;
  }

  /// Cells beside these that were not tried yet.
  [[nodiscard]] std::vector<GridCell> beside(const std::vector<GridCell>& reached) const {
    std::set<GridCell> next;
    for (const GridCell& cell : reached) {
      for (int row = cell.row - 1; row <= cell.row + 1; ++row) {
        for (int column = std::max(0, cell.column - 1); column <= cell.column + 1; ++column) {
          if (!tried_.contains({row, column})) next.insert({row, column});
        }
      }
    }
    return {next.begin(), next.end()};
  }

  /// Tries all directions at the tip of each cell's pose.
  void find_dexterity() {
    if (options_.directions == 0) return;
    SolverOptions solving = options_.solving;
    if (solving.max_iterations == 0) solving.max_iterations = kDirectionIterations;
    const AnySolver solver = make_solver(solver_name(), robot_, solving);
    const std::vector<Eigen::Vector3d> directions = half_sphere_directions(options_.directions);
    const std::size_t at_once = std::max<std::size_t>(1, kBlock / directions.size());
    std::vector<WorkspaceCell*> cells;
    for (auto& [cell, found] : found_) cells.push_back(&found);
    for (std::size_t first = 0; first < cells.size() && !is_stopped(options_); first += at_once) {
      tell(options_, kTurning, static_cast<double>(first) / static_cast<double>(cells.size()));
      turn_tips(solver, directions,
                std::span(cells).subspan(first, std::min(at_once, cells.size() - first)));
    }
  }

  void turn_tips(const AnySolver& solver, const std::vector<Eigen::Vector3d>& directions,
                 std::span<WorkspaceCell* const> cells) {
    std::vector<TipTarget> targets;
    for (const WorkspaceCell* const cell : cells) {
      const Eigen::Vector3d tip(hypotenuse(cell->tip.x(), cell->tip.y()), 0.0, cell->tip.z());
      for (const Eigen::Vector3d& direction : directions) {
        TipTarget target{.task = TipTask::PositionAndDirection};
        target.X_BG.translation() = tip;
        target.X_BG.linear() =
            Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitZ(), direction)
                .toRotationMatrix();
        targets.push_back(target);
      }
    }
    results_.resize(targets.size());
    states_.resize(targets.size() * sections_);
    solve_batch(solver, targets, results_, states_, {.threads = options_.threads});
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto begin = results_.begin() + static_cast<std::ptrdiff_t>(i * directions.size());
      const auto met = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(directions.size()),
                                     [](const BatchResult& result) { return result.converged(); });
      cells[i]->dexterity = static_cast<double>(met) / static_cast<double>(directions.size());
    }
  }

  Workspace result() {
    Workspace workspace;
    workspace.grid = grid_;
    workspace.interrupted = is_stopped(options_);
    workspace.first_row = found_.begin()->first.row;  // cells are ordered by rows
    for (auto& [cell, found] : found_) {
      workspace.rows = std::max(workspace.rows, cell.row - workspace.first_row + 1);
      workspace.columns = std::max(workspace.columns, cell.column + 1);
      if (found.center) {
        const double square = grid_.edge * grid_.edge;
        workspace.area += square;
        workspace.volume += 2.0 * pi * grid_.rho(cell.column) * square;
      }
      workspace.cells.push_back(std::move(found));
    }
    return workspace;
  }

  const ContinuumRobot& robot_;
  const WorkspaceOptions& options_;
  std::size_t sections_;
  HalfPlaneGrid grid_;
  AnySolver solver_;
  std::map<GridCell, WorkspaceCell> found_;
  std::set<GridCell> tried_;
  std::vector<BatchResult> results_;
  std::vector<SectionState> states_;
};

}  // namespace

std::vector<Eigen::Vector3d> half_sphere_directions(int count) {
  std::vector<Eigen::Vector3d> directions;
  for (int k = 0; k < count; ++k) {
    const double z = 1.0 - (2.0 * k + 1.0) / count, radius = std::sqrt(1.0 - z * z);
    const double turns = (k + 0.5) / std::numbers::phi;
    const double azimuth = pi * (turns - std::floor(turns));
    directions.emplace_back(radius * std::cos(azimuth), radius * std::sin(azimuth), z);
  }
  return directions;
}

Workspace workspace_of(const ContinuumRobot& robot, const WorkspaceOptions& options) {
  require("cells", options.cells, 4, 2000);
  require("samples", options.samples, 100, 1'000'000'000);
  require("directions", options.directions, 0, 1000);
  require("threads", options.threads, 0, std::numeric_limits<int>::max());
  return Search(robot, options).run();
}

}  // namespace tendril
