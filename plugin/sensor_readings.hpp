#pragma once

#include <mujoco/mujoco.h>

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/interface/measurement_faults.hpp"
#include "plugin/instance_context.hpp"

namespace tendril {

/// What the computer of a robot reads of its `[[sensor]]`s: their values with noise, resolution,
/// rate, delay and lost samples. Positions are those of the step. Velocities and forces are those
/// of the step before, because a controller runs before the engine knows them.
class SensorReadings {
 public:
  /// Throws ModelError for a rate or a delay that the timestep does not allow.
  SensorReadings(const RobotDescription& robot, double timestep, std::uint64_t seed);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// Numbers of all readings.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Finds the sensors in a compiled model. Throws ModelError if one is missing.
  void bind(const mjModel* m, const RobotNames& names);

  /// Sensors of the engine that are read.
  [[nodiscard]] std::size_t count() const noexcept { return readings_.size(); }

  /// Writes the readings of this step, and which of them have arrived in it: one flag for each
  /// sensor of the engine. The others are those of the step before. On entry `next` is a copy of
  /// `memory`.
  void read(const mjModel* m, const mjData* d, std::span<const double> memory,
            std::span<double> next, std::span<double> readings, std::span<bool> arrived) noexcept;
  /// Keeps what is only known at the end of a step.
  void end_step(const mjData* d, std::span<double> next) const noexcept;

 private:
  /// Of a marker that a camera sees.
  struct Sight {
    EngineSensor::Sight of;
    int base = -1, body = -1, site = -1;
  };
  struct Reading {
    MeasurementFaults faults;
    std::size_t width;
    bool is_orientation;
    Block memory = {}, late = {};  // `late` is empty for positions
    Slot<int> sample = {};         // number of the step of the last reading; -1: none
    std::string name = {};         // of the sensor
    int address = -1;              // in sensordata
    std::optional<Sight> sight = {};
    Block seen = {};  // where the marker was last seen, and the number of that step
  };
  [[nodiscard]] static bool is_hidden(const mjModel* m, const mjData* d,
                                      const Sight& sight) noexcept;

  MemoryLayout layout_;
  std::vector<Reading> readings_;
  std::vector<double> seen_;  // scratch: numbers of one reading and the step of its sample
  std::size_t size_ = 0;
};

/// Position of a reading among all numbers that a robot's readings are: first index and count, by
/// the name of its sensor without prefix; nothing if the robot has no such reading.
[[nodiscard]] std::optional<std::pair<std::size_t, int>> reading_range(
    const RobotDescription& robot, std::string_view name);

}  // namespace tendril
