#pragma once

#include <vector>

#include "tendril/ik/published/reaching_solver.hpp"

namespace tendril {

struct FabrikcOptions {              ///< every field has a working default
  int max_iterations = 500;          ///< forward + backward passes, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  /// Extension, not in [FABRIKc] ("clamped"): both passes rotate a tangent that would bend its
  /// section past its limit back to the limit. Off: the limit is only tested at the end, as
  /// published.
  bool limit_bend_inside = false;
};

/// FABRIKc: forward and backward reaching over the tangents of the sections. A section is two
/// straight links on the tangents at its ends, which meet in a vertex; the vertices of neighboring
/// sections lie on their common tangent. Source: [Chord], tangent algorithm, (2)-(5), after
/// [FABRIKc].
///
/// The direction of the tip is part of the method: both passes put the last tangent on the desired
/// one. For TipTask::Position it is free: the forward pass lays it from the last vertex to the
/// goal, as FABRIKx does (2.37), and the backward pass aims it at the goal.
///
/// Sections have a fixed length; extensible ones keep the length that they have in the start, with
/// the bend limit that goes with it. The links of a section with several sub-sections are unequal;
/// a sub-section without bend (angle weight 0) is a rigid link or a tool.
///
/// Bends of 180 degrees and more are out of reach of tangents, whose links grow without bound
/// there: the passes stop 1e-6 rad before, and a start that is bent further begins there.
///
/// Usual failures: a limit that is met only by other bends than those the method finds (Stalled;
/// `limit_bend_inside` nearly always mends that), and slow convergence of three sections
/// (MaxIterations). docs/theory/ik.md, "Tangent links on one line". Options are validated
/// in the constructor (ModelError); `solve` allocates and throws nothing and its result depends on
/// its arguments only. The robot is copied. Tested by: fabrikc_solver_test.
class FabrikcSolver : public ReachingSolver<FabrikcSolver, FabrikcOptions, Eigen::Vector3d> {
 public:
  explicit FabrikcSolver(const ContinuumRobot& robot, const FabrikcOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous solution). Base feed and spin are taken as given. Stops when the errors are
  /// within tolerance inside the limits (0 iterations if they are at the start); when an iteration
  /// moves no section end any more, or ends on the goal outside the limits (Stalled); or when the
  /// budget is spent. Returns the best of the poses inside the limits and the last one clamped. A
  /// straight start with its goal on its own axis is bent a little first, and the solution says
  /// `jumped`. InvalidTarget and InvalidStart (wrong count, NaN or infinity in start or base) come
  /// with infinite errors and the states of `ContinuumRobot::straight`.
  using ReachingSolver::solve;

 private:
  friend class ReachingSolver<FabrikcSolver, FabrikcOptions, Eigen::Vector3d>;

  /// One section of the chain, in the robot's base frame; symbols of the source in brackets.
  struct Link {
    Eigen::Vector3d vertex, end, tangent;  // V_i, E_i, Z_i
    double first = 0.0, second = 0.0;      // l_i before and behind the vertex
  };
  /// Bounds of one section in the running solve.
  struct Bounds {
    double length = 0.0;  // S_i [m]
    Cone limit;           // around the tangent at the other end: the section's bend limit
    Cone reach;           // the directions the passes may take: `limit`, or all but straight back
  };

  void load() noexcept;
  void place() noexcept;
  void forward_reach() noexcept;
  [[nodiscard]] double backward_reach() noexcept;
  void set_links(std::size_t i, const Eigen::Vector3d& Z_start,
                 const Eigen::Vector3d& Z_end) noexcept;
  [[nodiscard]] bool is_at_rest(double moved, int) const noexcept {
    return moved <= kReachingAtRest * robot_.max_length();
  }
  void prepare_next(int) noexcept {}
  [[nodiscard]] const Eigen::Vector3d& tip_position() const noexcept { return links_.back().end; }
  [[nodiscard]] const Eigen::Vector3d& tip_tangent() const noexcept {
    return links_.back().tangent;
  }
  [[nodiscard]] const Eigen::Vector3d& posture(std::size_t i) const noexcept {
    return links_[i].tangent;
  }
  void set_states(const std::vector<Eigen::Vector3d>& tangents) noexcept;

  // Of the running solve.
  std::vector<Link> links_;
  std::vector<Bounds> bounds_;
  std::vector<SpatialBend> bends_;
};

}  // namespace tendril
