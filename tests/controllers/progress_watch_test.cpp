#include "controllers/watch/progress_watch.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

using namespace tendril;

namespace {

constexpr std::array kRows{ProgressWatch::kPeriods};
constexpr double kLength = 1.0;   // of the body [m]
constexpr double kPeriods = 0.1;  // of the gait in one step
constexpr int kMax = 39;          // steps without progress

Settings settings() { return Settings(kRows, {{"stall_periods", "4"}}); }

/// A watch of four periods, and its memory.
struct Watched {
  ProgressWatch watch{settings(), kLength};
  std::vector<double> memory =
      std::vector<double>(static_cast<std::size_t>(watch.layout().size()), 0.0);

  bool step(double towards, double angle, int steps) {
    bool progress = true;
    for (int i = 0; i < steps; ++i) progress = watch.step(towards, angle, kPeriods, memory);
    return progress;
  }
};

struct Advancing {
  AdvanceWatch watch{settings(), kLength};
  std::vector<double> memory =
      std::vector<double>(static_cast<std::size_t>(watch.layout().size()), 0.0);

  bool step(double advance, int steps) {
    for (int i = 0; i < steps; ++i) watch.step(advance, kPeriods, memory);
    return watch.moves(memory);
  }
};

}  // namespace

TEST_CASE("progress watch: a body that does not move makes no progress, until it moves",
          "[controllers]") {
  Watched watched;
  CHECK(watched.step(0.0, 1.0, kMax));
  CHECK_FALSE(watched.step(0.0, 1.0, 3));
  CHECK_FALSE(watched.step(-0.001, 1.0, 1000));  // away from the goal is no progress
  watched.watch.restart(watched.memory);
  CHECK(watched.step(0.0, 1.0, kMax));
  CHECK(watched.step(ProgressWatch::kMinMotionFraction * kLength, 1.0, 1));
}

TEST_CASE("progress watch: slow motion towards the goal is progress, in any number of steps",
          "[controllers]") {
  Watched watched;
  const double enough = 1.1 * ProgressWatch::kMinMotionFraction * kLength / kMax;
  for (int i = 0; i < 2000; ++i) CHECK(watched.step(enough, 1.0, 1));
  watched.watch.restart(watched.memory);
  CHECK_FALSE(watched.step(0.5 * enough, 1.0, kMax + 2));
}

TEST_CASE("progress watch: turning is progress for a whole turn, then the body must move",
          "[controllers]") {
  Watched watched;
  // Away from the goal and around: the angle falls by less than pi.
  for (double angle = 3.1; angle > 0.1; angle -= 0.01) CHECK(watched.step(-0.001, angle, 1));
  bool progress = true;
  for (int i = 0; i < 20 * kMax; ++i)
    progress = watched.step(0.0, 1.5 + 1.5 * std::cos(0.3 * i), 1);
  CHECK_FALSE(progress);  // it only swings
}

TEST_CASE("progress watch: a body that wanders must come nearer than ever within ten such times",
          "[controllers]") {
  constexpr int kHalf = 30;  // steps of a way there, or back
  const double step = 1.5 * ProgressWatch::kMinMotionFraction * kLength / kHalf;
  const bool drifts = GENERATE(false, true);
  CAPTURE(drifts);
  Watched watched;
  bool always = true;
  for (int time = 0; time < 20 * kMax; time += 2 * kHalf) {
    const double back = drifts ? 0.5 * step : step;
    for (int i = 0; i < kHalf; ++i) always = watched.step(-back, 1.0, 1) && always;
    for (int i = 0; i < kHalf; ++i) always = watched.step(step, 0.5, 1) && always;
  }
  CHECK(always == drifts);
}

TEST_CASE("advance watch: a gait that no longer moves the body, or that is thrown",
          "[controllers]") {
  const double usual = GENERATE(0.04, 0.4);
  Advancing advancing;
  CHECK(advancing.step(usual, 200));
  CHECK(advancing.step(1.1 * AdvanceWatch::kUsualFraction * usual, 1));
  const double less = GENERATE_COPY(0.0, 0.5 * AdvanceWatch::kUsualFraction * usual, 2.0 * kLength);
  CAPTURE(usual, less);
  CHECK(advancing.step(less, kMax - 1));
  CHECK_FALSE(advancing.step(less, 3));
  CHECK_FALSE(advancing.step(less, 1000));  // it does not become the usual
  CHECK(advancing.step(usual, 1));
}

TEST_CASE("advance watch: one period shows what is usual", "[controllers]") {
  Advancing advancing;
  constexpr double kUsual = 0.04;
  CHECK(advancing.step(kUsual, static_cast<int>(std::lround(1.0 / kPeriods))));
  CHECK(advancing.step(0.1 * kUsual, kMax - 1));
  CHECK_FALSE(advancing.step(0.1 * kUsual, 3));
}

TEST_CASE("advance watch: a gait that never moved the body is not expected to", "[controllers]") {
  Advancing advancing;
  for (int i = 0; i < 1000; ++i)
    CHECK(advancing.step(i % 2 == 0 ? 0.0 : AdvanceWatch::kMinAdvanceFraction * kLength, 1));
}
