#include "links/dynamixel/winding.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random.hpp"

using namespace tendril::dynamixel;
using tendril::test::Random;

namespace {

constexpr double kStep = 0.02;
constexpr double kCount = 1.534e-5, kCurrent = 0.035;  // of goals [m], of tensions [N]

/// A tendon on a held arm: its drum follows commands with a lag, and its tension is that of a
/// spring. Gears add friction to the tension that is told while the drum turns.
struct Rope {
  double stiffness, zero, value, lag, friction;
  double force = 0.0;

  [[nodiscard]] double tension(double pretension) const {
    return std::max(0.0, pretension + stiffness * (zero - value));
  }
  void step(double command, double pretension) {
    const double goal = kCount * std::round(command / kCount);
    const double way = (goal - value) * -std::expm1(-kStep / lag);
    value += way;
    const double told = std::abs(way) > 1e-6 ? 1.0 + std::copysign(friction, -way) : 1.0;
    force = kCurrent * std::round(told * tension(pretension) / kCurrent);
  }
};

}  // namespace

TEST_CASE("winding: every tendon comes to its tension, from slack and from too much",
          "[dynamixel]") {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    std::vector<Rope> ropes;
    std::vector<double> tensions;
    for (int k = random.integer(1, 6); k > 0; --k) {
      const double zero = random.uniform(-0.02, 0.02);
      tensions.push_back(random.uniform(0.5, 5.0));
      // A count changes the tension by less than the tolerance.
      const double stiffest = Winding::kTolerance * tensions.back() / kCount;
      ropes.push_back({.stiffness = std::pow(10.0, random.uniform(2.5, std::log10(stiffest))),
                       .zero = zero,
                       .value = zero + random.uniform(-1e-4, 0.03),
                       .lag = random.uniform(0.005, 0.05),
                       .friction = random.uniform(0.0, 0.15)});
    }
    Winding winding(tensions, kStep);
    std::vector<ServoReading> readings(ropes.size());
    std::vector<double> commands(ropes.size());
    double largest = 0.0;
    for (int step = 0; step < 3000 && !winding.is_done(); ++step) {
      const std::vector<double> before = commands;
      for (std::size_t k = 0; k < ropes.size(); ++k) {
        readings[k].value = kCount * std::round(ropes[k].value / kCount);
        readings[k].force = ropes[k].tension(tensions[k]) > 0.0 ? ropes[k].force : 0.0;
      }
      winding.step(readings, commands);
      for (std::size_t k = 0; k < ropes.size(); ++k) {
        if (step > 0) largest = std::max(largest, std::abs(commands[k] - before[k]));
        ropes[k].step(commands[k], tensions[k]);
      }
    }
    REQUIRE(winding.is_done());
    CHECK_FALSE(winding.loose());
    CHECK(largest <= Winding::kLargestStep * (1.0 + 1e-9));
    for (std::size_t k = 0; k < ropes.size(); ++k) {
      const double allowed = Winding::kTolerance * tensions[k] + kCurrent;
      CHECK(std::abs(ropes[k].tension(tensions[k]) - tensions[k]) <= allowed);
      CHECK(std::abs(winding.values()[k] - ropes[k].zero) <=
            allowed / ropes[k].stiffness + 0.5 * kCount);
    }
  }
}

TEST_CASE("winding: a rope too stiff for the counts of its servo is named", "[dynamixel]") {
  Rope rope{.stiffness = 1e6, .zero = 0.4 * kCount, .value = 0.001, .lag = 0.02, .friction = 0.1};
  Winding winding({1.0}, kStep);
  std::vector<ServoReading> readings(1);
  std::vector<double> commands(1);
  for (int step = 0; step < 4000 && !winding.loose() && !winding.is_done(); ++step) {
    readings[0].value = kCount * std::round(rope.value / kCount);
    readings[0].force = rope.force;
    winding.step(readings, commands);
    rope.step(commands[0], 1.0);
  }
  CHECK(winding.loose() == 0);
}

TEST_CASE("winding: a tendon that never tightens is named", "[dynamixel]") {
  Winding winding({2.0, 2.0}, kStep);
  std::vector<ServoReading> readings(2);
  readings[0].force = 2.0;
  readings[1].force = 0.0;
  std::vector<double> commands(2);
  int steps = 0;
  for (; steps < 10000 && !winding.loose(); ++steps) winding.step(readings, commands);
  REQUIRE(winding.loose() == 1);
  CHECK(steps * kStep * Winding::kSpeed < 1.1 * Winding::kMostWound);
  CHECK_FALSE(winding.is_done());
}
