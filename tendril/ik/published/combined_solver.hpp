#pragma once

#include <vector>

#include "tendril/ik/fabrikx_solver.hpp"
#include "tendril/ik/published/jacobian_solver.hpp"

namespace tendril {

/// Start of the Jacobian method of `CombinedSolver`.
enum class SecondStart : std::uint8_t {
  GivenStart,   ///< where FABRIKx began: solves what either method alone solves
  FabrikxPose,  ///< the best pose of FABRIKx
};

struct CombinedOptions {             ///< every field has a working default
  int max_iterations = 600;          ///< of both together, >= 1; FABRIKx may spend the first half
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  SecondStart second_start = SecondStart::GivenStart;
  bool feed_base = false;  ///< of both methods
};

/// FABRIKx, and the damped Jacobian method (bend vectors) where FABRIKx gives up. Of n iterations
/// FABRIKx has at most n/2 (rounded up) and the Jacobian method at most n/2 (rounded down).
/// With SecondStart::GivenStart and twice the iterations of one method this reaches a target
/// exactly if one of the two methods does: the source's "both in parallel".
/// Source: [FABRIKx] sec. 3.1.5. SecondStart::FabrikxPose is an extension, not in the source.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied.
class CombinedSolver {
 public:
  explicit CombinedSolver(const ContinuumRobot& robot, const CombinedOptions& options = {});

  /// Reaches for `target` from `start` (one state per section; may be the previous solution). The
  /// solution is that of the method that converged, else the better one of the two by the larger
  /// error in units of its tolerance; `iterations` is the sum of both. Stalled when both stalled.
  /// InvalidTarget and InvalidStart as FabrikxSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return fabrikx_.robot(); }
  [[nodiscard]] const CombinedOptions& options() const noexcept { return options_; }

 private:
  CombinedOptions options_;
  FabrikxSolver fabrikx_;
  JacobianSolver jacobian_;
  std::vector<SectionState> start_;  // the given one, which may be a view of an earlier solution
};

}  // namespace tendril
