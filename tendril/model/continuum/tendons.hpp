#pragma once

#include <string>

#include "tendril/kinematics/tendon_map.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;

namespace names {
/// Sensors "T_length" and "T_tension" of the tendon T of the file, or of a muscle.
[[nodiscard]] std::string tendon_length(const std::string& tendon);
[[nodiscard]] std::string tendon_tension(const std::string& tendon);
/// Tendon "T_friction_1": friction of the tendon T in a section, from 1.
[[nodiscard]] std::string tendon_friction(const std::string& tendon, int section);
}  // namespace names

/// Most tendons of an arm, and most chambers.
inline constexpr int kMaxTendons = 100;

/// Command of a tendon's actuator.
enum class TendonCommand { Length, Tension };

/// A tendon and the actuator that pulls it; the names are the keys of the robot file.
struct Tendon {
  std::string name;  ///< of the tendon and its actuator
  TendonRoute route;
  TendonCommand command = TendonCommand::Length;
  double max_tension = 50.0;  ///< [N], > 0
  double pretension = 1.0;    ///< [N], in [0, max_tension): of the straight arm with commands 0, if
                              ///< its length is commanded; the least that controllers ask for
  double stiffness = 2.0e4;   ///< of the whole tendon [N/m], > 0; if its length is commanded
  double damping_time = 0.005;  ///< its damping / stiffness [s], >= 0
  double friction = 0.0;        ///< Coulomb friction along its path, whatever the tension [N], >= 0
  /// Coefficient of the friction that grows with tension and bend, >= 0; the controller's plugin
  /// simulates it.
  double friction_coefficient = 0.0;
};

/// Reads the tables [[tendon]] of an arm whose sections are read. Throws ModelError.
void read_tendons(const Fields& top, ContinuumDescription& robot);

/// Throws ModelError naming a tendon whose friction a controller would have to simulate.
void refuse_friction(const Fields& top, const ContinuumDescription& robot);

/// Adds the tendons with their actuators and the sensors of length and tension. The command of the
/// actuator T is a change of length [m], or a tension [N] in [0, max_tension].
///
/// A tendon is a fixed tendon over the hinges that it runs past; its length is 0 in the straight
/// arm. Its actuator only pulls; with c its command and l its length
///
///     tension = clip(k (l - c) + pretension + k damping_time l', 0, max_tension)   length
///     tension = clip(c, 0, max_tension)                                            tension
///
/// A tendon that turns about the backbone is a spatial tendon through sites T_1, T_2, ...: at the
/// base, a quarter of a link before and after every joint, and at its end. Its length in the
/// straight arm is in the actuator's bias, so that the command is the change of length; the sensor
/// T_length measures all of it.
void write_tendons(ArmDocument& arm);

/// Adds, for a tendon with `friction_coefficient`, one more fixed tendon for each section that it
/// runs through, whose length is how far it slides there. Its friction is next to nothing in the
/// model; the controller's plugin sets it in every step.
void write_tendon_friction(ArmDocument& arm);

}  // namespace tendril
