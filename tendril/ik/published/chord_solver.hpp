#pragma once

#include <vector>

#include "tendril/ik/published/reaching_solver.hpp"
#include "tendril/ik/section_shape.hpp"

namespace tendril {

struct ChordOptions {                ///< every field has a working default
  int max_iterations = 500;          ///< forward + backward passes, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  /// The backward pass bends no section past its limit. Off ("without bend limits"): up to 2 pi,
  /// and the limit is only tested at the end.
  bool limit_bend_inside = true;
  /// A: a tuning step rotates by 1/A of the angle that is missing. >= 3, or 0 for that of the
  /// source: 10 for up to three sections, 3 for more.
  double tuning_divisor = 0.0;
  /// Distance from the goal [mean section lengths] below which every iteration tunes, > 0.
  /// Infinity: always.
  double tuning_gate = 0.1;
  int shake_period = 25;  ///< C: iterations from shake to shake, >= 1
};

/// Chord FABRIK: forward and backward reaching over the chords of the sections, with ball joints
/// between them. The forward pass keeps the chords of the last pass as rigid links; the backward
/// pass aims each chord and puts the true section on it: the end tangent is the start tangent
/// reflected in the chord. Chords do not determine the direction of the tip: the last joint is
/// rotated about the tip to tune it, and every C iterations the whole robot ("shake"). For
/// TipTask::Position there is neither. Source: [Chord], chord algorithm.
///
/// Differs: the axis of tuning is Z_Q x Z_t, the printed Z_t x Z_Q rotates the tip away; tuning
/// begins near the goal, not at it, which small bends would hardly ever reach.
/// docs/theory/ik.md, "Chord reflection, tuning and shake".
///
/// Sections have a fixed length; extensible ones keep the length that they have in the start, with
/// the bend limit that goes with it. Sections with several sub-sections have no reflection: the
/// bend belongs to the chord angle by `solve_section_newton`, up to the end of its invertible
/// interval. Bends up to 2 pi are within reach.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing and
/// its result depends on its arguments only. The robot is copied. Tested by: chord_solver_test.
class ChordSolver : public ReachingSolver<ChordSolver, ChordOptions, SpatialBend> {
 public:
  explicit ChordSolver(const ContinuumRobot& robot, const ChordOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped to the limits first; may be
  /// the previous solution). Base feed and spin are taken as given. Stops when the errors are
  /// within tolerance inside the limits (0 iterations if they are at the start); when neither an
  /// iteration nor a shake moves a section end any more, or an iteration ends on the goal outside
  /// the limits (Stalled); or when the budget is spent. Returns the best of the poses inside the
  /// limits and the last one clamped. A straight start with its goal on its own axis is bent a
  /// little first, and the solution says `jumped`. InvalidTarget and InvalidStart (wrong count, NaN
  /// or infinity in start or base) come with infinite errors and the states of
  /// `ContinuumRobot::straight`.
  using ReachingSolver::solve;

 private:
  friend class ReachingSolver<ChordSolver, ChordOptions, SpatialBend>;

  /// One section of the chain, in the robot's base frame; symbols of the source in brackets.
  struct Link {
    Eigen::Vector3d point;      // P_i where the passes and the tuning want it
    Eigen::Vector3d end;        // P_i of the last true pose
    Eigen::Vector3d tangent;    // Z_i of the last true pose
    Eigen::Vector3d direction;  // c_i
    double length = 0.0;        // H_i, the chord
    double theta = 0.0;
  };
  /// Bounds of one section in the running solve.
  struct Bounds {
    double length = 0.0;  // S_i [m]
    double limit = 0.0;   // the section's bend limit [rad]
    double reach = 0.0;   // the bends the passes may take: up to `limit` or 2 pi [rad]
    Cone chords;          // around the start tangent: the chords of bends up to `reach`
  };

  void load() noexcept;
  void place() noexcept;
  void forward_reach() noexcept;
  [[nodiscard]] double backward_reach() noexcept;
  void set_arc(std::size_t i, const Eigen::Vector3d& P, const Eigen::Vector3d& Z) noexcept;
  void set_shaped(std::size_t i, const Eigen::Vector3d& P, const Eigen::Vector3d& Z) noexcept;
  [[nodiscard]] bool is_at_rest(double moved, int iteration) const noexcept;
  [[nodiscard]] bool shakes(int iteration) const noexcept;
  void prepare_next(int iteration) noexcept;
  [[nodiscard]] const Eigen::Vector3d& tip_position() const noexcept { return links_.back().end; }
  [[nodiscard]] const Eigen::Vector3d& tip_tangent() const noexcept {
    return links_.back().tangent;
  }
  [[nodiscard]] SpatialBend posture(std::size_t i) const noexcept {
    return {links_[i].theta, links_[i].direction};
  }
  void set_states(const std::vector<SpatialBend>& bends) noexcept {
    set_bends(robot_, base_state_, bends, states_);
  }

  std::vector<SectionShape>
      shapes_;  // the sections with length 1 and the bends the passes may take
  double tuning_divisor_ = 3.0;

  // Of the running solve.
  std::vector<Link> links_;
  std::vector<Bounds> bounds_;
  double gate_ = 0.0;  // [m]
};

}  // namespace tendril
