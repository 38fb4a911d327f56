#pragma once

// Private to tendril/robot_file: tendons and chambers in the MJCF of an arm.

#include <string>
#include <vector>

#include "tendril/robot_file/continuum_file.hpp"
#include "tendril/robot_file/mjcf_writer.hpp"

namespace tendril {

/// A joint that a tendon runs past, or a chamber acts on: its length changes by `coefficient` with the joint's coordinate.
struct TendonJoint {
  std::string joint;
  double coefficient;
};

/// The tendon's element in <tendon>.
void write_tendon(MjcfWriter& writer, const Tendon& tendon, const std::vector<TendonJoint>& joints);

/// Its actuator; `range`: of the length commands [m]; `way`: its length in the straight arm [m].
void write_tendon_actuator(MjcfWriter& writer, const Tendon& tendon, double range, double way);

/// Sensors of length and tension of every tendon and muscle, of pressure and volume of every other
/// chamber.
void write_tendon_sensors(MjcfWriter& writer, const ContinuumDescription& robot);

/// Largest change of each tendon's length that it can be told: what all sections at the limits of
/// their commands and its largest tension amount to [m]; of no meaning for chambers.
[[nodiscard]] std::vector<double> tendon_ranges(const ContinuumDescription& robot);

/// Commands of the tendons that hold the bends of the start pose against the body's stiffness.
[[nodiscard]] std::vector<double> tendon_start_commands(const ContinuumDescription& robot);

}  // namespace tendril
