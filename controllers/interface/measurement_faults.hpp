#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tendril/fault.hpp"
#include "tendril/memory_layout.hpp"
#include "tendril/random_draws.hpp"

namespace tendril {

/// The numbers of a channel in a measurement; none if the robot has no such channel, and for the
/// channels TipDirection and Contacts of an arm, which are no numbers of the measurement.
[[nodiscard]] std::span<double> channel_numbers(ArmMeasurement& measurement,
                                                FaultChannel channel) noexcept;
[[nodiscard]] std::span<double> channel_numbers(SnakeMeasurement& measurement,
                                                FaultChannel channel) noexcept;
[[nodiscard]] std::span<double> channel_numbers(MobileMeasurement& measurement,
                                                FaultChannel channel) noexcept;

/// Whether a controller measures the channel.
template <class Measurement>
[[nodiscard]] bool has_channel(Measurement measurement, FaultChannel channel) noexcept {
  if constexpr (std::is_same_v<Measurement, ArmMeasurement>)
    if (channel == FaultChannel::TipDirection || channel == FaultChannel::Contacts) return true;
  return !channel_numbers(measurement, channel).empty();
}

/// Faults between what is true and what a controller sees. Value faults of a channel act in the
/// order of the list, then quantize, rate, dropout, freeze and delay. All that they remember is in
/// the memory handed in, like that of a controller.
class MeasurementFaults {
 public:
  /// Faults of channels that `measurement` does not have are left out. Throws ModelError for a list
  /// of the wrong length, and for a delay of too many samples.
  /// @param timestep  of the simulation [s]
  template <class Measurement>
  MeasurementFaults(std::span<const Fault> faults, Measurement measurement, double timestep,
                    std::uint64_t seed) {
    for (const Fault& fault : faults) {
      if (!has_channel(measurement, fault.channel)) continue;
      const std::size_t width = fault.channel == FaultChannel::TipDirection
                                    ? 3
                                    : channel_numbers(measurement, fault.channel).size();
      add(fault, width, timestep, seed);
    }
    sort();
  }

  [[nodiscard]] bool empty() const noexcept { return faults_.empty(); }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Turns a true measurement into the one that is seen. On entry `next_memory` is a copy of
  /// `memory`. Returns whether anything differs. Allocates nothing.
  template <class Measurement>
  bool apply(Measurement& measurement, std::span<const double> memory,
             std::span<double> next_memory) const noexcept {
    const Step step{step_(memory), measurement.time, memory, next_memory};
    bool differs = false;
    for (const Entry& entry : faults_) {
      if (entry.fault.channel == FaultChannel::Target && !measurement.has_target) continue;
      if constexpr (std::is_same_v<Measurement, ArmMeasurement>) {
        if (entry.fault.channel == FaultChannel::TipDirection) {
          differs |= apply_to_rotation(entry, step, measurement.X_BE);
          continue;
        }
        if (entry.fault.channel == FaultChannel::Contacts) {
          const bool lost = drops_out(entry, step) && !measurement.contacts.empty();
          if (lost) measurement.contacts.clear();
          differs |= lost;
          continue;
        }
      }
      differs |= apply(entry, step, channel_numbers(measurement, entry.fault.channel));
    }
    step_(next_memory) = step.number + 1;
    return differs;
  }

  /// Numbers of memory that one fault may need.
  static constexpr std::size_t kMaxMemory = 1'000'000;

 private:
  struct Entry {
    Fault fault;
    RandomDraws draws;
    std::vector<double> strength;    // one for each number of the channel
    int steps = 0;                   // of the period, duration or delay
    double keep = 0.0, renew = 1.0;  // of noise with a correlation time
    Slot<bool> began;
    Slot<int> remaining;
    Block sample;
  };
  struct Step {
    int number;   // since the reset
    double time;  // [s]
    std::span<const double> memory;
    std::span<double> next;
  };

  void add(const Fault& fault, std::size_t width, double timestep, std::uint64_t seed);
  void sort();
  static bool apply(const Entry& entry, const Step& step, std::span<double> x) noexcept;
  static bool apply_to_rotation(const Entry& entry, const Step& step,
                                Eigen::Isometry3d& X) noexcept;
  /// Whether a dropout is under way in this step; remembers it.
  static bool drops_out(const Entry& entry, const Step& step) noexcept;

  MemoryLayout layout_;
  Slot<int> step_ = layout_.counter();
  std::vector<Entry> faults_;
};

}  // namespace tendril
