// Bodies in water: the engine's fluid forces against Morison's equation, integrated apart.

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kPi = std::numbers::pi;

/// A rigid rod hinged near its upper end: of its links only the first has a hinge.
std::string pendulum(const std::string& medium) {
  return "planar = true\n[[section]]\nconstant_length = 0.4\nbend_limit = 3\nlinks = 20\n"
         "radius = 0.01\ndensity = 2500\nbending_stiffness = 1e-4\nbend_servo = false\n"
         "damping_time = 1e-6\nangle_weights = [1, 0]\nlength_weights = [1, 39]\n" +
         medium;
}

}  // namespace

TEST_CASE("medium: a rod swings through water as Morison's equation says", "[medium]") {
  // (rho_s + C_a rho) A L^3/3 q'' = -(rho_s - rho) A g L^2/2 sin q
  //                                 - rho C_d r L^4/4 |q'| q' - k q
  constexpr double kRho = 1000.0, kBody = 2500.0, kDrag = 1.1, kAdded = 1.0, kRadius = 0.01;
  constexpr double kGravity = 9.81, kStart = 1.0, kArea = kPi * kRadius * kRadius;
  const ContinuumDescription robot = parse_as<ContinuumDescription>(
      pendulum("[medium]\ndensity = 1000\nviscosity = 0\ndrag = 1.1\nadded_mass = 1\n"),
      "rod.toml");
  Simulation simulation(continuum_mjcf(robot));
  mjModel& model = *simulation.model;
  CHECK(model.opt.density == kRho);
  REQUIRE(model.nq == 1);
  simulation.set_gravity({0.0, 0.0, kGravity});  // z of the base along the hanging rod
  model.opt.timestep = 0.0005;
  simulation.data->qpos[0] = kStart;
  const double hinge = 0.005;  // from the base, in the middle of the first link
  const double L = 0.4 - hinge;
  const double inertia = (kBody + kAdded * kRho) * kArea * L * L * L / 3.0;
  const double weight = (kBody - kRho) * kArea * kGravity * L * L / 2.0;
  const double drag = kRho * kDrag * kRadius * std::pow(L, 4) / 4.0;
  const double stiffness = model.jnt_stiffness[0];
  double q = kStart, speed = 0.0, largest = 0.0, swing = 0.0;
  constexpr int kParts = 20;  // of a step, symplectic Euler
  for (int k = 0; k < 4000; ++k) {
    for (int i = 0; i < kParts; ++i) {
      const double h = model.opt.timestep / kParts;
      const double torque = -weight * std::sin(q) - drag * std::abs(speed) * speed - stiffness * q;
      speed += h * torque / inertia;
      q += h * speed;
    }
    mj_step(&model, simulation.data.get());
    largest = std::max(largest, std::abs(q - simulation.data->qpos[0]));
    if (k > 1000) swing = std::max(swing, std::abs(q));
  }
  CAPTURE(largest, swing);
  CHECK(swing > 0.1);  // it is still swinging: the comparison is not one of two rods at rest
  CHECK(largest < 0.001 * kStart);
}

TEST_CASE("medium: a body as dense as the water neither rises nor sinks", "[medium]") {
  const std::string snake =
      "kind = \"snake\"\njoints = 4\nlink_length = 0.1\nradius = 0.02\nlink_mass = " +
      std::to_string(1000.0 * kPi * 0.0004 * 0.1) + "\n[medium]\n";
  Simulation simulation(snake_mjcf(parse_as<SnakeDescription>(snake, "eel.toml")));
  const double before = simulation.data->subtree_com[2];
  simulation.run(1.0);
  CHECK(std::abs(simulation.data->subtree_com[2] - before) < 1e-5);
}

TEST_CASE("medium: a current takes a body along", "[medium]") {
  const std::string snake =
      "kind = \"snake\"\njoints = 4\nlink_length = 0.1\nradius = 0.02\nlink_mass = 0.125664\n"
      "[medium]\ncurrent = [0, 0.5, 0]\n";
  Simulation simulation(snake_mjcf(parse_as<SnakeDescription>(snake, "eel.toml")));
  simulation.run(5.0);
  CHECK(simulation.data->qvel[1] > 0.35);
  CHECK(simulation.data->qvel[1] < 0.5);
}
