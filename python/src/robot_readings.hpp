#pragma once

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drive/robot_ports.hpp"
#include "python/src/robots.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {

/// Numbers as a new array.
inline nb::object array(std::span<const double> numbers) {
  Output out({numbers.size()}, {});
  std::ranges::copy(numbers, out.data());
  return out.take();
}

/// What the computer of a robot is told in Python: the newest readings by their names, and commands
/// of its actuators.
class RobotReadings {
 public:
  /// The ports must outlive it.
  explicit RobotReadings(const RobotPorts& ports)
      : ports_(ports),
        values_(ports.reading_count, 0.0),
        arrived_(std::make_unique<bool[]>(ports.sensor_count)) {}

  [[nodiscard]] std::span<const double> values() const noexcept { return values_; }
  [[nodiscard]] std::span<const bool> arrived() const noexcept {
    return {arrived_.get(), ports_.sensor_count};
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const RobotPorts::Channel& channel : ports_.channels) names.push_back(channel.name);
    return names;
  }
  [[nodiscard]] std::vector<int> widths() const {
    std::vector<int> all;
    for (const RobotPorts::Channel& channel : ports_.channels) all.push_back(channel.width);
    return all;
  }
  [[nodiscard]] std::vector<std::string> actuators() const {
    std::vector<std::string> names;
    for (const RobotPorts::Actuator& actuator : ports_.actuators) names.push_back(actuator.name);
    return names;
  }
  [[nodiscard]] nb::object ranges() const {
    Output out({ports_.actuators.size()}, Axes{2});
    double* next = out.data();
    for (const RobotPorts::Actuator& actuator : ports_.actuators)
      for (const double limit : actuator.range) *next++ = limit;
    return out.take();
  }

  /// Takes the readings that have come; the others are as before.
  /// @param is_first  the message has those of the actuators
  void take(const nb::dict& given, bool is_first) {
    std::size_t found = 0, first = 0, sensor = 0;
    for (const RobotPorts::Channel& channel : ports_.channels) {
      const auto width = static_cast<std::size_t>(channel.width);
      const bool is_given = given.contains(channel.name.c_str());
      if (is_given) {
        ++found;
        const nb::object value = given[channel.name.c_str()];
        const Input input(channel.name.c_str(), value, channel.width == 1 ? Axes{} : Axes{width});
        input.require_leading({});
        std::ranges::copy(input.all(), values_.begin() + static_cast<std::ptrdiff_t>(first));
      } else if (!channel.is_sensor && is_first) {
        throw ModelError("readings: has no " + channel.name +
                         ": the first message must have those of the actuators");
      }
      if (channel.is_sensor) arrived_[sensor++] = is_given;
      first += width;
    }
    if (found == given.size()) return;
    for (const auto [key, value] : given) {
      const auto name = nb::cast<std::string>(nb::str(key));
      if (std::ranges::none_of(ports_.channels, [&](const auto& c) { return c.name == name; }))
        throw ModelError("readings: " + name + ": is no reading of the robot");
    }
  }
  /// Nothing has come.
  void take_none() noexcept { std::fill_n(arrived_.get(), ports_.sensor_count, false); }

  /// Reads commands of all actuators.
  static void read_commands(nb::handle value, std::span<double> commands) {
    const Input input("commands", value, Axes{commands.size()});
    input.require_leading({});
    input.require_finite();
    std::ranges::copy(input.all(), commands.begin());
  }

 private:
  const RobotPorts& ports_;
  std::vector<double> values_;
  std::unique_ptr<bool[]> arrived_;
};

/// Three numbers; nothing: None.
[[nodiscard]] inline std::optional<Eigen::Vector3d> optional_vector(const char* name,
                                                                    nb::handle value) {
  if (value.is_none()) return std::nullopt;
  const Input numbers(name, value, Axes{3});
  numbers.require_leading({});
  numbers.require_finite();
  return Eigen::Vector3d(numbers.all().data());
}

/// Options of a computer that is a robot's.
[[nodiscard]] inline ComputerOptions computer_options(double timestep, double link_delay,
                                                      nb::handle orientation, nb::handle gravity) {
  ComputerOptions all{.timestep = timestep, .link_delay = link_delay, .are_forces_late = false};
  if (const auto given = optional_vector("gravity", gravity)) all.gravity = *given;
  if (orientation.is_none()) return all;
  const Input R("orientation", orientation, Axes{3, 3});
  R.require_leading({});
  R.require_finite();
  const Eigen::Matrix3d R_WB =
      Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(R.all().data());
  constexpr double kTolerance = 1e-6;
  if (!(R_WB.transpose() * R_WB).isIdentity(kTolerance) || R_WB.determinant() < 0.0)
    throw ModelError("orientation: must be a rotation matrix");
  all.R_WB = R_WB;
  return all;
}

}  // namespace tendril::python
