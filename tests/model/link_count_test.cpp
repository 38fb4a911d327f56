// links = "auto": the number of links of a section from the accuracy that is asked for.

#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kLength = 0.4, kStiffness = 0.05;
constexpr double kGravity = 5.0;  // [m/s^2]

ContinuumDescription arm(const std::string& links, const std::string& more) {
  return parse_as<ContinuumDescription>(
      "timestep = 0.01\n[[section]]\nconstant_length = 0.4\nradius = 0.005\n"
      "bending_stiffness = 0.05\nbend_gain = 0\ndamping_time = 0.1\nlinks = " +
          links + "\n" + more,
      "arm.toml");
}

Eigen::Vector3d tip_at_rest(const ContinuumDescription& robot, const Eigen::Vector3d& gravity) {
  Simulation simulation(continuum_mjcf(robot));
  simulation.set_gravity(gravity);
  do simulation.run(1.0);
  while (simulation.speed() > 1e-4 && simulation.data->time < 60.0);
  CHECK(simulation.data->time < 60.0);
  return simulation.site_pose(names::kTip).translation();
}

}  // namespace

TEST_CASE("link count: the tip at rest is as accurate as the file asks", "[link_count]") {
  // Natural bends up to the limit, a weight of up to 2 EI/L^2 and a load of up to EI/L^2: together
  // two thirds of what buckles an upright rod.
  const double limit = GENERATE(1.0, 2.0);
  const double accuracy = GENERATE(0.03, 0.01);
  const bool twists = GENERATE(false, true);
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(limit, accuracy, twists, seed);
  Random random(seed);
  constexpr double kUnit = kStiffness / (kLength * kLength) / kGravity;  // [kg]
  const std::string more = "bend_limit = " + std::to_string(limit) +
                           "\nnatural_bend = " + std::to_string(random.uniform(0.0, limit)) +
                           "\nnatural_direction = " + std::to_string(random.angle()) +
                           "\nmass = " + std::to_string(random.uniform(0.1, 2.0) * kUnit) +
                           (twists ? "\npoisson_ratio = 0.3" : "") + "\n[tip]\npayload = " +
                           std::to_string(random.uniform(0.1, 1.0) * kUnit) + "\n";
  const Eigen::Vector3d gravity = kGravity * random.unit_vector();
  const std::string asked = "\"auto\"\naccuracy = " + std::to_string(accuracy);
  const Eigen::Vector3d right = tip_at_rest(arm("60", more), gravity);
  CHECK((tip_at_rest(arm(asked, more), gravity) - right).norm() < accuracy * kLength);
}

TEST_CASE("link count: it grows with the root of the accuracy, the bend and torsion",
          "[link_count]") {
  const auto links = [](const std::string& accuracy, const std::string& more) {
    return arm("\"auto\"\naccuracy = " + accuracy, more).physics.at(0).links;
  };
  const std::string bends = "bend_limit = 1.5\n";
  CHECK(links("0.01", bends) == 11);  // ceil(sqrt(0.8 * 1.5 / 0.01))
  CHECK(links("0.0025", bends) == 22);
  CHECK(links("0.01", "bend_limit = 6\n") == 22);
  CHECK(links("0.01", bends + "poisson_ratio = 0.3\n") == 14);
  CHECK(arm("\"auto\"", bends).physics.at(0).links == 11);
  CHECK(links("0.1", bends + "length_weights = [1, 1, 1, 1]\nangle_weights = [1, 2, 1, 2]\n") == 4);
}
