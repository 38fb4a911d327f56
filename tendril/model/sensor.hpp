#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tendril/estimation/sensors.hpp"
#include "tendril/fault.hpp"

namespace tendril {

class MjcfDocument;

namespace names {
/// Sensor "tracker_position_reading".
[[nodiscard]] std::string reading(const std::string& sensor);
}  // namespace names

/// What a sensor is to an estimator: numbers in a reading of a sensor of ArmSensors.
struct Observed {
  SensorKind kind = SensorKind::Position;
  BodyPlace place{};
  int index = 0;                      ///< of its first number in the reading
  double factor = 1.0, offset = 0.0;  ///< number of the reading = factor measured + offset
};

/// A sensor of the engine, and what the robot's computer reads of it.
struct EngineSensor {
  std::string name;  ///< "tracker_position", without attach prefix
  std::string type;  ///< element of MJCF, "framepos"; "plugin": of the robot's controller
  std::vector<std::pair<std::string, std::string>> attributes;
  int width = 1;                ///< numbers
  int quantity = 0;             ///< of the two of its kind; 1: the second
  bool is_orientation = false;  ///< a unit quaternion
  /// Of velocities or forces, which the engine knows at the end of a step: they are read in the
  /// next one.
  bool is_late = false;
  std::vector<Fault> imperfections;                 ///< between its value and the reading
  std::optional<Observed> observed = std::nullopt;  ///< if estimators of such robots use it
  int tension_of = -1;                              ///< tendon whose tension it measures, or -1
  int drum_of = -1;  ///< tendon whose drum it measures, or -1; the controller's plugin does
  /// A point on the body that a camera sees, unless something is between them.
  struct Sight {
    Eigen::Vector3d camera;  ///< base frame [m]
    double radius = 0.0;     ///< of the body, in which the point is [m]
  };
  std::optional<Sight> sight = std::nullopt;
};

/// A `[[sensor]]` of a robot file: sensors of the engine, with what they need in the model.
struct RobotSensor {
  /// A site on the body.
  struct Site {
    std::string name;
    double place = 0.0;       ///< fraction of the body's length
    bool is_on_base = false;  ///< at its origin instead, before any feed
  };
  /// A fixed tendon whose length is a component of the curvature.
  struct Grating {
    std::string name;
    double place = 0.0;
    char component = 'x';  ///< towards x or y of the body there
  };

  /// A fixed tendon whose length is a coordinate of a section, without its offset.
  struct Encoder {
    std::string name;
    int section = 1;  ///< from 1
    char axis = 'y';  ///< of its joints
  };

  std::string name;
  std::string origin;              ///< `arm.toml:12`
  double rate = 0.0, delay = 0.0;  ///< [Hz], [s]; 0: every step, at once
  std::vector<EngineSensor> sensors;
  std::vector<Site> sites;
  std::vector<Grating> gratings;
  std::vector<Encoder> encoders;
};

/// Throws ModelError for a rate or a delay that a simulation with this timestep [s] cannot have.
void require_sampled(std::span<const RobotSensor> sensors, double timestep);

/// Adds the sensors of the engine, and with a controller their readings. Throws ModelError for a
/// name that another sensor has.
/// @param plugin  of the robot's controller; empty: it has none
void write_sensors(std::span<const RobotSensor> sensors, const std::string& plugin,
                   MjcfDocument& mjcf);

}  // namespace tendril
