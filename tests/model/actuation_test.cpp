// What drives move, against the engine: the pose in which the model rests.
#include <catch2/catch.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr double kLength = 0.2;  // [m], of the two sections

std::string section(double stiffness, const std::string& more) {
  return "[[section]]\nconstant_length = 0.1\nbend_limit = 3\nlinks = 20\nradius = 0.008\n"
         "mass = 0.05\nbending_stiffness = " +
         std::to_string(stiffness) + "\ndamping_time = 0.1\nbend_servo = false\n" + more;
}

std::string tendon(const std::string& sections, double angle) {
  return "[[tendon]]\nsection = " + sections + "\nangle = " + std::to_string(angle) +
         "\ndistance = 0.006\ncommand = \"tension\"\n";
}

struct Case {
  const char* name;
  std::string text;
  int directions;
};

/// Robots whose drives do not move everything.
std::vector<Case> cases() {
  constexpr double kPi = std::numbers::pi;
  const std::string soft = section(0.03, ""), stiff = section(0.06, ""),
                    bent = section(0.03, "natural_bend = 0.5\nnatural_direction = 1\n");
  return {{"one wire", soft + tendon("1", 0.4), 1},
          {"two wires in one plane", soft + tendon("1", 0.4) + tendon("1", 0.4 + kPi), 1},
          {"rounded angles", soft + tendon("1", 0.79) + tendon("1", 3.93), 1},
          {"coupled", stiff + soft + tendon("2", 0.4) + tendon("2", 2.5) + tendon("2", 4.6), 2},
          {"two planes", bent + soft + tendon("[1, 1]", 0) + tendon("[2, 2]", 1), 2},
          {"passive, bent by nature", bent + soft + tendon("[2, 2]", 1) + tendon("[2, 2]", 4), 2},
          {"coupled and alone", stiff + soft + tendon("1", 1) + tendon("2", 0.2), 2}};
}

}  // namespace

TEST_CASE("actuation: tensions move the arm along the directions, as it rests in the engine",
          "[mjcf]") {
  const Case robot = GENERATE(from_range(cases()));
  const auto seed = GENERATE(range(0u, 3u));
  CAPTURE(robot.name, seed);
  Random random(seed);
  const auto description = parse_as<ContinuumDescription>(robot.text, "arm.toml");
  const ContinuumRobot kinematics = description.kinematics();
  const Actuation driven = actuation(description);
  REQUIRE(!driven.moves_all());
  Simulation s(continuum_mjcf(description));
  s.set_gravity(Eigen::Vector3d::Zero());
  VectorXd u(driven.directions.cols());
  for (Eigen::Index t = 0; t < u.size(); ++t) {
    const Tendon& tendon = description.tendons[static_cast<std::size_t>(t)];
    const double tension = random.uniform(tendon.pretension, 0.6 * tendon.max_tension);
    s.set_ctrl(tendon.name, tension);
    u[t] = driven.high[t] * tension / tendon.max_tension;
  }
  s.run(4.0);
  CHECK(s.speed() < 1e-4);
  std::vector<SectionState> states(kinematics.straight().begin(), kinematics.straight().end());
  from_coordinates(kinematics, driven.rest + driven.directions * u, states);
  const Eigen::Vector3d tip = s.site_pose(names::kTip).translation();
  CHECK((tip_pose(kinematics, states).translation() - tip).norm() < 0.003 * kLength);
}

TEST_CASE("actuation: what drives hold is a projection on their directions", "[mjcf]") {
  const Case robot = GENERATE(from_range(cases()));
  CAPTURE(robot.name);
  const Actuation driven = actuation(parse_as<ContinuumDescription>(robot.text, "arm.toml"));
  const MatrixXd& D = driven.driven;
  CHECK((D * D - D).norm() < 1e-9);
  CHECK((D * driven.directions - driven.directions).norm() < 1e-9);
  CHECK(D.trace() == Approx(robot.directions));
  CHECK(driven.projector().trace() == Approx(robot.directions));
}

TEST_CASE("actuation: an arm that is driven everywhere has none", "[mjcf]") {
  const std::string servo = "[[section]]\nconstant_length = 0.1\nbend_limit = 2\n";
  for (const std::string& text :
       {servo + servo, section(0.03, "") + tendon("1", 0) + tendon("1", 2.1) + tendon("1", 4.2)})
    CHECK(actuation(parse_as<ContinuumDescription>(text, "arm.toml")).moves_all());
}
