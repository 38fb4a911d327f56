#pragma once

#include <cstdint>
#include <vector>

#include "tendril/ik/ik_result.hpp"

namespace tendril {

struct LevenbergOptions {            ///< every field has a working default
  int max_iterations = 100;          ///< tip poses evaluated, restarts included, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  int max_restarts = 0;    ///< from random admissible poses, when a descent comes to rest, >= 0
  std::uint64_t seed = 1;  ///< of the restarts; the same seed gives the same answer
};

/// Bounded Levenberg-Marquardt in the smooth coordinates u, v, s of the sections. Limits are an
/// active set: at its bend limit a section moves along the limit only, an extensible one also along
/// the cone of limits by its length; at the ends of its length it keeps it. Every step is brought
/// back inside the limits and taken only if it helps. From a near start it ends near it,
/// quadratically fast: the solver for tracking. Extension, not in the sources. docs/derivations.md,
/// "Bounded Levenberg-Marquardt".
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied.
class LevenbergSolver {
 public:
  explicit LevenbergSolver(const ContinuumRobot& robot, const LevenbergOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous answer). Base feed and spin are taken as given. Converged with 0 iterations if
  /// the start meets the target; Stalled when a descent, and every restart, came to rest; the best
  /// pose seen is returned. InvalidTarget and InvalidStart as FabrikxSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const LevenbergOptions& options() const noexcept { return options_; }

 private:
  enum class Descent { Converged, AtRest, BudgetSpent };

  Descent descend(const TipTarget& target, const BaseState& base) noexcept;
  /// Tip pose and Jacobian of states_, residual_ and its squared length.
  double evaluate(const TipTarget& target, const BaseState& base) noexcept;
  void reduce() noexcept;  // free directions at the limits: reduced_ = Jacobian in them
  void apply_step() noexcept;
  void keep_if_best(const TipTarget& target) noexcept;

  ContinuumRobot robot_;
  LevenbergOptions options_;
  double length_scale_;  // [m]: a length change of this size counts as 1 rad, and so does a
                         // direction error at this distance
  std::vector<SectionState> states_, trial_, best_;
  Eigen::Isometry3d X_BE_ = Eigen::Isometry3d::Identity();
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_, reduced_;
  Eigen::Matrix<double, 6, 1> residual_ = Eigen::Matrix<double, 6, 1>::Zero();
  Eigen::VectorXd step_;
  /// Directions that a section may move in, up to three: columns (du, dv, ds).
  struct FreeDirections {
    int count = 0;
    Eigen::Matrix3d columns = Eigen::Matrix3d::Zero();
  };
  std::vector<FreeDirections> free_;
  int rows_ = 3, free_count_ = 0, iterations_ = 0;
  double best_cost_ = 0.0, best_position_error_ = 0.0, best_angle_error_ = 0.0;
};

}  // namespace tendril
