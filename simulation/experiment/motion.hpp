#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/engine/setting.hpp"

namespace tendril::simulation {

enum class MotionKind {
  Lissajous,  ///< p(t) = center + amplitude .* sin(2 pi frequency (t - start) + phase)
  Waypoints,  ///< from point to point at given times
  Circle,     ///< around a center at constant speed
};

enum class Interpolation {
  Linear,  ///< constant speed on every segment
  Smooth,  ///< at rest at every waypoint: the fraction 10 s^3 - 15 s^4 + 6 s^5 of the segment
  Step,    ///< remains at a point until the time of the next
};

/// Motion of a mocap body, its world pose, or the control of an actuator, as a function of time
/// alone, so that runs are reproducible. A `[[motion]]` table of an experiment file. SI units, rad.
struct Motion {
  std::string body;  ///< name of a mocap body; empty: an actuator
  MotionKind kind = MotionKind::Lissajous;
  std::optional<Eigen::Vector3d> center =
      {};  ///< Lissajous, circle; default: the position of the body in the scene [m]

  // Lissajous; before `start` the position is that at `start`
  Eigen::Vector3d amplitude = Eigen::Vector3d::Zero();  ///< [m]
  Eigen::Vector3d frequency = Eigen::Vector3d::Zero();  ///< [Hz]
  Eigen::Vector3d phase = Eigen::Vector3d::Zero();      ///< [rad]
  double start = 0.0;                                   ///< [s]

  // Waypoints; the first point before the first time, the last point after the last time
  std::vector<double> times = {};  ///< [s], strictly increasing, one per point
  std::vector<Eigen::Vector3d> points = {};
  /// One per point, each segment a rotation about a fixed axis; empty: constant orientation.
  std::vector<Eigen::Quaterniond> orientations = {};
  std::vector<Eigen::Vector3d> angles_deg = {};  ///< from which they were made, for notices
  std::string actuator = {};                     ///< name of an actuator instead of a body
  std::vector<double> values = {};               ///< its controls, one per time
  Interpolation interpolation = Interpolation::Smooth;

  // Circle: p = center + radius (cos(a) e1 + sin(a) e2), a = speed / radius max(0, t -
  // start_after); e1 is the x axis (the y axis if the normal is parallel to x) made orthogonal to
  // the normal, e2 = normal x e1
  double radius = 0.0;  ///< [m], > 0
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();
  double speed = 0.0;        ///< [m/s]; negative: reverse direction
  double start_after = 0.0;  ///< [s]
  bool turns = false;        ///< the body rotates with its path; else its orientation is constant

  std::string origin = {};  ///< `file:line` of the key `body` or `actuator`; empty: not from a file

  /// Returns the position at a time [s]; `home` replaces a missing center.
  [[nodiscard]] Eigen::Vector3d position(double time, const Eigen::Vector3d& home) const noexcept;

  /// Returns the orientation at a time [s] of a body whose orientation in the scene is `home`.
  [[nodiscard]] Eigen::Quaterniond orientation(double time,
                                               const Eigen::Quaterniond& home) const noexcept;
  /// Returns the control of an actuator at a time [s].
  [[nodiscard]] double control(double time) const noexcept;
  [[nodiscard]] bool moves_orientation() const noexcept { return turns || !orientations.empty(); }

  /// Applies `motion.<body>.<field>` if its body pattern names this body or actuator, and motions
  /// of this kind have the field; returns whether it did. Throws ModelError.
  bool apply(const Setting& setting);

  struct Problem {
    std::string field, reason;  ///< `radius`, `must be > 0`
  };
  /// Says why the values do not define a motion; nothing if they do.
  [[nodiscard]] std::optional<Problem> problem() const;

 private:
  /// The segment i between two waypoints at a time, and the fraction 0 .. 1 of it.
  struct Segment {
    std::size_t from, to;
    double fraction;
  };
  [[nodiscard]] Segment segment(double time) const noexcept;
  [[nodiscard]] double circle_angle(double time) const noexcept;  ///< of a circle [rad]
};

/// Rows of the numbers of a motion in files and settings.
struct MotionNumber {
  const char* name;
  MotionKind kind;  ///< that has it
  double Motion::*member;
  Range range;
};
struct MotionVector {
  const char* name;
  MotionKind kind;  ///< that has it
  Eigen::Vector3d Motion::*member;
  Range range;
};
inline constexpr Range kMotionRange{-1e6, 1e6};  ///< m, s, Hz
[[nodiscard]] std::span<const MotionNumber> motion_numbers() noexcept;
[[nodiscard]] std::span<const MotionVector> motion_vectors() noexcept;

}  // namespace tendril::simulation
