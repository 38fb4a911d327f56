#pragma once

#include <span>

#include "tendril/ik/any_solver.hpp"

namespace tendril {

/// The result of one solve of a batch, without the states, which are in a separate array.
struct BatchResult {
  IkStatus status = IkStatus::InvalidTarget;
  int iterations = 0;
  double position_error = 0.0;  ///< [m]
  double angle_error = 0.0;     ///< [rad]
  bool jumped = false;
  BaseState base;
  double time = 0.0;  ///< wall time of the solve [s]; 0 unless `measure_time`
  [[nodiscard]] bool converged() const noexcept { return status == IkStatus::Converged; }
};

struct BatchOptions {
  int threads = 0;            ///< >= 0; 0: as many as the machine has
  bool measure_time = false;  ///< reads a clock twice per solve
  SectionStates starts{};     ///< one pose per target, or none: `straight_start` of each target
  std::span<const BaseState> bases{};  ///< start of the base, one per target, or none: at rest
};

/// Solves every target from its own start with copies of `solver`, over threads. A target's
/// solution does not depend on the others: bitwise identical at any number of threads (`time`
/// apart).
/// @param results  one per target
/// @param states   section count states per target, in the order of the targets
/// Throws ModelError when `threads` is negative or a size does not fit.
void solve_batch(const AnySolver& solver, std::span<const TipTarget> targets,
                 std::span<BatchResult> results, std::span<SectionState> states,
                 const BatchOptions& options = {});

}  // namespace tendril
