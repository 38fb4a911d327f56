#include "controllers/watch/settling_watch.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "controllers/interface/common_rows.hpp"

using namespace tendril;
using Eigen::Vector3d;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kTolerance = 0.05 * FollowingWatch::kLengthScale;  // [m]

using Place = std::function<Vector3d(double)>;  // over time [s]

/// Steps of the watch with the tip and the target at these places.
class WatchRun {
 public:
  WatchRun() { watch_.layout().reset(memory_); }

  /// The time at which swinging is found, up to `end`; negative: it is not.
  double found(double end, const Place& tip, const Place& target, bool arrived = true) {
    double first = -1.0;
    for (; time_ < end; time_ += kTimestep) {
      next_ = memory_;
      const bool swings =
          watch_.step(arrived, {tip(time_), target(time_), 0.0, true}, kTimestep, memory_, next_);
      memory_ = next_;
      if (swings && first < 0.0) first = time_;
      swings_ = swings;
    }
    return first;
  }
  [[nodiscard]] bool swings() const { return swings_; }

 private:
  static constexpr SettingInfo kRows[] = {common::following_tolerance("0.05")};
  SettlingWatch watch_{Settings(kRows, {})};
  std::vector<double> memory_ =
      std::vector<double>(static_cast<std::size_t>(watch_.layout().size()));
  std::vector<double> next_;
  double time_ = 0.0;
  bool swings_ = false;
};

const Place kOrigin = [](double) { return Vector3d(0, 0, 0); };

Place swing(double amplitude, double frequency, double decay = 0.0) {
  return [=](double t) {
    return Vector3d(
        amplitude * std::exp(-decay * t) * std::sin(2.0 * std::numbers::pi * frequency * t), 0, 0);
  };
}

}  // namespace

TEST_CASE("settling watch: a tip that swings about a target at rest is found", "[controllers]") {
  const double frequency = GENERATE(0.7, 1.5, 3.0, 11.0);  // [Hz]
  CAPTURE(frequency);
  WatchRun run;
  const double found = run.found(20.0, swing(0.75 * kTolerance, frequency), kOrigin);
  CHECK(found > SettlingWatch::kWindow);
  CHECK(found < (SettlingWatch::kWindows + 1) * SettlingWatch::kWindow);
  CHECK(run.swings());
  SECTION("until it has come to rest") {
    run.found(20.0 + 2.5 * SettlingWatch::kWindow, kOrigin, kOrigin);
    CHECK_FALSE(run.swings());
  }
  SECTION("or the target moves on") {
    run.found(21.0, kOrigin, [](double) { return Vector3d(0.1, 0, 0); });
    CHECK_FALSE(run.swings());
  }
}

TEST_CASE("settling watch: nothing else is taken for a swing", "[controllers]") {
  WatchRun run;
  const auto quiet = [&](const Place& tip, const Place& target, bool arrived = true) {
    CHECK(run.found(30.0, tip, target, arrived) < 0.0);
  };
  SECTION("small motion") { quiet(swing(0.45 * kTolerance, 3.0), kOrigin); }
  SECTION("a swing that dies") { quiet(swing(0.05, 3.0, 1.0), kOrigin); }
  SECTION("a tip that creeps towards its target") {
    const double rate = GENERATE(0.1, 0.3, 1.0, 3.0);  // [1/s]
    quiet([=](double t) { return Vector3d(0.1 * std::exp(-rate * t), 0, 0); }, kOrigin);
  }
  SECTION("a target that moves") { quiet(swing(0.05, 0.5), swing(0.05, 0.5)); }
  SECTION("a tip on its way") { quiet(swing(0.05, 1.0), kOrigin, false); }
}
