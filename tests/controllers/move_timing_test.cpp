#include "controllers/arm/move_timing.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

using namespace tendril;

namespace {

constexpr double kStep = 0.002, kRate = 5.0;  // [s], [rad/s]

Settings settings_with(const Settings::Texts& values) {
  static const std::vector<SettingInfo> rows{MoveTiming::kSetting};
  return Settings(rows, values);
}

/// A pose of one coordinate that moves to goals.
class Mover {
 public:
  explicit Mover(double swing_period, const Settings::Texts& values = {})
      : timing_(settings_with(values)),
        period_(swing_period),
        memory_(static_cast<std::size_t>(timing_.layout().size())) {
    timing_.layout().reset(memory_);
  }

  double step(double goal) {
    const double way = goal - q_;
    const double at_limit = kRate * kStep / std::max(std::abs(way), 1e-12);
    std::vector<double> next = memory_;
    q_ += timing_.fraction(at_limit, period_, kStep, memory_, next) * way;
    memory_ = next;
    return q_;
  }

 private:
  MoveTiming timing_;
  double period_, q_ = 0.0;
  std::vector<double> memory_;
};

/// Amplitude of an undamped oscillator that follows these positions, once they rest.
double swing_after(const std::vector<double>& positions, double period) {
  const double omega = 2.0 * std::numbers::pi / period;
  std::complex<double> sum = 0.0;
  double last = 0.0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    sum += (positions[i] - last) * std::polar(1.0, omega * kStep * static_cast<double>(i));
    last = positions[i];
  }
  return std::abs(sum);
}

std::vector<double> positions_of(Mover mover, double goal, double time) {
  std::vector<double> positions;
  for (int i = 0; i * kStep < time; ++i) positions.push_back(mover.step(goal));
  return positions;
}

}  // namespace

TEST_CASE("move timing: a body that does not swing moves at the rate limit", "[controllers]") {
  const std::vector<double> positions = positions_of(Mover(0.0), 0.5, 0.2);
  for (std::size_t i = 0; i < positions.size(); ++i)
    CHECK(positions[i] == Approx(std::min(0.5, kRate * kStep * static_cast<double>(i + 1))));
}

TEST_CASE("move timing: a jump leaves little of a swing, at the rate limit it leaves much",
          "[controllers]") {
  const double period = GENERATE(0.1, 0.2, 0.35), jump = GENERATE(0.05, 0.4, 1.5);
  CAPTURE(period, jump);
  const std::vector<double> smooth = positions_of(Mover(period), jump, 3.0);
  CHECK(smooth.back() == jump);
  for (const double off : {0.95, 1.0, 1.1})  // the mode depends on the pose
    CHECK(swing_after(smooth, off * period) < 0.05 * jump);
  double rate = 0.0, last = 0.0;
  for (const double q : smooth) rate = std::max(rate, std::abs(q - std::exchange(last, q)) / kStep);
  CHECK(rate <= kRate * (1.0 + 1e-9));
  if (jump < kRate * period / 4)
    CHECK(swing_after(positions_of(Mover(0.0), jump, 3.0), period) > 0.3 * jump);
}

TEST_CASE("move timing: a steady motion is followed without a lag", "[controllers]") {
  Mover mover(0.3);
  for (int i = 1; i < 500; ++i) {
    const double goal = 1.0 * kStep * i;  // below the limit
    CHECK(mover.step(goal) == Approx(goal).margin(1e-15));
  }
}

TEST_CASE("move timing: a goal that moves on is caught, and one that jumps again too",
          "[controllers]") {
  Mover mover(0.2);
  double q = 0.0, goal = 0.0;
  for (int i = 0; i < 1000; ++i) {
    goal = 0.3 + 0.5 * kStep * i;
    q = mover.step(goal);
  }
  CHECK(q == goal);
  for (int i = 0; i < 100; ++i) q = mover.step(goal + 0.2);
  const double jumped = goal - 0.3;
  for (int i = 0; i < 1000; ++i) q = mover.step(jumped);
  CHECK(q == jumped);
}

TEST_CASE("move timing: the setting replaces the periods", "[controllers]") {
  const auto duration = [](const std::vector<double>& positions) {
    std::size_t i = 0;
    while (positions[i] != positions.back()) ++i;
    return kStep * static_cast<double>(i + 1);
  };
  CHECK(duration(positions_of(Mover(0.0, {{"move_time", "0.6"}}), 0.1, 2.0)) ==
        Approx(0.6).margin(kStep));
  CHECK(duration(positions_of(Mover(0.2, {{"move_time", "0"}}), 0.1, 2.0)) ==
        Approx(0.1 / kRate).margin(kStep));
  CHECK(duration(positions_of(Mover(0.2), 0.1, 2.0)) == Approx(0.4).margin(kStep));
}
