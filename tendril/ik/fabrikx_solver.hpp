#pragma once

#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/ik/section_ik.hpp"

namespace tendril {

/// Which single-section solve FABRIKx uses.
enum class SectionSolve : std::uint8_t { Iterative, Newton };

struct FabrikxOptions {              ///< every field has a working default
  int max_iterations = 300;          ///< forward + backward passes, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  SectionSolve section_solve = SectionSolve::Newton;
  SectionIkOptions section_ik{};
};

/// FABRIKx: forward and backward reaching over the tangent links of sections of fixed, variable or telescopic length.
/// Options are validated once, in the constructor (ModelError); `solve` allocates and throws nothing and its result
/// depends on its arguments only. The robot is copied. Source: [FABRIKx] sec. 2.3.2 (S5).
class FabrikxSolver {
 public:
  explicit FabrikxSolver(const ContinuumRobot& robot, const FabrikxOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first).
  /// Stops when the errors are within tolerance, or the budget is spent; returns the best iterate.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start, const BaseState& base = {}) noexcept;

  /// Start pose of the source: straight, variable lengths shared out by the target's distance. (2.30) with clamp.
  void straight_start(const TipTarget& target, const BaseState& base, std::span<SectionState> states) const noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const FabrikxOptions& options() const noexcept { return options_; }

 private:
  ContinuumRobot robot_;
  FabrikxOptions options_;
  // Buffers below are sized in the constructor. (Implementation: add what is needed.)
};

}  // namespace tendril
