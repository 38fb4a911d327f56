#include "drive/simulated_link.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {

void require_valid(const LinkFaults& faults) {
  const auto require = [](bool holds, const char* name, double value, const char* allowed) {
    if (!holds)
      throw ModelError(std::string("link: ") + name + " = " + std::to_string(value) + ": must be " +
                       allowed);
  };
  constexpr double kLongest = 10.0;  // s
  require(faults.delay >= 0.0 && faults.delay <= kLongest, "delay", faults.delay, "in [0, 10] s");
  require(faults.jitter >= 0.0 && faults.jitter <= kLongest, "jitter", faults.jitter,
          "in [0, 10] s");
  require(faults.loss >= 0.0 && faults.loss <= 1.0, "loss", faults.loss, "in [0, 1]");
}

SimulatedLink::SimulatedLink(std::size_t numbers, const LinkFaults& faults, double interval,
                             std::string_view name)
    : numbers_(numbers), faults_(faults), draws_(faults.seed, name) {
  require_valid(faults);
  const auto most =
      static_cast<std::size_t>(std::ceil((faults.delay + faults.jitter) / interval)) + 2;
  slots_.resize(most);
  data_.resize(most * numbers);
}

void SimulatedLink::reset() noexcept {
  sent_ = newest_ = 0;
  std::ranges::fill(slots_, Slot());
}

void SimulatedLink::send(double time, std::span<const double> numbers) noexcept {
  const std::uint64_t number = ++sent_;
  if (draws_.uniform(2 * number) < faults_.loss) return;
  const auto free = std::ranges::find(slots_, std::uint64_t{0}, &Slot::number);
  if (free == slots_.end()) return;  // sent more often than told
  *free = {time + faults_.delay + faults_.jitter * draws_.uniform(2 * number + 1), number};
  const auto first = static_cast<std::size_t>(free - slots_.begin()) * numbers_;
  std::ranges::copy(numbers, data_.begin() + static_cast<long>(first));
}

bool SimulatedLink::receive(double time, std::span<double> numbers) noexcept {
  constexpr double kRounding = 1e-9;  // s
  bool any = false;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.number == 0 || slot.arrives > time + kRounding) continue;
    if (slot.number > newest_) {
      newest_ = slot.number;
      std::copy_n(data_.begin() + static_cast<long>(i * numbers_), numbers_, numbers.begin());
      any = true;
    }
    slot.number = 0;
  }
  return any;
}

}  // namespace tendril
