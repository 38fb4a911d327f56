#include "bench/published/histogram.hpp"

#include <algorithm>
#include <numeric>

namespace tendril::tables {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Index of the first bin at which the cumulative count is at least `fraction` times `total`.
std::size_t quantile_bin(const std::vector<std::int64_t>& counts, std::int64_t total,
                         double fraction) {
  const auto rank = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(total))));
  std::int64_t reached = 0;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    reached += counts[bin];
    if (reached >= rank) return bin;
  }
  return counts.size() - 1;
}

}  // namespace

void LogHistogram::add_bin(int bin, std::int64_t count) {
  if (counts_.empty()) counts_.resize(kBins);
  counts_.at(static_cast<std::size_t>(bin)) += count;
  total_ += count;
}

void LogHistogram::merge(const LogHistogram& other) {
  if (other.total_ == 0) return;
  if (counts_.empty()) counts_.resize(kBins);
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) counts_[bin] += other.counts_[bin];
  total_ += other.total_;
}

double LogHistogram::quantile(double fraction) const {
  if (total_ == 0) return kNan;
  return middle_of(static_cast<int>(quantile_bin(counts_, total_, fraction)));
}

void CountHistogram::add(int value, std::int64_t count) {
  const auto bin = static_cast<std::size_t>(std::max(0, value));
  if (bin >= counts_.size()) counts_.resize(bin + 1);
  counts_[bin] += count;
}

void CountHistogram::merge(const CountHistogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t bin = 0; bin < other.counts_.size(); ++bin) counts_[bin] += other.counts_[bin];
}

double CountHistogram::mean() const {
  std::int64_t total = 0, sum = 0;
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
    total += counts_[bin];
    sum += counts_[bin] * static_cast<std::int64_t>(bin);
  }
  return total == 0 ? kNan : static_cast<double>(sum) / static_cast<double>(total);
}

double CountHistogram::quantile(double fraction) const {
  const std::int64_t total = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  return total == 0 ? kNan : static_cast<double>(quantile_bin(counts_, total, fraction));
}

void RangeByCount::add(int count, const Ends& values) {
  const auto at = static_cast<std::size_t>(std::max(0, count));
  if (at >= ends_.size()) ends_.resize(at + 1);
  ends_[at].least = std::min(ends_[at].least, values.least);
  ends_[at].most = std::max(ends_[at].most, values.most);
}

void RangeByCount::merge(const RangeByCount& other) {
  for (std::size_t count = 0; count < other.ends_.size(); ++count) {
    if (!other.ends_[count].empty()) add(static_cast<int>(count), other.ends_[count]);
  }
}

}  // namespace tendril::tables
