#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tendril {

enum class FaultKind : std::uint8_t {
  // Of measurements, in the order in which they act on one channel: those of the value, then the
  // rest.
  Noise,
  Bias,
  Scale,
  Drift,
  Quantize,
  Rate,
  Dropout,
  Freeze,
  Delay,
  // Of the body and its surroundings.
  ActuatorLoss,
  ActuatorStuck,
  ActuatorDelay,
  Stiffness,
  Friction,
  Payload,
  Gravity,
  Kick,
};

/// What a measurement fault changes.
enum class FaultChannel : std::uint8_t {
  Q,              ///< coordinates or joint angles
  Feed,           ///< of an arm or a snake
  Base,           ///< x, y, heading of a platform
  Tip,            ///< position of tip, head or tool
  TipDirection,   ///< orientation of an arm's tip, as a rotation vector
  Target,         ///< position of the target body
  Force,          ///< of an arm's feed servo
  Contacts,       ///< of an arm; only `Dropout`
  QRate,          ///< rates of Q
  BaseVelocity,   ///< rates of Base
  Moment,         ///< of an arm's actuators on its coordinates
  GravityMoment,  ///< of gravity on them
  Torque,         ///< of the actuators of a snake's joints
  GravityTorque,  ///< of gravity on the joints of snakes and mobile robots
  TendonLength,   ///< of an arm's tendons and chambers
  TendonTension,  ///< of an arm's tendons and chambers
};
inline constexpr int kFaultChannels = 16;

/// Whether the fault stands between the truth and a controller; otherwise it changes the body.
[[nodiscard]] constexpr bool is_of_measurement(FaultKind kind) noexcept {
  return kind <= FaultKind::Delay;
}

/// One `[[fault]]` of an experiment (docs/experiment_file.md). SI units. It is active in steps that
/// begin at t with start <= t < end.
struct Fault {
  std::string name;                  ///< unique; the key of its draws is `fault.<name>`
  std::optional<std::string> robot;  ///< prefix of one robot's elements; none: every robot
  FaultKind kind = FaultKind::Noise;
  FaultChannel channel = FaultChannel::Q;
  double start = 0.0, end = std::numeric_limits<double>::infinity();  ///< [s]

  /// `sigma`, `value`, `factor`, `rate` or `step` of a measurement: one number for all components,
  /// or one for each.
  std::vector<double> strength;
  double correlation_time = 0.0;             ///< of noise [s]; 0: white
  double period = 0.0;                       ///< of a rate [s]
  double probability = 0.0, duration = 0.0;  ///< of a dropout, per step; [s]; of a kick [s]
  bool gives_zero = false;                   ///< a dropout gives 0, not the last sample
  double time = 0.0;                         ///< of a delay [s]

  std::string actuator, geom, body;  ///< shell patterns
  std::vector<int> sections;         ///< from 1; empty: all
  double factor = 1.0, damping_factor = 1.0;
  std::vector<double> friction;                       ///< 1 to 3 numbers; empty: `factor`
  double mass = 0.0;                                  ///< of a payload [kg]
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  ///< [m/s^2]
  Eigen::Vector3d force = Eigen::Vector3d::Zero(),
                  torque = Eigen::Vector3d::Zero();  ///< [N], [N m]

  std::string text;    ///< TOML of the table on one line, with its name
  std::string origin;  ///< `file:line`

  /// Whether an element of this name belongs to the robot that is meant.
  [[nodiscard]] bool is_of_robot(std::string_view element) const noexcept {
    return !robot || element.starts_with(*robot);
  }
  [[nodiscard]] bool is_active(double t) const noexcept { return t >= start && t < end; }
};

}  // namespace tendril
