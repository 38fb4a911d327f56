#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "controllers/interface/fields.hpp"
#include "tendril/fault.hpp"
#include "tendril/memory_layout.hpp"
#include "tendril/random_draws.hpp"

namespace tendril {

// ---- the numbers of a field that a fault changes

[[nodiscard]] inline std::span<double> fault_numbers(double& number) noexcept {
  return {&number, 1};
}
/// Position of a pose.
[[nodiscard]] inline std::span<double> fault_numbers(Eigen::Isometry3d& X) noexcept {
  return {X.translation().data(), 3};  // a column of the matrix
}
[[nodiscard]] inline std::span<double> fault_numbers(PlatformPose& pose) noexcept {
  static_assert(sizeof(PlatformPose) == 3 * sizeof(double));
  return {&pose.x, 3};
}
template <class Array>
[[nodiscard]] std::span<double> fault_numbers(Eigen::PlainObjectBase<Array>& array) noexcept {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

/// Calls `use` with what a channel is in a measurement: a span of numbers, `Eigen::Isometry3d&`
/// whose orientation it is, or a list of items that can get lost. Not at all if the measurement
/// does not have it, or has none of it.
template <class Measurement, class Use>
void visit_channel(Measurement& measurement, FaultChannel channel, const Use& use) {
  for_each_field<Measurement>([&](const auto& field) {
    auto& value = field.of(measurement);
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Eigen::Isometry3d>)
      if (field.direction == channel) use(value);
    if constexpr (is_list<T>) {
      if (field.channel == channel) use(value);
    } else if constexpr (requires { fault_numbers(value); }) {
      if (field.channel != channel) return;
      if (const std::span<double> numbers = fault_numbers(value); !numbers.empty()) use(numbers);
    }
  });
}

/// Tells whether a controller measures the channel.
template <class Measurement>
[[nodiscard]] bool has_channel(Measurement measurement, FaultChannel channel) noexcept {
  bool found = false;
  visit_channel(measurement, channel, [&](const auto&) { found = true; });
  return found;
}

/// Faults between what is true and what a controller sees. Value faults of a channel act in the
/// order of the list, then quantize, rate, dropout, freeze and delay. All that they remember is in
/// the memory handed in, like that of a controller.
class MeasurementFaults {
 public:
  /// Faults of channels that `measurement` does not have are left out, and those that are not of
  /// measurements. Throws ModelError for a list of the wrong length, and for a delay of too many
  /// samples.
  /// @param timestep  of the simulation [s]
  template <class Measurement>
  MeasurementFaults(std::span<const Fault> faults, Measurement measurement, double timestep,
                    std::uint64_t seed) {
    for (const Fault& fault : faults) {
      const fault::OfMeasurement* const seen = fault.of_measurement();
      if (seen == nullptr) continue;
      visit_channel(measurement, seen->channel,
                    [&](const auto& value) { add(fault, width_of(value), timestep, seed); });
    }
    sort();
  }
  /// Faults of one array of numbers; their channel does not count.
  /// @param stamp  the last number is no value but the number of the step (`step`): of the array
  ///               that is seen it tells when it was measured
  MeasurementFaults(std::span<const Fault> faults, std::size_t width, double timestep,
                    std::uint64_t seed, bool stamp = false) {
    for (const Fault& fault : faults) add(fault, width, timestep, seed, stamp);
    sort();
  }

  [[nodiscard]] bool empty() const noexcept { return faults_.empty(); }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// Number of the next `apply` since the reset.
  [[nodiscard]] int step(std::span<const double> memory) const noexcept { return step_(memory); }

  /// Turns a true measurement into the one that is seen. On entry `next_memory` is a copy of
  /// `memory`. Returns whether anything differs. Allocates nothing.
  template <class Measurement>
  bool apply(Measurement& measurement, std::span<const double> memory,
             std::span<double> next_memory) const noexcept {
    const Step step{step_(memory), measurement.time, memory, next_memory};
    bool differs = false;
    for (const Entry& entry : faults_) {
      if (entry.channel == FaultChannel("target") && !measurement.has_target) continue;
      visit_channel(measurement, entry.channel,
                    [&](auto&& value) { differs |= apply(entry, step, value); });
    }
    step_(next_memory) = step.number + 1;
    return differs;
  }

  /// The same of one array of numbers.
  bool apply(std::span<double> array, double time, std::span<const double> memory,
             std::span<double> next_memory) const noexcept {
    const Step step{step_(memory), time, memory, next_memory};
    bool differs = false;
    for (const Entry& entry : faults_) differs |= apply(entry, step, array);
    step_(next_memory) = step.number + 1;
    return differs;
  }

  /// Numbers of memory that one fault may need.
  static constexpr std::size_t kMaxMemory = 1'000'000;

 private:
  struct Entry {
    Fault fault;
    FaultChannel channel;
    RandomDraws draws;
    std::vector<double> strength = {};  // one for each number of the channel
    int steps = 0;                      // of the period, duration or delay
    int interval = 1;                   // steps between those in which a dropout may begin
    double keep = 0.0, renew = 1.0;     // of noise with a correlation time
    Slot<bool> began = {};
    Slot<int> remaining = {};
    Block sample = {};
  };
  struct Step {
    int number;   // since the reset
    double time;  // [s]
    std::span<const double> memory;
    std::span<double> next;
  };
  struct Adder;
  struct Effect;

  static std::size_t width_of(std::span<const double> numbers) noexcept { return numbers.size(); }
  static std::size_t width_of(const Eigen::Isometry3d& /*X*/) noexcept { return 3; }
  template <class Item>
  static std::size_t width_of(const std::vector<Item>& /*items*/) noexcept {
    return 0;
  }

  void add(const Fault& fault, std::size_t width, double timestep, std::uint64_t seed,
           bool stamp = false);
  void sort();
  static bool apply(const Entry& entry, const Step& step, std::span<double> x) noexcept;
  /// The orientation.
  static bool apply(const Entry& entry, const Step& step, Eigen::Isometry3d& X) noexcept;
  template <class Item>
  static bool apply(const Entry& entry, const Step& step, std::vector<Item>& items) noexcept {
    const bool lost = drops_out(entry, step) && !items.empty();
    if (lost) items.clear();
    return lost;
  }
  /// Tells whether a dropout is under way in this step; remembers it.
  static bool drops_out(const Entry& entry, const Step& step) noexcept;

  MemoryLayout layout_;
  Slot<int> step_ = layout_.counter();
  std::vector<Entry> faults_;
};

}  // namespace tendril
