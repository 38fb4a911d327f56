#pragma once

#include <Eigen/Geometry>
#include <array>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/bend_functions.hpp"

namespace tendril {

/// One descent of bounded Levenberg-Marquardt in the smooth coordinates u, v, s: the engine of
/// LevenbergSolver and AutoSolver, not a solver by itself. docs/derivations.md, "Bounded
/// Levenberg-Marquardt".
///
/// Works on reduced rows: three for the position and, if a direction is desired, two for the turn
/// that is left, along the tip's own x and y axes; so the system is 3 x 3 or 5 x 5 whatever the
/// number of sections.
class Descent {
 public:
  enum class End { Converged, AtRest, BudgetSpent };

  /// When a descent that still gains a little is over.
  enum class Patience {
    Meet,      ///< soon: what creeps does not meet the target, and another start may
    Approach,  ///< late: the closest pose is desired
  };

  /// @param free_feed  the base feed is a coordinate too, within [0, feed_limit]
  explicit Descent(const ContinuumRobot& robot, bool free_feed = false);

  /// What to reach. Without a direction only the position counts.
  void aim(const TipTarget& target, double position_tolerance, double angle_tolerance) noexcept;

  /// Where to start from; brought inside the limits.
  void place(SectionStates states, const BaseState& base) noexcept;

  /// Descends until the target is met, nothing helps any more, or `iterations` has reached
  /// `max_iterations`. Counts one iteration per tip pose evaluated after the start.
  [[nodiscard]] End run(Patience patience, int& iterations, int max_iterations) noexcept;

  /// Remembers the pose placed, and whether the pose that the descent is at is farther from it than
  /// `limit` [rad] in the bend vector of a section, or in a length or the feed by length_scale().
  void mark() noexcept;
  [[nodiscard]] bool is_beyond(double limit) const noexcept;

  /// Only computes the errors and the cost of the pose placed.
  void measure() noexcept { cost_ = evaluate(); }

  /// From a pose that meets the target, moves towards `preferred` as far as the target allows (at
  /// least to where the steps gain little) and counts iterations as `run`. Without `lengths` only
  /// the bends count. The pose meets the target afterwards too.
  void relax(SectionStates preferred, const BaseState& preferred_base, bool lengths,
             int& iterations, int max_iterations) noexcept;

  /// Squared residual of the pose that the descent is at: |p - p_goal|^2 + (L angle)^2 [m^2].
  [[nodiscard]] double cost() const noexcept { return cost_; }

  /// Errors of the pose that the descent is at [m], [rad]; the second is 0 without a direction.
  [[nodiscard]] double position_error() const noexcept;
  [[nodiscard]] double angle_error() const noexcept;

  /// The pose that the descent is at, inside the limits.
  void states(std::span<SectionState> states) const noexcept;
  [[nodiscard]] const BaseState& base() const noexcept { return base_; }

  /// A change of length by so much counts as much as 1 rad of bend [m].
  [[nodiscard]] double length_scale() const noexcept { return length_scale_; }

 private:
  static constexpr int kRows = 5;
  using Row = std::array<double, kRows>;

  struct SectionMap {  // what is fixed
    BendFunctions bend;
    double length, variable_length, bend_angle_limit;
    [[nodiscard]] double limit_at(double s) const noexcept {
      return variable_length > 0.0 ? bend_angle_limit * (s / variable_length) : bend_angle_limit;
    }
  };
  struct Coordinates {
    double u = 0.0, v = 0.0, s = 0.0;
  };
  struct Frame {  // of a section's base, and what the columns need of its map
    Eigen::Vector3d x, y, z, radial, end;
    BendValues bend;
  };
  struct Free {  // directions that a section may move in: columns (du, dv, ds)
    int count = 0;
    std::array<Coordinates, 3> directions;
  };

  [[nodiscard]] double evaluate() noexcept;
  [[nodiscard]] bool within_tolerance() const noexcept;
  enum class Limits { Active, Ignored };
  void differentiate(Limits limits) noexcept;
  void release(std::size_t i) noexcept;
  void add(std::size_t i, const Coordinates& direction) noexcept;
  [[nodiscard]] double pull(std::size_t i, const Coordinates& direction) const noexcept;
  template <std::size_t rows>
  void multiply() noexcept;
  template <std::size_t rows>
  [[nodiscard]] Row solve(double damping, const Row& residual) const noexcept;
  void step(const Row& y) noexcept;
  void clamp(std::size_t i) noexcept;
  [[nodiscard]] double distance_to_preferred() const noexcept;
  void step_to_preferred(double share) noexcept;

  std::vector<SectionMap> maps_;
  std::vector<Coordinates> coordinates_, previous_, preferred_, before_, marked_;
  std::vector<double> straight_phi_;  // direction of a section that is not bent
  std::vector<Frame> frames_;
  std::vector<std::array<Row, 3>> columns_;  // of u, v, s of each section
  std::vector<Free> free_;
  std::vector<Row> reduced_;  // one column per free direction
  std::size_t reduced_count_ = 0;
  double length_scale_;  // [m]: a length change of this size counts as 1 rad, and so does a
                         // direction error at this distance
  int rows_ = 3;
  Eigen::Vector3d goal_ = Eigen::Vector3d::Zero(), goal_direction_ = Eigen::Vector3d::UnitZ();
  double position_tolerance_ = 0.0, angle_tolerance_ = 0.0;
  BaseState base_;
  double feed_limit_;  // [m]; 0 when the feed is given
  double previous_feed_ = 0.0, preferred_feed_ = 0.0, marked_feed_ = 0.0;
  bool feed_moves_ = false;  // the last column of reduced_ is the feed's
  bool prefer_lengths_ = false;
  Eigen::Vector3d tip_ = Eigen::Vector3d::Zero(), tip_x_ = Eigen::Vector3d::UnitX(),
                  tip_y_ = Eigen::Vector3d::UnitY();
  Row residual_{};
  std::array<double, kRows*(kRows + 1) / 2> gram_{};  // J J^T, lower triangle row by row
  double cost_ = 0.0;
};

}  // namespace tendril
