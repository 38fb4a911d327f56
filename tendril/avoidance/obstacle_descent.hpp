#pragma once

#include <Eigen/Core>
#include <array>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/bend_functions.hpp"

namespace tendril {

/// One descent of bounded Levenberg-Marquardt in the smooth coordinates u, v, s towards a tip
/// target and away from obstacles: the engine of ObstacleSolver, not a solver by itself. Beside the
/// rows of the tip there is one row for every pair of an arc of the body and an obstacle that are
/// nearer than the margin, at the arc's point that is nearest to the obstacle:
///
///     w (margin - clearance),   with the gradient  w n . dp/dq  at the point held fixed on the arc
///
/// which is the exact one: where the nearest point slides along the arc the distance does not
/// change. docs/derivations-avoidance.md, "Descent round obstacles".
class ObstacleDescent {
 public:
  enum class End { Free, Colliding, AtRest, BudgetSpent };

  /// @param planar  the robot bends in its x-z plane only: v stays 0
  ObstacleDescent(const ContinuumRobot& robot, bool planar);

  void aim(const TipTarget& target, double position_tolerance, double angle_tolerance) noexcept;

  /// Obstacles to keep away from; null: none. Rows push while the neutral line is nearer than
  /// `safety_distance` + `margin`; a pose counts as free when it is not nearer than
  /// `safety_distance`. The obstacles must live as long as they are used.
  void around(const Obstacles* obstacles, double safety_distance, double margin) noexcept;

  /// Where to start from; brought inside the limits.
  void place(SectionStates states, const BaseState& base) noexcept;

  /// Computes the cost of the pose placed.
  void measure() noexcept { cost_ = evaluate(); }

  /// Descends until the tip is met with the body free (Free); or nothing helps any more: Colliding
  /// where the tip is met, else AtRest; or `iterations` has reached `max_iterations`. Counts one
  /// iteration per pose evaluated after the start.
  [[nodiscard]] End run(int& iterations, int max_iterations) noexcept;

  [[nodiscard]] double cost() const noexcept { return cost_; }
  [[nodiscard]] double position_error() const noexcept;
  [[nodiscard]] double angle_error() const noexcept;
  /// Deepest entry into the space kept off, 0 or negative when there is none [m].
  [[nodiscard]] double depth() const noexcept { return depth_; }
  void states(std::span<SectionState> states) const noexcept;

  /// A change of length by so much counts as much as 1 rad of bend [m].
  [[nodiscard]] double length_scale() const noexcept { return length_scale_; }

 private:
  static constexpr std::size_t kContacts = 24;
  static constexpr std::size_t kRows = 5 + kContacts;
  using Column = std::array<double, kRows>;

  struct SectionMap {
    BendFunctions bend;
    double length, variable_length, bend_angle_limit;
    std::size_t first_arc, arc_count;
    [[nodiscard]] double limit_at(double s) const noexcept {
      return variable_length > 0.0 ? bend_angle_limit * (s / variable_length) : bend_angle_limit;
    }
  };
  struct Coordinates {
    double u = 0.0, v = 0.0, s = 0.0;
  };
  struct Frame {  // of a section's base, and what the columns need of its map
    Eigen::Vector3d x, y, z, start, radial, end;
    BendValues bend;
  };
  struct Moves {  // of the section's end, without what its turn moves beyond it
    Eigen::Vector3d turn_u, turn_v, move_u, move_v, move_s;
  };
  struct Contact {
    std::size_t section;
    double fraction, excess;  // margin - clearance > 0 [m]
    Eigen::Vector3d point, normal;
  };
  struct Free {
    int count = 0;
    std::array<Coordinates, 3> directions;
  };

  [[nodiscard]] double evaluate() noexcept;
  void place_arcs(std::size_t i) noexcept;
  void keep_contact(const Contact& contact) noexcept;
  [[nodiscard]] bool tip_within_tolerance() const noexcept;
  void differentiate() noexcept;
  void contact_row(std::size_t row, const Contact& contact) noexcept;
  void release(std::size_t i) noexcept;
  void add(std::size_t i, const Coordinates& direction) noexcept;
  [[nodiscard]] double pull(std::size_t i, const Coordinates& direction) const noexcept;
  void solve(double damping, const Column& residual, Column& y) noexcept;
  void step(const Column& y) noexcept;
  void clamp(std::size_t i) noexcept;

  ContinuumRobot robot_;
  bool planar_;
  std::vector<SectionMap> maps_;
  std::vector<Coordinates> coordinates_, previous_;
  std::vector<double> straight_phi_;
  std::vector<Frame> frames_;
  std::vector<Moves> moves_;
  std::vector<BodyArc> arcs_;
  std::vector<std::array<Column, 3>> columns_;
  std::vector<Free> free_;
  std::vector<Column> reduced_;
  std::size_t reduced_count_ = 0;
  double length_scale_;
  std::size_t tip_rows_ = 3, rows_ = 3, step_rows_ = 3;  // step_rows_: of the running step
  Eigen::Vector3d goal_ = Eigen::Vector3d::Zero(), goal_direction_ = Eigen::Vector3d::UnitZ();
  double position_tolerance_ = 0.0, angle_tolerance_ = 0.0;
  const Obstacles* obstacles_ = nullptr;
  double safety_distance_ = 0.0, margin_ = 0.0;
  BaseState base_;
  Eigen::Vector3d tip_ = Eigen::Vector3d::Zero(), tip_x_ = Eigen::Vector3d::UnitX(),
                  tip_y_ = Eigen::Vector3d::UnitY();
  std::array<Contact, kContacts> contacts_;
  std::size_t contact_count_ = 0;
  double depth_ = 0.0;
  Column residual_{};
  std::array<Column, kRows> gram_, factor_;  // lower triangles
  double cost_ = 0.0;
};

}  // namespace tendril
