// Goals beside a body that is less simple than the model: SimulatedArm. Constants of the estimator
// were chosen on seeds from 1000 on.
#include <catch2/catch.hpp>

#include "tests/support/simulated_arm.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

RunErrors worst(const std::vector<TimedSensor>& sensors) {
  RunErrors worst;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RunErrors errors = run_estimator(seed, sensors, kSimulatedArmOptions);
    worst.tip = std::max(worst.tip, errors.tip);
    worst.shape = std::max(worst.shape, errors.shape);
    worst.force = std::max(worst.force, errors.force);
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
