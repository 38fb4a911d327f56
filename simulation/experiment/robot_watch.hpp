#pragma once

#include <mujoco/mujoco.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "controllers/interface/controller.hpp"
#include "simulation/scene/robot_bodies.hpp"

namespace tendril::simulation {

/// Count of the steps in which something was so, with the first and the last.
struct Occurrence {
  long steps = 0;
  double first = 0.0, last = 0.0;  ///< start of the step [s]

  void add(double time) noexcept {
    if (steps++ == 0) first = time;
    last = time;
  }
};

/// Statuses of a robot's controller over a run.
struct RobotStatus {
  std::string robot;       ///< title of its names
  std::string sensor;      ///< name of the sensor of its status
  bool is_sensed = false;  ///< its controller sees what its sensors say, not the truth
  ControllerStatus end = ControllerStatus::Working;
  std::array<Occurrence, kStatusCount> by_status;

  /// Returns the status with which a run does not pass: a fault at any time, or that at the end;
  /// nothing if the controller was working or had finished.
  [[nodiscard]] std::optional<ControllerStatus> failed_status() const noexcept;
  /// Says why a run with such a status does not pass.
  [[nodiscard]] std::optional<std::string> failure() const;
};

/// A servo of a robot whose force was as large as controllers let it be (Servo::kFractionOfLimit).
struct SaturatedServo {
  std::string actuator;
  double limit = 0.0;  ///< [N] or [N m]
  Occurrence occurrence;
};

/// A geom that is of no robot, and that robots touched.
struct TouchedGeom {
  std::string geom;
  double largest_force = 0.0;  ///< normal, sum over its contacts at one instant [N]
  Occurrence occurrence;
};

/// Watches the robots of a scene during a run. All memory is taken by the constructor.
class RobotWatch {
 public:
  explicit RobotWatch(const mjModel& model);

  /// Reads the model after a step that started at `time`. Returns whether a robot has a fault,
  /// loses a servo, does not follow its commands or makes no progress for the first time. No
  /// allocation.
  bool sample(const mjModel& model, const mjData& data, double time) noexcept;

  /// Returns, after a step for which `sample` returned true, one line for each robot that does not
  /// follow its commands or makes no progress since then.
  [[nodiscard]] std::vector<std::string> not_following(const mjData& data) const;

  [[nodiscard]] long steps() const noexcept { return steps_; }
  [[nodiscard]] const std::vector<RobotStatus>& statuses() const noexcept { return statuses_; }
  /// Returns those that occurred, longest first.
  [[nodiscard]] std::vector<SaturatedServo> saturated() const;
  [[nodiscard]] std::vector<TouchedGeom> touched() const;

 private:
  struct Servo {
    int actuator;
    double low, high;
    Occurrence occurrence;
  };
  struct Touch {
    double force = 0.0, largest_force = 0.0;
    Occurrence occurrence;
  };

  const mjModel& model_;
  RobotBodies robots_;
  long steps_ = 0;
  std::vector<RobotStatus> statuses_;
  std::vector<int> status_addresses_, error_addresses_,
      path_addresses_;  // in sensordata; -1: not reported
  std::vector<Servo> servos_;
  std::vector<Touch> touches_;  // per geom
};

}  // namespace tendril::simulation
