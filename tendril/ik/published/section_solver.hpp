#pragma once

#include <array>

#include "tendril/ik/ik_result.hpp"
#include "tendril/ik/section_reach.hpp"

namespace tendril {

struct SectionSolverOptions {        ///< every field has a working default
  int max_iterations = 50;           ///< passes of the method, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0; of the chord angle in the passes
  SectionSolve method = SectionSolve::Newton;
  bool feed_base = false;  ///< the feed is solved for, in [0, feed_limit] of the robot's base: by
                           ///< Algorithm I as (2.18)-(2.23) say, else the least that there is
};

/// The single-section methods as a solver of a robot that has one section: the bend direction of
/// the target's position, then bend, length and feed in that plane. A desired direction is compared
/// with, not solved for: it follows from the position. A section of fixed length points its chord
/// at the target.
///
/// Options are validated in the constructor, and the number of sections (ModelError); `solve`
/// allocates and throws nothing and its result depends on its arguments only. The robot is copied.
/// Source: [FABRIKx] sec. 2.3.1, (2.9)-(2.27); sec. 3.1.6 for the polynomial. Tested by:
/// section_solver_test.
class SectionSolver {
 public:
  explicit SectionSolver(const ContinuumRobot& robot, const SectionSolverOptions& options = {});

  /// Solves for `target` in one pass over the section; returns the start if that is nearer. Of the
  /// start the bend is used, by Newton's method, and the bend direction for targets on the axis. 0
  /// iterations if the start is a solution, 1 for a closed form. MaxIterations if the budget is
  /// spent, else Stalled: the target is off the points that the section reaches. InvalidTarget and
  /// InvalidStart as FabrikxSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const SectionSolverOptions& options() const noexcept { return options_; }

 private:
  ContinuumRobot robot_;
  SectionSolverOptions options_;
  SectionReach section_;
  std::array<SectionState, 1> states_;
};

}  // namespace tendril
