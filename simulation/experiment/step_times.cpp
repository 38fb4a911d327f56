#include "simulation/experiment/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tendril::simulation {

namespace {

constexpr double kSmallestTime = 0.01;  // us
constexpr double kBucketWidth = 0.01;

}  // namespace

void StepTimeHistogram::add(double time_us) noexcept {
  const double bucket = std::log(std::max(time_us, kSmallestTime) / kSmallestTime) / kBucketWidth;
  counts_[std::min(static_cast<std::size_t>(bucket), counts_.size() - 1)] += 1;
  count_ += 1;
  sum_ += time_us;
  max_ = std::max(max_, time_us);
}

StepTimes StepTimeHistogram::times() const {
  if (count_ == 0) return {};
  return {sum_ / static_cast<double>(count_), quantile(0.5), quantile(0.99), quantile(0.999), max_};
}

/// The center of the bucket that contains the value of this rank.
double StepTimeHistogram::quantile(double q) const {
  const double rank = std::max(1.0, std::ceil(q * static_cast<double>(count_)));
  double below = 0.0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += static_cast<double>(counts_[i]);
    if (below < rank) continue;
    return std::min(max_, kSmallestTime * std::exp((static_cast<double>(i) + 0.5) * kBucketWidth));
  }
  return max_;
}

}  // namespace tendril::simulation
