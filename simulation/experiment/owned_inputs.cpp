#include "simulation/experiment/owned_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tendril::simulation {

OwnedInputs::OwnedInputs(std::vector<OwnedInput> inputs, const mjData& data) : time_(data.time) {
  for (OwnedInput& input : inputs) {
    const mjtNum* const now = data.*input.field + input.address;
    std::vector<mjtNum> values(now, now + input.size);
    entries_.push_back({std::move(input), values, values});
  }
}

void OwnedInputs::before_step(const mjData& data) noexcept {
  const bool is_restored = data.time != time_;  // another state, with its inputs
  for (Entry& entry : entries_) {
    const mjtNum* const now = data.*entry.input.field + entry.input.address;
    entry.is_written = !is_restored && !std::equal(entry.last.begin(), entry.last.end(), now);
    if (entry.is_written) std::copy_n(now, entry.written.size(), entry.written.begin());
  }
}

bool OwnedInputs::after_step(const mjData& data) noexcept {
  bool is_any_new = false;
  for (Entry& entry : entries_) {
    const mjtNum* const now = data.*entry.input.field + entry.input.address;
    std::copy_n(now, entry.last.size(), entry.last.begin());
    entry.is_new = entry.is_written && !entry.is_told && entry.written != entry.last;
    entry.is_told |= entry.is_new;
    is_any_new |= entry.is_new;
  }
  time_ = data.time;
  return is_any_new;
}

std::string OwnedInputs::overwritten() const {
  const auto is_new = [](const Entry& entry) { return entry.is_new; };
  const auto first = std::find_if(entries_.begin(), entries_.end(), is_new);
  if (first == entries_.end()) return {};
  const auto others = std::count_if(first + 1, entries_.end(), is_new);
  return fmt::format("{}{}: {:.6g}{} was written between two steps and is overwritten by {}",
                     first->input.name, others > 0 ? fmt::format(" and {} more", others) : "",
                     first->written.front(), first->input.size > 1 ? ", …" : "",
                     first->input.owner);
}

}  // namespace tendril::simulation
