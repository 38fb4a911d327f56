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
                    bent = section(0.03, "natural_bend = 0.5\nnatural_direction = 1\n"),
                    in_xz = section(0.03, "bend_plane = \"xz\"\n"),
                    in_yz = section(0.05, "bend_plane = \"yz\"\n"),
                    three = soft + tendon("1", 0.4) + tendon("1", 2.5) + tendon("1", 4.6);
  return {{"one wire", soft + tendon("1", 0.4), 1},
          {"two wires in one plane", soft + tendon("1", 0.4) + tendon("1", 0.4 + kPi), 1},
          {"rounded angles", soft + tendon("1", 0.79) + tendon("1", 3.93), 1},
          {"coupled", stiff + soft + tendon("2", 0.4) + tendon("2", 2.5) + tendon("2", 4.6), 2},
          {"two planes", bent + soft + tendon("[1, 1]", 0) + tendon("[2, 2]", 1), 2},
          {"passive, bent by nature", bent + soft + tendon("[2, 2]", 1) + tendon("[2, 2]", 4), 2},
          {"coupled and alone", stiff + soft + tendon("1", 1) + tendon("2", 0.2), 2},
          {"a plane each", in_xz + in_yz + tendon("1", 0.3) + tendon("1", 3) + tendon("2", 1), 2},
          {"four ways, then two", three + in_yz + tendon("[2, 2]", 1) + tendon("[2, 2]", 4), 3},
          {"two ways, coupled", in_xz + in_xz + tendon("2", 0) + tendon("2", kPi), 1}};
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

TEST_CASE("actuation: wires bend two sections by d L / EI each, a load by its own compliance",
          "[mjcf]") {
  constexpr double kDistance = 0.006, kHalf = kLength / 2.0, kFirst = 0.06, kSecond = 0.03;
  constexpr double kMargin = 5e-4;  // [rad], 1 % of the bends: of links and slopes
  const double pull = GENERATE(0.0, 2.0), force = GENERATE(0.0, 0.1);  // [N]
  CAPTURE(pull, force);
  const std::string plane = "bend_plane = \"xz\"\n";
  Simulation s(continuum_mjcf(
      parse_as<ContinuumDescription>(section(kFirst, plane) + section(kSecond, plane) +
                                         tendon("2", 0) + tendon("2", std::numbers::pi),
                                     "arm.toml")));
  s.set_gravity(Eigen::Vector3d::Zero());
  s.set_ctrl("tendon_1", 5.0 + pull);
  s.set_ctrl("tendon_2", 5.0);
  const int last = s.id(mjOBJ_BODY, names::link(2, 20));
  const double lever = s.site_pose(names::kTip).translation().z() - s.data->xipos[3 * last + 2];
  s.data->xfrc_applied[6 * last] = force;
  s.data->xfrc_applied[6 * last + 4] = lever * force;
  s.run(4.0);
  CHECK(s.speed() < 1e-4);
  const auto heading = [&](const char* site) {
    const Eigen::Vector3d z = s.site_pose(site).linear().col(2);
    return std::atan2(z.x(), z.z());
  };
  const double first = heading("s1_end"), second = heading("s2_end") - first;
  // The integrals of the moments over the lengths, F (L - s) of the force.
  CHECK(first ==
        Approx((pull * kDistance * kHalf + 1.5 * force * kHalf * kHalf) / kFirst).margin(kMargin));
  CHECK(second ==
        Approx((pull * kDistance * kHalf + 0.5 * force * kHalf * kHalf) / kSecond).margin(kMargin));
}
