// Tendons in the MJCF of an arm: the arm comes to rest.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kDistance = 0.01;  // [m]

/// Two sections of `mass` [kg] with three tendons each, told lengths, with the values by default.
std::string arm(double mass, double stiffness) {
  std::string text;
  for (int i = 0; i < 2; ++i)
    text +=
        "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 8\nradius = 0.011\nmass = " +
        std::to_string(mass) + "\nbending_stiffness = 0.04\n";
  for (int k = 0; k < 6; ++k)
    text += "[[tendon]]\nsection = " + std::to_string(1 + k / 3) +
            "\nangle = " + std::to_string(std::numbers::pi * (2 * k + k / 3) / 3.0) +
            "\ndistance = 0.01\nstiffness = " + std::to_string(stiffness) + "\n";
  return text;
}

}  // namespace

TEST_CASE("tendons: friction along the way takes its part of the tension, and holds", "[mjcf]") {
  constexpr double kFriction = 5.0, kPerNewton = -kDistance * kDistance * 0.1 / 0.04;  // [N], [m/N]
  Simulation s(continuum_mjcf(parse_as<ContinuumDescription>(
      "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 8\nradius = 0.011\nmass = 0.05\n"
      "bending_stiffness = 0.04\n[[tendon]]\nname = \"t\"\nangle = 0\ndistance = 0.01\n"
      "command = \"tension\"\nfriction = 5\n",
      "arm.toml")));
  s.set_gravity(Eigen::Vector3d::Zero());
  const auto length = [&](double tension) {
    s.set_ctrl("t", tension);
    s.run(2.0);
    return s.data->ten_length[s.id(mjOBJ_TENDON, "t")];
  };
  const double drawn_in = length(30.0);
  CHECK(drawn_in == Approx(kPerNewton * (30.0 - kFriction)).epsilon(0.005));
  CHECK(length(22.0) == Approx(drawn_in).epsilon(0.005));
  CHECK(length(10.0) == Approx(kPerNewton * (10.0 + kFriction)).epsilon(0.005));
}

TEST_CASE("tendons: an arm told lengths comes to rest, however light it is", "[mjcf]") {
  // Forces are bounded, at 0 by slack: damping in proportion to a large stiffness turns into blows
  // there.
  const double mass = GENERATE(0.05, 0.005), stiffness = GENERATE(20'000.0, 50'000.0);
  CAPTURE(mass, stiffness);
  Random random(7);
  for (int pose = 0; pose < 3; ++pose) {
    Simulation s(continuum_mjcf(parse_as<ContinuumDescription>(arm(mass, stiffness), "arm.toml")));
    s.model->opt.integrator = mjINT_DISCRETE;
    const double x = random.uniform(-0.8, 0.8), y = random.uniform(-0.8, 0.8);
    for (int k = 0; k < 6; ++k) {
      const double angle = std::numbers::pi * (2 * k + k / 3) / 3.0;
      s.set_ctrl("tendon_" + std::to_string(k + 1),
                 -kDistance * (x * std::cos(angle) + y * std::sin(angle)));
    }
    s.run(3.0);
    std::vector<double> least(6, 1e9), most(6, -1e9);
    for (int i = 0; i < 100; ++i) {
      s.run(s.model->opt.timestep);
      for (std::size_t k = 0; k < 6; ++k) {
        least[k] = std::min(least[k], s.data->actuator_force[k]);
        most[k] = std::max(most[k], s.data->actuator_force[k]);
      }
    }
    for (std::size_t k = 0; k < 6; ++k) CHECK(most[k] - least[k] < 0.1);
  }
}
