#pragma once

#include <vector>

#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// Unknowns of the Jacobian method, per section; and s, if it is extensible.
enum class JacobianCoordinates : std::uint8_t {
  Polar,       ///< theta and phi; phi loses its effect on a straight section
  BendVector,  ///< u = theta cos(phi) and v = theta sin(phi), smooth everywhere
};

struct JacobianOptions {             ///< every field has a working default
  int max_iterations = 3000;         ///< steps, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  JacobianCoordinates coordinates = JacobianCoordinates::BendVector;
  double damping = 1e-6;           ///< lambda [m^2], >= 0; 0: (1.17), of a square Jacobian (1.16)
  double direction_weight = 0.05;  ///< w_A [m], > 0: a direction error of 1 counts as this distance
  double length_weight = 0.01;     ///< w_S [m], > 0: a length change of this size counts as 1 rad
  bool feed_base = false;  ///< the base feed is solved for too, as a length, within [0, feed_limit]
};

/// The damped Jacobian method, the usual baseline: full steps
///
///     q <- q + J^T (J J^T + lambda I)^-1 (x_goal - x),   x = (p, w_A z)                   (1.18)
///
/// with constant damping, no test whether a step helps, and limits by clamping after each step (s
/// first, then theta); a polar theta < 0 is reflected to -theta, phi + pi. The direction rows are
/// dropped for TipTask::Position. Second form of (1.18): a system of 3 or 6 equations whatever the
/// number of sections. docs/theory/ik.md, "Damped Jacobian baseline". Without damping it is the
/// pseudo-inverse (1.17), Newton's method (1.16) where the Jacobian is square; the direction then
/// has the two rows across the tip's axis, since the three have rank 2.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied.
/// Source: [FABRIKx] sec. 1.3.2, (1.18). The source leaves open the coordinates, lambda, the
/// weights, the start and the limits; these are ours.
///
/// Usual failure: a section that is clamped at its limit is asked to move past it in every step,
/// and the others never take over.
class JacobianSolver {
 public:
  explicit JacobianSolver(const ContinuumRobot& robot, const JacobianOptions& options = {});

  /// Least bend [rad] and least ratio of SD that the first step starts from: a straight section has
  /// no phi to change, and one without length cannot bend.
  static constexpr double kMinStartBend = 0.01;
  static constexpr double kMinStartExtension = 0.05;

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous solution). Converged with 0 iterations if the start meets the target; otherwise
  /// sections that are straighter or shorter than the least start are first brought up to it, in
  /// their own phi and inside their limits. The base's spin is taken as given, and its feed unless
  /// `feed_base`. Stalled when a step moves nothing any more; MaxIterations when the budget is
  /// spent; returns the best pose seen, by the larger of the two errors in units of their
  /// tolerances. InvalidTarget and InvalidStart as FabrikxSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const JacobianOptions& options() const noexcept { return options_; }

 private:
  void load(SectionStates start, const BaseState& base) noexcept;
  [[nodiscard]] bool raise_to_least_start() noexcept;
  void evaluate(const TipTarget& target) noexcept;
  void solve_for_step(const TipTarget& target) noexcept;
  [[nodiscard]] double apply_step() noexcept;
  [[nodiscard]] SectionState stepped(int i, const SectionState& state) const noexcept;
  void weight_columns(int i) noexcept;
  [[nodiscard]] bool best_within_tolerance() const noexcept;
  [[nodiscard]] IkResult report(IkStatus status, int iterations) const noexcept;

  ContinuumRobot robot_;
  JacobianOptions options_;

  // Buffers of the running solve; sized in the constructor.
  std::vector<SectionState> states_, best_;
  BaseState base_, best_base_;
  Eigen::Isometry3d X_BE_ = Eigen::Isometry3d::Identity();
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::VectorXd step_;
  double best_position_error_ = 0.0, best_angle_error_ = 0.0, best_score_ = 0.0;
};

}  // namespace tendril
