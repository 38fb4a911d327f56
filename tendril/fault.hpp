#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tendril {

/// Names of what measurement faults change: `channel` of a fault. The fields of the measurements
/// (controllers/interface/) say which channel each of them is.
inline constexpr std::array<std::string_view, 16> kFaultChannels{
    "q",      "feed",           "base",          "tip",           "tip_direction", "target",
    "force",  "contacts",       "q_rate",        "base_velocity", "moment",        "gravity_moment",
    "torque", "gravity_torque", "tendon_length", "tendon_tension"};

/// One of `kFaultChannels`.
class FaultChannel {
 public:
  consteval FaultChannel(const char* name) : index_(index_of(name)) {       // NOLINT: from a name
    if (index_ == kFaultChannels.size()) throw "there is no such channel";  // at compile time
  }
  /// The channel of a name, if there is one.
  [[nodiscard]] static constexpr std::optional<FaultChannel> find(std::string_view name) noexcept {
    const std::size_t index = index_of(name);
    if (index == kFaultChannels.size()) return std::nullopt;
    return FaultChannel(index);
  }
  [[nodiscard]] constexpr std::string_view name() const noexcept { return kFaultChannels[index_]; }
  [[nodiscard]] constexpr auto operator<=>(const FaultChannel&) const noexcept = default;

 private:
  constexpr explicit FaultChannel(std::size_t index) noexcept : index_(index) {}
  static constexpr std::size_t index_of(std::string_view name) noexcept {
    return static_cast<std::size_t>(std::find(kFaultChannels.begin(), kFaultChannels.end(), name) -
                                    kFaultChannels.begin());
  }

  std::size_t index_;
};

/// The kinds of faults with what each of them has apart from its name and its time
/// (docs/reference/experiment_file.md). SI units.
namespace fault {

// Of measurements. A strength is one number for all components of the channel, or one for each.
struct Noise {
  std::vector<double> sigma;
  double correlation_time = 0.0;  ///< [s]; 0: white
};
struct Bias {
  std::vector<double> value;
};
struct Scale {
  std::vector<double> factor;
};
struct Drift {
  std::vector<double> rate;  ///< [1/s]
};
struct Backlash {
  std::vector<double> width;
};
struct Quantize {
  std::vector<double> step;
};
struct Rate {
  double period = 0.0;  ///< [s]
};
struct Dropout {
  double probability = 0.0;  ///< per step
  double duration = 0.0;     ///< [s]
  bool gives_zero = false;   ///< 0, not the last sample
  double interval = 0.0;     ///< between the steps in which one may begin [s]; 0: every step
};
struct Freeze {};
struct Delay {
  double time = 0.0;  ///< [s]
};

/// A fault between the truth and a controller. The kinds are in the order in which they act on
/// one channel: those of the value up to Backlash, in the order of the file, then the rest.
struct OfMeasurement {
  FaultChannel channel = "q";
  std::variant<Noise, Bias, Scale, Drift, Backlash, Quantize, Rate, Dropout, Freeze, Delay> kind;

  /// Returns the strength: one number for all components, or one for each; empty: it has none.
  [[nodiscard]] const std::vector<double>& strength() const noexcept;
  /// Tells whether its effect is drawn from the seed.
  [[nodiscard]] bool is_random() const noexcept {
    return std::holds_alternative<Noise>(kind) || std::holds_alternative<Dropout>(kind);
  }
};

// Of the body and its surroundings. Names of elements are shell patterns.
struct ActuatorLoss {
  std::string actuator;
  double factor = 1.0;
};
struct ActuatorStuck {
  std::string actuator;
};
struct ActuatorDelay {
  std::string actuator;
  double time = 0.0;  ///< [s]
};
struct Stiffness {
  std::vector<int> sections;  ///< from 1; empty: all
  double factor = 1.0, damping_factor = 1.0;
};
struct Friction {
  std::string geom;
  double factor = 1.0;
  std::vector<double> value;  ///< 1 to 3 numbers instead of the factor, or none
};
struct Payload {
  std::string body;
  double mass = 0.0;  ///< [kg]
};
struct Gravity {
  Eigen::Vector3d value = Eigen::Vector3d::Zero();  ///< [m/s^2]
};
struct Kick {
  std::string body;
  Eigen::Vector3d force = Eigen::Vector3d::Zero();   ///< [N]
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();  ///< [N m]
  double duration = 0.0;                             ///< [s]
};

}  // namespace fault

/// One `[[fault]]` of an experiment. It is active in steps that begin at t with start <= t < end.
struct Fault {
  std::string name;                  ///< unique; the key of its draws is `fault.<name>`
  std::optional<std::string> robot;  ///< prefix of one robot's elements; none: every robot
  double start = 0.0, end = std::numeric_limits<double>::infinity();  ///< [s]
  std::variant<fault::OfMeasurement, fault::ActuatorLoss, fault::ActuatorStuck,
               fault::ActuatorDelay, fault::Stiffness, fault::Friction, fault::Payload,
               fault::Gravity, fault::Kick>
      kind;
  std::string text;    ///< TOML of the table on one line, with its name
  std::string origin;  ///< `file:line`

  /// Returns what the fault changes between the truth and a controller; null: it changes the body.
  [[nodiscard]] const fault::OfMeasurement* of_measurement() const noexcept {
    return std::get_if<fault::OfMeasurement>(&kind);
  }
  /// Tells whether an element of this name belongs to the robot that is meant.
  [[nodiscard]] bool is_of_robot(std::string_view element) const noexcept {
    return !robot || element.starts_with(*robot);
  }
  [[nodiscard]] bool is_active(double t) const noexcept { return t >= start && t < end; }
};

}  // namespace tendril
