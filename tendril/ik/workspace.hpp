#pragma once

#include <Eigen/Core>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tendril/ik/any_solver.hpp"
#include "tendril/ik/half_plane_grid.hpp"

namespace tendril {

struct WorkspaceOptions {
  int cells = 60;                  ///< along the longer side of the reachable set, in [4, 2000]
  std::int64_t samples = 200'000;  ///< random poses, in [100, 1e9]
  int directions = 32;         ///< of the tip, tried in every cell, in [0, 1000]; 0: no dexterity
  std::string solver = {};     ///< one of `solver_infos`; empty: the default
  SolverOptions solving = {};  ///< of the solver; a target with a direction has at most
                               ///< `kDirectionIterations` unless max_iterations is set
  std::uint64_t seed = 1;      ///< of the random poses
  int threads = 0;             ///< >= 0; 0: as many as the machine has
  bool measure_time = false;   ///< reads clocks: `WorkspaceCell::time`
  const std::atomic<bool>* stop = nullptr;  ///< the result is cut short soon after it becomes true
  /// Called from time to time with what is being done and the fraction of it that is done, 0..1.
  std::function<void(const char* what, double part)> on_progress = {};
};

inline constexpr int kDirectionIterations = 500;

/// A cell in which the tip can be, with a pose that puts it there.
struct WorkspaceCell {
  GridCell cell;
  bool sampled = false;    ///< a random pose has its tip in the cell
  bool solved = false;     ///< the solver's answer to a target in the cell has its tip in the cell
  bool converged = false;  ///< and meets the target
  bool center = false;     ///< and that target is the cell's center
  int iterations = 0;      ///< of the solve, if converged
  double time = 0.0;       ///< of the solve [s], if converged and measured: the least of three
  double dexterity = 0.0;  ///< fraction of the directions that the tip can have, at this pose's tip
  Eigen::Vector3d tip{0.0, 0.0, 0.0};  ///< of the pose, in the robot's base frame [m]
  BaseState base;                      ///< of the pose
  std::vector<SectionState> states;    ///< of the pose, one per section, inside the limits
};

/// Positions that a robot's tip reaches, cell by cell.
struct Workspace {
  HalfPlaneGrid grid;
  int first_row = 0;                 ///< the lowest one with a cell; may be negative
  int rows = 0, columns = 0;         ///< of the smallest window with all cells, from the axis on
  std::vector<WorkspaceCell> cells;  ///< reached, in order
  double area = 0.0;    ///< of the set in the half-plane [m^2], by the cells with a reached center
  double volume = 0.0;  ///< of the body of revolution [m^3], likewise
  bool interrupted = false;
};

/// Reachable positions of the tip, with the base's feed, all bends and lengths inside their limits.
///
/// Random poses give the first cells; those of the sections at their limits and in one plane are
/// among them, because they bound the set. The solver then tries the cells beside reached ones,
/// each with up to five targets, until none is left: the set is connected, so no cell is missed
/// unless the solver fails in all five. [FABRIKx] sec. 3.1.2, table 3.5, figures 3.8, 3.9
///
/// Dexterity is the fraction of evenly distributed tip directions for which the solver meets both
/// position and direction: a lower bound, as the solver may fail.
///
/// The result, except times, is bitwise identical for any number of threads. Throws ModelError for
/// options out of range.
[[nodiscard]] Workspace workspace_of(const ContinuumRobot& robot,
                                     const WorkspaceOptions& options = {});

/// `count` evenly distributed unit vectors with y >= 0: with their mirror images, which a tip in
/// the plane y = 0 reaches alike, they fill the sphere.
[[nodiscard]] std::vector<Eigen::Vector3d> half_sphere_directions(int count);

}  // namespace tendril
