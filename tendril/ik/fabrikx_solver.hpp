#pragma once

#include <cstdint>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/ik/section_reach.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {

struct FabrikxOptions {              ///< every field has a working default
  int max_iterations = 300;          ///< forward + backward passes, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  /// The single-section solve. Sections of one arc are solved in closed form with any of them.
  SectionSolve section_solve = SectionSolve::Newton;
  /// The user's own kinematics of sections, in place of `section_solve`: one map for each section,
  /// those without a `forward` keep theirs; or none. The errors of solutions are by these maps.
  std::vector<SectionMap> section_maps = {};
  /// Every `rotation_period` iterations the whole robot is rotated about its tip by the angle that
  /// its direction is off, over `rotation_divisor`, which moves it out of a fixed point. The source
  /// has 100 iterations ([FABRIKx] sec. 3.1.3) and a divisor of at least 3 ([Chord]). 0: never.
  int rotation_period = 100;      ///< iterations, >= 0
  double rotation_divisor = 3.0;  ///< >= 1
  /// Options of the single-section solves. The feed limit is taken from the robot, see `feed_base`.
  SectionIkOptions section_ik{};
  /// Extension, not in [FABRIKx]: without a desired direction the forward stage keeps the tip's
  /// present one instead of (2.37). From a near start it ends near it; for tracking.
  bool keep_free_direction = false;
  /// Extension, not in [FABRIKx]: the forward stage bends no section by more than its limit, which
  /// hands the limit on to the neighbors and removes most stalls of robots with moderate limits.
  bool cap_forward_bend = false;
  /// Extension: when the larger of the errors over their tolerances has not fallen by a twentieth
  /// within `stall_window` iterations, or nothing moves any more, continues from a random
  /// admissible pose until the budget is spent.
  bool stall_restart = false;
  int stall_window = 20;   ///< iterations, >= 1; healthy runs of ten sections want 40
  std::uint64_t seed = 1;  ///< of the restarts; the same seed gives the same solution
  /// The first section is solved with base shift: the solution's feed is chosen by the solver, as
  /// small as the section allows, in [0, feed_limit] of the robot's base. Off: the feed is taken as
  /// given. Not with a map of the first section.
  bool feed_base = false;
};

/// FABRIKx: forward and backward reaching over the tangent links of sections of fixed, variable or
/// telescopic length. Options are validated once, in the constructor (ModelError); `solve`
/// allocates and throws nothing and its result depends on its arguments only. The robot is copied.
/// Source: [FABRIKx] sec. 2.3.2, (2.28)-(2.40).
///
/// Differs: links of a straight section tend to C (1 - kappa0) and C kappa0, not to C/2 (2.33);
/// they are capped at a bend of 3 rad, above which they grow without bound.
/// docs/theory/kinematics.md, "Tangent links".
///
/// Usual failure: the last section is at its bend limit and the rest of the chain no longer moves;
/// without rotations more iterations do not help, `cap_forward_bend` and `stall_restart` do. A
/// straight arm with its target on its own axis does not move either: start bent.
class FabrikxSolver {
 public:
  explicit FabrikxSolver(const ContinuumRobot& robot, const FabrikxOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous solution). Base spin is taken as given, and feed unless `feed_base` is set. Stops
  /// when the errors are within tolerance (0 iterations if they are at the start), when neither an
  /// iteration nor a rotation leads to another pose any more (Stalled; not with `stall_restart`),
  /// or when the budget is spent; returns the best iterate, `jumped` if it was found from a random
  /// pose. InvalidTarget and InvalidStart (wrong count, NaN or infinity in start or base) come with
  /// infinite errors and the states of `ContinuumRobot::straight`.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const FabrikxOptions& options() const noexcept { return options_; }

 private:
  /// A section's bend and the direction of the bend in space.
  struct Placement {
    SectionBend bend;
    Eigen::Vector3d bend_direction =
        Eigen::Vector3d::UnitX();  // e: unit, perpendicular to the section's base axis
  };

  /// One section of the chain of tangent links, in the robot's base frame. Key points of the
  /// source: tangent_point = Q[2i+1], end = Q[2i+2].
  struct Link {
    Placement placement;
    Eigen::Vector3d tangent_point, end;
    Eigen::Vector3d goal;              // where the forward stage wants the end
    double first = 0.0, second = 0.0;  // L[2i], L[2i+1]
  };

  void load(const TipTarget& target, SectionStates start, const BaseState& base) noexcept;
  void place(SectionStates start) noexcept;
  void restart() noexcept;
  [[nodiscard]] int iterations_to_rotation(int iteration) const noexcept;
  [[nodiscard]] Eigen::Vector3d missing_rotation() const noexcept;
  void rotate_about_tip() noexcept;
  void forward_reach() noexcept;
  [[nodiscard]] double backward_reach() noexcept;
  void keep_if_best() noexcept;
  [[nodiscard]] bool within_tolerance() const noexcept;
  [[nodiscard]] IkResult report(IkStatus status, int iterations) noexcept;

  ContinuumRobot robot_;
  FabrikxOptions options_;
  std::vector<SectionReach> sections_;

  // Buffers of the running solve; sized in the constructor.
  std::vector<Link> links_;
  std::vector<Placement> best_;
  std::vector<SectionState> states_;
  TipTarget target_;
  Eigen::Vector3d target_direction_ = Eigen::Vector3d::UnitZ();
  BaseState base_state_;  // its feed is that of the running iterate
  Eigen::Vector3d tip_axis_ = Eigen::Vector3d::UnitZ();
  double position_error_ = 0.0, angle_error_ = 0.0, score_ = 0.0;
  double best_score_ = 0.0, best_feed_ = 0.0;
  SplitMix64 random_{1};
  bool restarted_ = false, best_is_restarted_ = false;
};

}  // namespace tendril
