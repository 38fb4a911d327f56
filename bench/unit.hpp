#pragma once

#include <benchmark/benchmark.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <ctime>
#include <utility>

namespace tendril {

/// The unit of time of the benchmarks: one 6x6 double LLT factorization and solve by Eigen.
class LltUnit {
 public:
  LltUnit() {
    A_ = Eigen::Matrix<double, 6, 6>::Random();
    A_ = A_ * A_.transpose() + Eigen::Matrix<double, 6, 6>::Identity();
    b_ = Eigen::Matrix<double, 6, 1>::Random();
  }
  void run() {
    benchmark::DoNotOptimize(A_);
    Eigen::Matrix<double, 6, 1> x = A_.llt().solve(b_);
    benchmark::DoNotOptimize(x);
  }

 private:
  Eigen::Matrix<double, 6, 6> A_;
  Eigen::Matrix<double, 6, 1> b_;
};

/// CPU time of this process [s].
[[nodiscard]] inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// One unit now [s]: the median of short runs, about 3 ms in total. The speed of the machine varies
/// with its load, so a benchmark measures the unit before and after.
[[nodiscard]] inline double unit_seconds() {
  constexpr int kRuns = 9, kSolves = 1500;
  LltUnit unit;
  double seconds[kRuns];
  for (double& each : seconds) {
    const double begin = cpu_seconds();
    for (int i = 0; i < kSolves; ++i) unit.run();
    each = (cpu_seconds() - begin) / kSolves;
  }
  std::nth_element(seconds, seconds + kRuns / 2, seconds + kRuns);
  return seconds[kRuns / 2];
}

}  // namespace tendril
