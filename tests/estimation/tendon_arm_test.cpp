// Goals beside a body that is less simple than the model: SimulatedArm. Constants of the estimator
// were chosen on seeds 1000 to 1007.
#include <catch2/catch.hpp>

#include "tests/support/simulated_arm.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr unsigned kSeeds = 20;

/// Largest errors of the seeds; the sum of the normalized ones.
RunErrors worst(const std::vector<TimedSensor>& sensors) {
  RunErrors worst;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const RunErrors errors = run_estimator(seed, sensors, kSimulatedArmOptions);
    worst.tip = std::max(worst.tip, errors.tip);
    worst.shape = std::max(worst.shape, errors.shape);
    worst.force = std::max(worst.force, errors.force);
    worst.normalized_force += errors.normalized_force;
  }
  return worst;
}

}  // namespace

TEST_CASE("tendon arm: encoders and a late tracker give tip and shape", "[estimation][slow]") {
  const RunErrors errors = worst({kEncoders, kTracker});
  CAPTURE(errors.tip, errors.shape);
  CHECK(errors.tip < 0.005);
  CHECK(errors.shape < 0.01);
}

TEST_CASE("tendon arm: encoders and a force sensor at the base give tip, shape and force",
          "[estimation][slow]") {
  const RunErrors errors = worst({kEncoders, kBaseForce, kBaseMoment});
  CAPTURE(errors.tip, errors.shape, errors.force);
  CHECK(errors.tip < 0.005);
  CHECK(errors.shape < 0.01);
  CHECK(errors.force < 0.1);
}

TEST_CASE("tendon arm: a force that friction hides has a covariance as large",
          "[estimation][slow]") {
  // Three numbers a seed, so at most what 99.9 % of a chi-squared number are below. It is less
  // where the friction is less than the estimator assumes.
  const double bound = 3.0 * kSeeds + 3.1 * std::sqrt(6.0 * kSeeds);
  CHECK(worst({kEncoders}).normalized_force < bound);
  CHECK(worst({kTracker}).normalized_force < bound);
  CHECK(worst({kEncoders, kTracker}).normalized_force < bound);
  CHECK(worst({kEncoders, kBaseForce, kBaseMoment}).normalized_force < bound);
}
