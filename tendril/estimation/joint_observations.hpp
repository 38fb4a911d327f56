#pragma once

#include <optional>
#include <vector>

namespace tendril {

/// What an estimator makes of the encoders of a robot's joints.
struct JointObservations {
  struct Encoder {
    double deviation = 0.0;  ///< [rad], [m], > 0
    double delay = 0.0;      ///< [s]
  };
  std::vector<std::optional<Encoder>> encoders;  ///< of each joint
  /// Where the reading of a sensor of the engine goes, in the order of the file.
  struct Use {
    int joint = -1;  ///< from 0; -1: nowhere
    int width = 1;   ///< numbers of the reading
  };
  std::vector<Use> uses;
};

}  // namespace tendril
