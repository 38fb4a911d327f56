#pragma once

// Read sensors.hpp first.

#include <vector>

#include "tendril/estimation/sensors.hpp"

namespace tendril {

/// What an estimator of an arm makes of the readings of its sensors.
struct ArmObservations {
  std::vector<Sensor> sensors;  ///< for ArmSensors
  /// Where the reading of a sensor of the engine goes, in the order of the file.
  struct Use {
    int sensor = -1;  ///< of `sensors`, or -1
    int index = 0;    ///< of its first number in that sensor's reading
    int width = 1;    ///< numbers there; a quaternion is read as a rotation vector
    bool is_orientation = false;
    double factor = 1.0, offset = 0.0;  ///< see Observed
    int tension_of = -1;                ///< tendon whose tension it is, or -1
    int drum_of = -1;                   ///< tendon whose drum it is, or -1
  };
  std::vector<Use> uses;
  /// One per tendon: of the tension that is measured, or follows from its drum [N]; 0 of others.
  std::vector<double> tension_deviations;
};

}  // namespace tendril
