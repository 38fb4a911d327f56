#include "controllers/arm/plan_monitor.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace tendril;

namespace {

constexpr double kTimestep = 0.01;
constexpr double kFeedForceLimit = 100.0;

/// A monitor with its memory, and the measurement that it gets.
class Watched {
 public:
  explicit Watched(const Settings::Texts& texts = {})
      : settings_(ContactPlanOptions::settings(), texts),
        options_(ContactPlanOptions::from(settings_)),
        robot_({{.length = 0.4, .bend_angle_limit = 6.28}}),
        monitor_({robot_, settings_, kTimestep, kFeedForceLimit}, options_, {}),
        measurement(robot_.coordinate_count()) {
    monitor_.add_timers(layout_);
    memory_.resize(static_cast<std::size_t>(layout_.size()));
    layout_.reset(memory_);
    measurement.timestep = kTimestep;
  }

  PlanFailure step(PlanStage stage, double tip_error, int missing = 0) {
    std::vector<double> next = memory_;
    const PlanFailure failure = monitor_.failure(measurement,
                                                 {.stage = stage,
                                                  .tip_error = tip_error,
                                                  .missing = missing,
                                                  .contacts = measurement.contacts},
                                                 memory_, next);
    memory_ = next;
    return failure;
  }
  /// Time until the plan fails, and the reason; infinity if it does not in a minute [s].
  double time_to_failure(PlanStage stage, double tip_error, PlanFailure expected, int missing = 0) {
    for (int i = 1; i * kTimestep <= 60.0; ++i) {
      const PlanFailure failure = step(stage, tip_error, missing);
      if (failure == PlanFailure::None) continue;
      CHECK(failure == expected);
      return i * kTimestep;
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  Settings settings_;
  ContactPlanOptions options_;
  ContinuumRobot robot_;
  PlanMonitor monitor_;
  MemoryLayout layout_;
  std::vector<double> memory_;

 public:
  ArmMeasurement measurement;
};

}  // namespace

TEST_CASE("plan monitor: a plan has failed when a condition has lasted for its time",
          "[controllers]") {
  const auto lasts = [](double time, double expected) {
    CHECK(time == Approx(expected).margin(1.5 * kTimestep));
  };
  Watched off_course;
  lasts(off_course.time_to_failure(PlanStage::Feed, 0.07, PlanFailure::OffCourse), 1.0);
  Watched missing;
  lasts(missing.time_to_failure(PlanStage::Feed, 0.04, PlanFailure::ContactMissing, 1), 3.0);
  Watched stalled(Settings::Texts{{"stall_timeout", "2"}});
  lasts(stalled.time_to_failure(PlanStage::Correct, 0.02, PlanFailure::Time), 2.0);
  Watched pressed;
  pressed.measurement.contacts.push_back({.force = 40.0});
  lasts(pressed.time_to_failure(PlanStage::Correct, 0.0, PlanFailure::Force), 0.2);
  Watched jammed;
  jammed.measurement.feed_force = kFeedForceLimit;
  lasts(jammed.time_to_failure(PlanStage::Feed, 0.0, PlanFailure::Jammed), 0.2);
}

TEST_CASE("plan monitor: a condition that is interrupted counts from the start", "[controllers]") {
  Watched watched;
  for (int i = 0; i < 500; ++i) {
    const double error = i % 90 == 0 ? 0.0 : 0.07;
    CHECK(watched.step(PlanStage::Feed, error) == PlanFailure::None);
  }
}

TEST_CASE("plan monitor: nothing fails while the arm settles or withdraws", "[controllers]") {
  const auto stage = GENERATE(PlanStage::Settle, PlanStage::Withdraw, PlanStage::Stopped);
  Watched watched;
  watched.measurement.feed_force = kFeedForceLimit;
  watched.measurement.contacts.push_back({.force = 40.0});
  for (int i = 0; i < 1000; ++i) CHECK(watched.step(stage, 0.1, 2) == PlanFailure::None);
}

TEST_CASE("plan monitor: a tip that makes progress has three times as long", "[controllers]") {
  Watched watched(Settings::Texts{{"stall_timeout", "2"}});
  double error = 0.05, time = 0.0;
  while (watched.step(PlanStage::Correct, error) == PlanFailure::None && time < 60.0) {
    time += kTimestep;
    error *= std::pow(0.79, kTimestep);  // a fifth less in a second
  }
  CHECK(time == Approx(6.0).margin(0.05));
}
