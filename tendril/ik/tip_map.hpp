#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/bend_functions.hpp"

namespace tendril {

/// The tip of a robot as a function of the smooth coordinates u, v, s of its sections, the limits
/// of these, and what is left of a tip target. The descents (TipDescent) are built on it; users of
/// a solver do not need it.
///
/// The residual has three rows for the position and, if a direction is desired, two for the
/// rotation that is left, along the tip's own x and y axes, and, if a roll is, one for the turn
/// about the desired direction that is left after the least rotation to it, times length_scale();
/// all rows in m.
/// docs/theory/ik.md, "Bounded Levenberg-Marquardt".
class TipMap {
 public:
  /// Sets the goal. Without a direction only the position counts.
  void aim(const TipTarget& target, double position_tolerance, double angle_tolerance) noexcept;

  /// The pose to start from; brought inside the limits.
  void place(SectionStates states, const BaseState& base) noexcept;

  /// The current pose, inside the limits, and its errors [m], [rad]; the second is 0 without a
  /// direction.
  void states(std::span<SectionState> states) const noexcept;
  [[nodiscard]] const BaseState& base() const noexcept { return base_; }
  [[nodiscard]] double position_error() const noexcept;
  [[nodiscard]] double angle_error() const noexcept;

  /// A change of length by this much counts as much as 1 rad of bend, and so does a direction error
  /// of 1 rad [m].
  [[nodiscard]] double length_scale() const noexcept { return length_scale_; }

 protected:
  static constexpr std::size_t kTipRows = 6;
  using TipRows = std::span<double, kTipRows>;
  using ConstTipRows = std::span<const double, kTipRows>;
  static constexpr double kUndeterminedBend = 1e-12;  // [rad], below it a bend has no direction
  static constexpr double kLeastTurningBend = 0.01;   // [rad], for the rate of the twist
  static constexpr double kLeastRollFactor = 0.1;     // of the direction: nearly opposite

  struct SectionMap {  // constant parameters of a section
    BendFunctions bend;
    double length, variable_length, bend_angle_limit;
    double limit_slope;  // d(limit)/ds [rad/m]; 0 for a fixed length
    bool bends_u, bends_v;
    [[nodiscard]] bool bends_in_any_plane() const noexcept { return bends_u && bends_v; }
    [[nodiscard]] bool is_extensible() const noexcept { return variable_length > 0.0; }
    [[nodiscard]] double limit_at(double s) const noexcept {
      return is_extensible() ? bend_angle_limit * (s / variable_length) : bend_angle_limit;
    }
  };
  struct Coordinates {
    double u = 0.0, v = 0.0, s = 0.0;
  };
  struct Frame {  // of a section's base, and what the derivatives need of its map
    Eigen::Vector3d x, y, z, radial, end;
    BendValues bend;
  };
  struct Velocities {  // of a section's end per unit of u, v and s; rotations and translations
    Eigen::Vector3d rotation_u, rotation_v, translation_u, translation_v, translation_s;
  };

  struct Options {
    bool free_feed = false;  // the base feed is a coordinate too, within [0, feed_limit]
    bool free_spin = false;  // and so is, for a target with a roll, the spin, without limits
  };
  TipMap(const ContinuumRobot& robot, const Options& options);

  /// Frames and tip pose of coordinates_. Writes the rows of the tip to `residual`; returns the sum
  /// of their squares.
  [[nodiscard]] double evaluate_tip(TipRows residual) noexcept;
  /// Rows of the tip that count: position, direction, roll.
  [[nodiscard]] std::size_t tip_rows() const noexcept {
    return has_roll_ ? 6 : has_direction_ ? 5 : 3;
  }
  [[nodiscard]] bool is_within_tolerance(ConstTipRows residual) const noexcept;

  [[nodiscard]] double evaluate_roll(const Eigen::Vector3d& x, const Eigen::Vector3d& y,
                                     const Eigen::Vector3d& z) noexcept;
  /// What a rotation of the tip gains of the roll: its part along this axis. The twist of sections
  /// that turn is apart from it, `twist_rate` [rad per unit of u and v] of one of them.
  [[nodiscard]] Eigen::Vector3d roll_axis() const noexcept {
    const Eigen::Vector3d z = tip_x_.cross(tip_y_);
    return (z + goal_direction_) / std::max(1.0 + z.dot(goal_direction_), kLeastRollFactor);
  }
  [[nodiscard]] Eigen::Vector2d twist_rate(std::size_t i) const noexcept {
    if (static_cast<int>(i) != last_turning_) return Eigen::Vector2d::Zero();
    const auto& [u, v, s] = coordinates_[i];
    return Eigen::Vector2d(-v, u) / std::max(u * u + v * v, kLeastTurningBend * kLeastTurningBend);
  }

  [[nodiscard]] Velocities velocities(std::size_t i) const noexcept;
  [[nodiscard]] Eigen::Vector3d start_of(std::size_t i) const noexcept {
    return i == 0 ? Eigen::Vector3d(0.0, 0.0, base_.feed) : frames_[i - 1].end;
  }
  void clamp(std::size_t i) noexcept;

  std::vector<SectionMap> maps_;
  std::vector<Coordinates> coordinates_;
  std::vector<double> straight_phi_;  // direction of a section that is not bent [rad]
  std::vector<Frame> frames_;
  BaseState base_;
  double feed_limit_;    // [m]; 0 when the feed is given
  double length_scale_;  // [m]
  bool has_direction_ = false, has_roll_ = false;
  bool free_spin_;    // for a roll
  int last_turning_;  // section; -1: none
  Eigen::Vector3d goal_x_ = Eigen::Vector3d::UnitX();
  double roll_left_ = 0.0;  // [rad]
  Eigen::Vector3d goal_ = Eigen::Vector3d::Zero(), goal_direction_ = Eigen::Vector3d::UnitZ();
  double position_tolerance_ = 0.0, angle_tolerance_ = 0.0;
  Eigen::Vector3d tip_ = Eigen::Vector3d::Zero(), tip_x_ = Eigen::Vector3d::UnitX(),
                  tip_y_ = Eigen::Vector3d::UnitY();
};

// Inlined by force: the values would be returned through memory, which costs 5 % of a solve.
[[gnu::always_inline]] inline TipMap::Velocities TipMap::velocities(std::size_t i) const noexcept {
  const auto& [u, v, s] = coordinates_[i];
  const Frame& f = frames_[i];
  const BendValues& b = f.bend;
  const double S = maps_[i].length + s;
  const Eigen::Vector3d axis = u * f.y - v * f.x;
  const Eigen::Vector3d stretch = (2.0 * S) * (b.dx * f.radial + b.dz * f.z);
  return {.rotation_u = b.sine * f.y - (b.versine * v) * f.z + (b.residue * u) * axis,
          .rotation_v = (b.versine * u) * f.z - b.sine * f.x + (b.residue * v) * axis,
          .translation_u = (S * b.x) * f.x + u * stretch,
          .translation_v = (S * b.x) * f.y + v * stretch,
          .translation_s = b.x * f.radial + b.z * f.z};
}

/// Brings section i inside its limits: s first, then the bend.
inline void TipMap::clamp(std::size_t i) noexcept {
  Coordinates& q = coordinates_[i];
  const SectionMap& map = maps_[i];
  if (map.is_extensible()) q.s = std::clamp(q.s, 0.0, map.variable_length);
  const double limit = map.limit_at(q.s);
  const double squared = q.u * q.u + q.v * q.v;
  if (squared > limit * limit) {
    const double scale = limit / std::sqrt(squared);
    q.u *= scale;
    q.v *= scale;
  }
}

}  // namespace tendril
