#pragma once

#include <Eigen/Core>
#include <cmath>
#include <span>

#include "tendril/ik/ik_result.hpp"

// What the solvers that reach forward and backward over tangents (FABRIKx, FABRIKc) or chords do
// alike. For the solvers' sources; users of a solver do not need it.
namespace tendril {

/// The passes are at rest when no section end moves by more than this ratio of the robot's length.
inline constexpr double kReachingAtRest = 1e-13;

/// A target this near to the base axis of a section gives no bend direction [m].
inline constexpr double kOnBaseAxis = 1e-11;

/// Unit vector along `v`, or `otherwise` when v has no direction.
[[nodiscard]] inline Eigen::Vector3d direction_of(const Eigen::Vector3d& v,
                                                  const Eigen::Vector3d& otherwise) noexcept {
  constexpr double kCoincident = 1e-14;  // [m], points this near give no direction
  const double squared = v.squaredNorm();
  return squared > kCoincident * kCoincident ? Eigen::Vector3d(v / std::sqrt(squared)) : otherwise;
}

/// The part of `e` perpendicular to the unit vector z, unit; any perpendicular when there is none.
[[nodiscard]] Eigen::Vector3d unit_perpendicular(const Eigen::Vector3d& e,
                                                 const Eigen::Vector3d& z) noexcept;

/// A cone of directions around an axis, by its half angle [rad] in [0, pi].
struct Cone {
  double cosine = -1.0, sine = 0.0;

  Cone() = default;
  explicit Cone(double half_angle) noexcept
      : cosine(std::cos(half_angle)), sine(std::sin(half_angle)) {}

  [[nodiscard]] bool contains(double cosine_to_axis) const noexcept {
    return cosine_to_axis >= cosine;
  }
  /// The unit vector nearest to `v` among those in the cone around `axis` (both unit), in their
  /// common plane.
  [[nodiscard]] Eigen::Vector3d nearest(const Eigen::Vector3d& axis,
                                        const Eigen::Vector3d& v) const noexcept {
    if (contains(axis.dot(v))) return v;
    return cosine * axis + sine * unit_perpendicular(v, axis);
  }
};

/// Goal of the passes, in the robot's base frame.
struct ReachingGoal {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Vector3d direction = Eigen::Vector3d::UnitZ();  ///< unit
  bool has_direction = false;
  double position_tolerance = 1.0;   ///< [m]
  double direction_tolerance = 1.0;  ///< on the distance of the unit vectors, 2 sin(angle / 2)

  /// Largest ratio of an error to its tolerance for a tip at `p` with tangent `z`: at most 1 when
  /// the goal is met.
  [[nodiscard]] double score(const Eigen::Vector3d& p, const Eigen::Vector3d& z) const noexcept {
    const double position_ratio = (p - position).norm() / position_tolerance;
    if (!has_direction) return position_ratio;
    const double direction_ratio = (z - direction).norm() / direction_tolerance;
    return position_ratio > direction_ratio ? position_ratio : direction_ratio;
  }
};

/// The goal of `target`. A target so far away that the square of its distance could overflow is
/// moved towards the base on the line between them; it is out of reach all the same.
[[nodiscard]] ReachingGoal reaching_goal(const ContinuumRobot& robot, const TipTarget& target,
                                         const BaseState& base, double position_tolerance,
                                         double angle_tolerance) noexcept;

/// Gives a straight pose whose goal lies on the robot's own axis, within its length, small bends in
/// different directions; returns whether it did. Tangents, chords and goal on one line leave no
/// plane to bend in: the passes would never move.
bool bend_off_axis(const ContinuumRobot& robot, const ReachingGoal& goal, const BaseState& base,
                   std::span<SectionState> states) noexcept;

/// A section's bend without frames: by theta [rad] towards the side of its base tangent on which
/// the vector `towards`, in the robot's base frame, lies.
struct SpatialBend {
  double theta = 0.0;
  Eigen::Vector3d towards = Eigen::Vector3d::UnitX();
};

/// Puts the bends into `states`, each inside its limits at the variable length that is there;
/// straight sections get phi = 0. One element per section.
void set_bends(const ContinuumRobot& robot, const BaseState& base,
               std::span<const SpatialBend> bends, std::span<SectionState> states) noexcept;

/// The result for `states` with its errors by forward kinematics. Converged if and only if they are
/// within tolerance, else `otherwise`.
[[nodiscard]] IkResult judged(const ContinuumRobot& robot, const TipTarget& target,
                              const BaseState& base, SectionStates states,
                              double position_tolerance, double angle_tolerance, IkStatus otherwise,
                              int iterations) noexcept;

}  // namespace tendril
