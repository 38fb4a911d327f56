#pragma once

#include <cstdint>
#include <string_view>

namespace tendril {

/// Random numbers that depend on a seed, a key and a counter only, and are the same on every
/// machine: splitmix64 of (seed, FNV-1a of the key, counter). docs/reference/experiment_file.md,
/// "Random settings: `[vary]`".
class RandomDraws {
 public:
  RandomDraws(std::uint64_t seed, std::string_view key) : state_(mixed(mixed(seed) ^ hash(key))) {}

  /// Returns draw number `counter`, in [0, 1).
  [[nodiscard]] double uniform(std::uint64_t counter) const noexcept {
    return static_cast<double>(mixed(state_ + counter) >> 11) * 0x1.0p-53;
  }
  /// Sum of twelve uniform numbers minus 6: mean 0, standard deviation 1, never above 6.
  [[nodiscard]] double normal(std::uint64_t first_counter) const noexcept {
    double sum = -6.0;
    for (std::uint64_t i = 0; i < kPerNormal; ++i) sum += uniform(first_counter + i);
    return sum;
  }
  static constexpr std::uint64_t kPerNormal = 12;
  /// Seed and key in one number, to which draws add their counters.
  [[nodiscard]] std::uint64_t state() const noexcept { return state_; }

 private:
  static std::uint64_t mixed(std::uint64_t x) noexcept {  // output function of splitmix64
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  static std::uint64_t hash(std::string_view text) noexcept {  // FNV-1a
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return h;
  }

  std::uint64_t state_;
};

}  // namespace tendril
