#pragma once

#include <cstdint>
#include <span>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// splitmix64: a stream of numbers that is the same on every machine for the same seed. Streams of
/// neighboring seeds are independent.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Draws a number in [low, high).
  [[nodiscard]] double uniform(double low = 0.0, double high = 1.0) noexcept {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// A random admissible pose of the robot, one state per section: s uniform in [0, SD], theta
/// uniform in [0, min(limit at s, invertible bend angle)], phi uniform in [-pi, pi); drawn in this
/// order, base first. The published experiments draw their targets so. [FABRIKx] sec. 3.1
void random_states(const ContinuumRobot& robot, SplitMix64& random,
                   std::span<SectionState> states) noexcept;

/// A random admissible base: feed uniform in [0, feed_limit], spin uniform in [-pi, pi) if the base
/// can turn; drawn in this order. Draws nothing of a base that cannot move.
[[nodiscard]] BaseState random_base(const ContinuumRobot& robot, SplitMix64& random) noexcept;

}  // namespace tendril
