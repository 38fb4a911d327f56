#include "controllers/arm/arm_mechanics.hpp"

#include <array>
#include <catch2/catch.hpp>

using namespace tendril;

TEST_CASE("servo law: a link that leaves the guide follows its share of the command",
          "[controllers]") {
  // Two links of 10 mm; a joint with a setpoint c obeys damping q' = gain (c - q).
  constexpr double kLink = 0.01, kGuide = 0.1, kLag = 0.2, kGain = 5.0, kSpeed = 0.05, kBend = 0.3;
  constexpr double kStep = 1e-4, kTolerance = 1e-4;  // of the explicit integration [s], [rad]
  const Servo servo{.gain = kGain, .passive_damping = kLag * kGain};
  ArmCoordinate bend, none;
  for (int i = 0; i < 2; ++i)
    bend.joints.push_back({.fraction = 0.5,
                           .stiffness = kGain,
                           .link = i,
                           .start = i * kLink,
                           .length = kLink,
                           .servo = i});
  ArmMechanics arm({bend, none}, {}, {}, {servo, servo}, {.guide_length = kGuide});
  ArmMechanics::State state = arm.make_state();
  ArmMeasurement measurement(2);
  ArmCommand command(2);
  command.q[0] = kBend;
  command.feed_rate = kSpeed;
  std::array<double, 2> setpoints{}, position{};
  for (double feed = kGuide - 3.0 * kLink; feed < kGuide + kLink; feed += kSpeed * kStep) {
    measurement.base.feed = feed;
    for (std::size_t i = 0; i < 2; ++i) state.joints[i].position = position[i];
    arm.setpoints(state, measurement, command, {}, {}, setpoints);
    for (std::size_t i = 0; i < 2; ++i) {
      const double share =
          0.5 * kBend *
          guide_exposure(kGuide, feed, static_cast<double>(i) * kLink, kLink).fraction;
      REQUIRE(position[i] == Approx(share).margin(kTolerance));
      position[i] += kStep / kLag * (setpoints[i] - position[i]);
    }
  }
  CHECK(position[0] == Approx(0.5 * kBend).margin(kTolerance));
}
