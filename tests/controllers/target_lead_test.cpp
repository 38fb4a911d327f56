#include "controllers/arm/target_lead.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kGain = 2.0;  // [1/s]

using Course = std::function<Vector3d(double)>;  // of a target over time [s]

struct LeadRun {
  LeadRun() : lead(kTimestep) {
    memory.resize(static_cast<std::size_t>(lead.layout().size()));
    lead.layout().reset(memory);
    next = memory;
  }
  Vector3d step(const Vector3d& p) {
    memory = next;
    return lead.step(p, memory, next);
  }

  TargetLead lead;
  std::vector<double> memory, next;
};

/// Largest error in the last second of a tip with the dynamics x'' = w^2 (c - x) - d x', which lags
/// by d / w^2 and overshoots by inertia.
double last_error(double gain, double w, double d, double duration, const Course& target) {
  LeadRun run;
  Vector3d x = target(0.0), rate = Vector3d::Zero();
  double largest = 0.0;
  for (double time = 0.0; time < duration; time += kTimestep) {
    const Vector3d p = target(time), error = p - x;
    if (time > duration - 1.0) largest = std::max(largest, error.norm());
    const Vector3d aim = p + run.step(p);
    run.lead.adapt(error, gain, run.next);
    constexpr int kParts = 10;
    for (int k = 0; k < kParts; ++k) {
      rate += kTimestep / kParts * (w * w * (aim - x) - d * rate);
      x += kTimestep / kParts * rate;
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("target lead: a lag of any size vanishes on any smooth course", "[controllers]") {
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(seed);
  Random random(seed);
  const double w = random.uniform(40.0, 100.0), lag = random.uniform(0.002, 0.02);
  const Vector3d along = 0.03 * random.unit_vector(), across = 0.03 * random.unit_vector();
  const double frequency = random.uniform(2.0, 5.0);  // [rad/s]: up to 0.2 m/s
  const Course course = [&](double t) {
    return Vector3d(std::cos(frequency * t) * along + std::sin(0.7 * frequency * t) * across);
  };
  const double before = last_error(0.0, w, lag * w * w, 8.0, course);
  CHECK(last_error(kGain, w, lag * w * w, 8.0, course) < 0.2 * before);
}

TEST_CASE("target lead: aims at where a target at constant velocity is one step later",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 5u));
  Random random(seed);
  const Vector3d velocity = random.uniform(0.02, 0.2) * random.unit_vector();
  LeadRun run;
  Vector3d offset;
  for (int i = 0; i < 500; ++i) offset = run.step(i * kTimestep * velocity);
  CHECK((offset - kTimestep * velocity).norm() < 1e-9);
}

TEST_CASE("target lead: a target at rest is not led, before and after a jump", "[controllers]") {
  const auto size = GENERATE(0.002, 0.05, 1.0);  // [m]
  LeadRun run;
  for (int i = 0; i < 1000; ++i) {
    const Vector3d offset = run.step(i < 500 ? Vector3d(0.1, 0, 0) : Vector3d(0.1, size, 0));
    REQUIRE(offset.isZero(0.0));
    run.lead.adapt(Vector3d(0, i < 500 ? 0.0 : 0.01, 0), kGain, run.next);
  }
  CHECK(run.next.back() == 0.0);
}

TEST_CASE("target lead: noise moves the aim by less than a third of it", "[controllers]") {
  const auto seed = GENERATE(range(0u, 5u));
  Random random(seed);
  LeadRun run;
  constexpr int kSteps = 2000;
  const double amplitude = 2e-4;  // [m]
  double of_noise = 0.0, of_aim = 0.0;
  for (int i = 0; i < kSteps; ++i) {
    const Vector3d noise = amplitude * random.uniform(-1.0, 1.0) * random.unit_vector();
    const Vector3d offset = run.step(noise);
    run.lead.adapt(noise, kGain, run.next);
    of_noise += noise.squaredNorm();
    of_aim += offset.squaredNorm();
  }
  CHECK(std::sqrt(of_aim / of_noise) < 1.0 / 3.0);
}

TEST_CASE("target lead: the aim stays near the target whatever is measured", "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  Random random(seed);
  LeadRun run;
  for (int i = 0; i < 3000; ++i) {
    const Vector3d p = std::pow(10.0, random.uniform(-6.0, 1.0)) * random.unit_vector();
    REQUIRE(run.step(p).norm() <= TargetLead::kMaxOffset * (1.0 + 1e-9));
    run.lead.adapt(random.uniform(0.0, 1.0) * random.unit_vector(), 100.0, run.next);
    REQUIRE(run.lead.layout().is_valid(run.next));
  }
}

TEST_CASE("target lead: an error that exceeds any lead is no lag, of which nothing is learnt",
          "[controllers]") {
  const auto [size, learns] = GENERATE(values<std::pair<double, bool>>(
      {{0.9 * TargetLead::kMaxOffset, true}, {1.1 * TargetLead::kMaxOffset, false}}));
  LeadRun run;
  Vector3d offset;
  for (int i = 0; i < 1000; ++i) {
    offset = run.step(Vector3d(0.1 * kTimestep * i, 0, 0));
    run.lead.adapt(Vector3d(size, 0, 0), kGain, run.next);
  }
  CHECK((offset.x() > 2.0 * 0.1 * kTimestep) == learns);
}

TEST_CASE("target lead: allocates nothing in a step", "[controllers]") {
  LeadRun run;
  AllocationCounter counter;
  (void)run.lead.step(Vector3d(0.1, 0, 0), run.memory, run.next);
  run.lead.adapt(Vector3d(1e-3, 0, 0), kGain, run.next);
  CHECK(counter.count() == 0);
}
