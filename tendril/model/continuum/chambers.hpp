#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tendril/kinematics/tendon_map.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;

namespace names {
/// Sensors "C_pressure" and "C_volume" of the chamber C of the file.
[[nodiscard]] std::string chamber_pressure(const std::string& chamber);
[[nodiscard]] std::string chamber_volume(const std::string& chamber);
}  // namespace names

/// Pressure of the air outside, below which no chamber can be evacuated [Pa].
inline constexpr double kAtmosphere = 101325.0;

/// A chamber whose pressure acts along its route; the names are the keys of the robot file.
/// Pressures are above that outside [Pa].
struct Chamber {
  std::string name;  ///< of the tendon and the actuator that represent it
  TendonRoute route;
  double area = 0.0;  ///< on which the pressure acts [m^2], > 0; of a muscle, unloaded
  /// Angle of the fibers with the chamber's axis [rad], in (0, acos(1/sqrt 3)): a McKibben muscle,
  /// which pulls. Without it the chamber pushes.
  std::optional<double> braid_angle;
  double min_pressure = 0.0;   ///< >= -kAtmosphere
  double max_pressure = 1e5;   ///< > min_pressure, > 0
  double time_constant = 0.0;  ///< with which the pressure follows its command [s], >= 0
  /// Changes of volume from the straight arm between which the chamber is stopped [m^3].
  std::optional<std::pair<double, double>> volume_range;

  [[nodiscard]] bool pushes() const noexcept { return !braid_angle; }
  /// Tension per pressure in the straight arm [m^2]: -area, or of a muscle area (3 / tan^2 - 1 /
  /// sin^2) of its braid angle.
  [[nodiscard]] double tension_per_pressure() const;
  /// Fraction of its length by which a muscle contracts without load: 1 - 1 / (sqrt 3
  /// cos(braid_angle)).
  [[nodiscard]] double free_contraction() const;
};

/// Reads the tables [[chamber]] of an arm whose sections and tendons are read. Throws ModelError.
void read_chambers(const Fields& top, ContinuumDescription& robot);

/// Adds the chambers with their actuators, whose commands are pressures [Pa] in
/// [min_pressure, max_pressure], and sensors of pressure and volume, of a muscle of length and
/// tension.
///
/// A chamber is a fixed tendon over the hinges and slides of its sections. Its actuator's gear is
/// the chamber's area: its length is the change of volume, its force the pressure p, which follows
/// the command with p' = (c - p) / time_constant, and it lengthens the tendon with the force p
/// area. A McKibben muscle pulls with p area (3 / tan^2 - 1 / sin^2) (1 - e / e_0), e its
/// contraction in units of its length and e_0 the one without load: linear between the two ends of
/// the usual law.
void write_chambers(ArmDocument& arm);

}  // namespace tendril
