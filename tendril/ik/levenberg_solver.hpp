#pragma once

#include <cstdint>
#include <vector>

#include "tendril/ik/descent.hpp"
#include "tendril/ik/ik_result.hpp"

namespace tendril {

struct LevenbergOptions {            ///< every field has a working default
  int max_iterations = 100;          ///< tip poses evaluated, restarts included, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  int max_restarts = 0;              ///< from random admissible poses, when a descent stalls, >= 0
  bool feed_base = false;            ///< the base feed is solved for too, within [0, feed_limit]
  std::uint64_t seed = 1;            ///< of the restarts; the same seed gives the same solution
};

/// Bounded Levenberg-Marquardt in the smooth coordinates u, v, s of the sections. Limits are an
/// active set: at its bend limit a section moves along the limit only, an extensible one also along
/// the cone of limits by its length; at the ends of its length it keeps it. Every step is brought
/// back inside the limits and taken only if it helps. From a near start it ends near it,
/// quadratically fast: the solver for tracking. Extension, not in the sources.
/// docs/theory/ik.md, "Bounded Levenberg-Marquardt".
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied.
class LevenbergSolver {
 public:
  explicit LevenbergSolver(const ContinuumRobot& robot, const LevenbergOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous solution). The base's spin is taken as given, and its feed unless `feed_base`.
  /// Converged with 0 iterations if the start meets the target; Stalled when the descent and every
  /// restart stalled. Returns the pose of the descent that converged, else the best one by the sum
  /// of squares of both errors; `jumped` if a restart found it. InvalidTarget and InvalidStart as
  /// FabrikxSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const LevenbergOptions& options() const noexcept { return options_; }

 private:
  ContinuumRobot robot_;
  LevenbergOptions options_;
  Descent descent_;
  std::vector<SectionState> trial_, best_;
};

}  // namespace tendril
