#pragma once

#include <optional>
#include <vector>

namespace tendril {

/// What an estimator of a snake makes of the readings of its sensors.
struct SnakeObservations {
  struct Encoder {
    double deviation = 0.0;  ///< [rad], > 0
    double delay = 0.0;      ///< [s]
  };
  struct Imu {
    double rate_deviation = 0.0, force_deviation = 0.0;  ///< of a sample [rad/s], [m/s^2]
    double rate_bias = 0.0;                              ///< deviation of its offset [rad/s]
    double delay = 0.0;                                  ///< [s]
  };
  std::vector<std::optional<Encoder>> encoders;  ///< of each joint
  std::optional<Imu> imu;
  /// Where the reading of a sensor of the engine goes, in the order of the file.
  struct Use {
    enum class Kind { None, Joint, Rate, Force };
    Kind kind = Kind::None;
    int joint = 0;  ///< from 0
    int width = 1;  ///< numbers of the reading; 4 of an orientation
  };
  std::vector<Use> uses;
};

}  // namespace tendril
