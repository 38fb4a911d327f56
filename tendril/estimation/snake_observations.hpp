#pragma once

#include <optional>
#include <vector>

#include "tendril/estimation/joint_observations.hpp"

namespace tendril {

/// What an estimator of a snake makes of the readings of its sensors.
struct SnakeObservations {
  struct Imu {
    double rate_deviation = 0.0, force_deviation = 0.0;  ///< of a sample [rad/s], [m/s^2]
    double rate_bias = 0.0;                              ///< deviation of its offset [rad/s]
    double delay = 0.0;                                  ///< [s]
  };
  JointObservations joints;
  std::optional<Imu> imu;
  /// What of the unit a sensor of the engine is, in the order of `joints.uses`.
  enum class Part { None, Rate, Force };
  std::vector<Part> parts;
};

}  // namespace tendril
