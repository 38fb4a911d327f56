#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
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

  /// Calls `take(sensor, its joint, numbers)` for each reading that has come and is finite.
  /// @param readings  of all sensors of the engine, one after the other
  /// @param arrived   one flag for each of these sensors
  template <class F>
  void for_each_new(std::span<const double> readings, std::span<const bool> arrived,
                    const F& take) const noexcept {
    std::size_t first = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto width = static_cast<std::size_t>(uses[i].width);
      const std::span<const double> numbers = readings.subspan(first, width);
      first += width;
      if (arrived[i] && std::isfinite(numbers[0])) take(i, uses[i].joint, numbers);
    }
  }
  /// Collects the new readings of the joints; NaN: none.
  void collect(std::span<const double> readings, std::span<const bool> arrived,
               std::span<double> values) const noexcept {
    std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
    for_each_new(readings, arrived, [&](std::size_t, int joint, std::span<const double> numbers) {
      if (joint >= 0) values[static_cast<std::size_t>(joint)] = numbers[0];
    });
  }
};

}  // namespace tendril
