#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tendril::tables {

/// Histogram of positive values with bins of 1 % width from 1e-9 to 1e3 (values outside are counted
/// in the first or last bin): quantiles to 0.5 % in constant memory, and sums over cells. SI units.
class LogHistogram {
 public:
  static constexpr double kLowest = 1e-9;
  static constexpr double kRatio = 1.01;
  static constexpr int kBins = 2778;  // kLowest * kRatio^kBins = 1e3

  void add(double value) {
    if (counts_.empty()) counts_.resize(kBins);
    ++counts_[static_cast<std::size_t>(bin_of(value))];
    ++total_;
  }
  void add_bin(int bin, std::int64_t count);
  void merge(const LogHistogram& other);

  /// Smallest value with at least the fraction `fraction` of all values at or below it; NaN without
  /// values.
  [[nodiscard]] double quantile(double fraction) const;

  /// The value in the middle of a bin, on its logarithmic scale.
  [[nodiscard]] static double middle_of(int bin) noexcept {
    return kLowest * std::pow(kRatio, bin + 0.5);
  }

  [[nodiscard]] std::int64_t total() const noexcept { return total_; }
  [[nodiscard]] const std::vector<std::int64_t>& counts() const noexcept { return counts_; }

 private:
  [[nodiscard]] static int bin_of(double value) noexcept {
    if (!(value > kLowest)) return 0;
    const double bin = std::log(value / kLowest) / std::log(kRatio);
    return bin < kBins - 1 ? static_cast<int>(bin) : kBins - 1;
  }

  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
};

/// Exact histogram of integers >= 0.
class CountHistogram {
 public:
  void add(int value, std::int64_t count = 1);
  void merge(const CountHistogram& other);
  [[nodiscard]] double mean() const;                     ///< NaN without values
  [[nodiscard]] double quantile(double fraction) const;  ///< NaN without values
  [[nodiscard]] const std::vector<std::int64_t>& counts() const noexcept { return counts_; }

 private:
  std::vector<std::int64_t> counts_;
};

/// Least and largest value for each integer >= 0.
class RangeByCount {
 public:
  struct Ends {
    double least = std::numeric_limits<double>::infinity(), most = 0.0;
    [[nodiscard]] bool empty() const noexcept { return most < least; }
  };

  /// @param value  >= 0
  void add(int count, double value) { add(count, Ends{value, value}); }
  void add(int count, const Ends& values);
  void merge(const RangeByCount& other);
  /// By the integer; empty where there was no value.
  [[nodiscard]] const std::vector<Ends>& ends() const noexcept { return ends_; }

 private:
  std::vector<Ends> ends_;
};

}  // namespace tendril::tables
