#include "tendril/memory_layout.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tendril {
namespace {

/// The exponents of all numbers at once, without branches: this runs in every step.
bool all_finite(std::span<const double> numbers) noexcept {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000;
  std::uint64_t not_finite = 0;
  for (const double number : numbers)
    not_finite |= (std::bit_cast<std::uint64_t>(number) & kExponent) == kExponent ? 1 : 0;
  return not_finite == 0;
}

}  // namespace

std::size_t MemoryLayout::add(std::size_t count, double start, const int* low, const int* high) {
  const std::size_t offset = start_.size();
  start_.resize(offset + count, start);
  if (low != nullptr) integers_.push_back({offset, count, *low, *high});
  return offset;
}

Slot<double> MemoryLayout::number(double start) { return {add(1, start, nullptr, nullptr), 0, 0}; }

Slot<bool> MemoryLayout::flag(bool start) {
  constexpr int kLow = 0, kHigh = 1;
  return {add(1, start ? 1.0 : 0.0, &kLow, &kHigh), kLow, kHigh};
}

Slot<int> MemoryLayout::index(int low, int high, int start) {
  return {add(1, std::clamp(start, low, high), &low, &high), low, high};
}

Block MemoryLayout::numbers(std::size_t count, double start) {
  return {add(count, start, nullptr, nullptr), count};
}

Block MemoryLayout::numbers(std::span<const double> start) {
  const std::size_t offset = start_.size();
  start_.insert(start_.end(), start.begin(), start.end());
  return {offset, start.size()};
}

Block MemoryLayout::indices(std::size_t count, int low, int high) {
  return {add(count, std::clamp(0, low, high), &low, &high), count};
}

Block MemoryLayout::part(const MemoryLayout& part) {
  const std::size_t offset = start_.size();
  start_.insert(start_.end(), part.start_.begin(), part.start_.end());
  for (const Integers& integers : part.integers_)
    integers_.push_back({offset + integers.offset, integers.count, integers.low, integers.high});
  return {offset, part.start_.size()};
}

void MemoryLayout::reset(std::span<double> memory) const noexcept {
  std::copy(start_.begin(), start_.end(), memory.begin());
}

bool MemoryLayout::is_valid(std::span<const double> memory) const noexcept {
  if (memory.size() != start_.size() || !all_finite(memory)) return false;
  return std::all_of(integers_.begin(), integers_.end(), [&](const Integers& entry) {
    const std::span<const double> values = memory.subspan(entry.offset, entry.count);
    return std::all_of(values.begin(), values.end(), [&](double value) {
      return value >= entry.low && value <= entry.high && value == std::floor(value);
    });
  });
}

}  // namespace tendril
