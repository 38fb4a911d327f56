#pragma once

#include <array>
#include <cstdint>

namespace tendril::simulation {

/// Wall times of the engine's steps [us]; the quantiles to within 1 %.
struct StepTimes {
  double mean = 0.0, p50 = 0.0, p99 = 0.0, p999 = 0.0, max = 0.0;
};

/// Histogram of the wall times of steps in constant memory, in buckets of 1 % width.
class StepTimeHistogram {
 public:
  void add(double time_us) noexcept;
  [[nodiscard]] StepTimes times() const;

 private:
  [[nodiscard]] double quantile(double q) const;

  std::array<std::uint64_t, 2600> counts_{};  // up to 2e9 us
  std::uint64_t count_ = 0;
  double sum_ = 0.0, max_ = 0.0;
};

}  // namespace tendril::simulation
