#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tendril/random_draws.hpp"

namespace tendril {

/// What a link does to messages, each way.
struct LinkFaults {
  double delay = 0.0;   ///< [s]
  double jitter = 0.0;  ///< added to the delay, uniformly distributed from 0 to this [s]
  double loss = 0.0;    ///< fraction of the messages that do not arrive
  std::uint64_t seed = 0;
};

/// Throws ModelError for faults outside their range.
void require_valid(const LinkFaults& faults);

/// One way of a simulated link: messages of so many numbers, which arrive late or never. One that a
/// newer one has overtaken is dropped. Deterministic; allocates nothing after construction. Tested
/// by: simulated_link_test.
class SimulatedLink {
 public:
  /// Throws ModelError for faults outside their range.
  /// @param interval  between messages [s]
  /// @param name      of the draws: both ways of a link have different ones
  SimulatedLink(std::size_t numbers, const LinkFaults& faults, double interval,
                std::string_view name);

  void reset() noexcept;
  void send(double time, std::span<const double> numbers) noexcept;
  /// Takes the newest message that has arrived by now. Returns whether one newer than the last has;
  /// else nothing is written.
  bool receive(double time, std::span<double> numbers) noexcept;

 private:
  struct Slot {
    double arrives = 0.0;
    std::uint64_t number = 0;  // of the message, from 1; 0: free
  };

  std::size_t numbers_;
  LinkFaults faults_;
  RandomDraws draws_;
  std::uint64_t sent_ = 0, newest_ = 0;
  std::vector<Slot> slots_;
  std::vector<double> data_;
};

}  // namespace tendril
