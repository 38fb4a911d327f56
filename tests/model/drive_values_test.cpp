// What is sent to the drives for given states: the model, told so, rests in them.
#include "tendril/model/continuum/drive_values.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kLength = 0.2;  // [m], of the two sections

std::string section(const std::string& more) {
  return "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 20\nradius = 0.011\n"
         "mass = 0.05\nbending_stiffness = 0.04\ndamping_time = 0.1\n" +
         more;
}
/// Three tendons or chambers round each of two sections.
std::string six(const std::string& table, const std::string& more) {
  std::string text;
  for (int k = 0; k < 6; ++k)
    text += "[[" + table + "]]\nname = \"d" + std::to_string(k + 1) +
            "\"\nsection = " + std::to_string(1 + k / 3) +
            "\nangle = " + std::to_string((2.0 * k + k / 3) * std::numbers::pi / 3.0) + "\n" + more;
  return text;
}

/// Distance of the tip at rest from that of the kinematics, in parts of the length.
double tip_error(const std::string& text, std::vector<SectionState> own,
                 const BaseState& base = {}) {
  const ContinuumDescription robot = parse_as<ContinuumDescription>(text, "arm.toml");
  const ContinuumRobot kinematics = robot.kinematics();
  to_untwisted(kinematics, own);
  DriveValues drives(robot);
  std::vector<double> values(drives.drives().size());
  CHECK(drives.values(own, base, values));
  Simulation s(continuum_mjcf(robot));
  s.set_gravity(Eigen::Vector3d::Zero());
  s.model->opt.timestep = 0.005;
  CHECK(values.size() == static_cast<std::size_t>(s.model->nu));
  for (std::size_t k = 0; k < values.size(); ++k) s.set_ctrl(drives.drives()[k].name, values[k]);
  s.run(4.0);
  CHECK(s.speed() < 1e-4);
  const Eigen::Isometry3d X = tip_pose(kinematics, own, base), X_T = s.site_pose(names::kTip);
  return (X.translation() - X_T.translation()).norm() / kLength;
}

const std::vector<SectionState> kBent{{0.9, 0.4, 0.0}, {0.7, -1.3, 0.0}};

}  // namespace

TEST_CASE("drive values: of servos, by section and by link", "[mjcf]") {
  const std::string compliance = GENERATE("section", "link");
  CHECK(tip_error("compliance = \"" + compliance + "\"\n[base]\nfeed = 0.1\nspin = true\n" +
                      section("") + section(""),
                  kBent, {.feed = 0.04, .spin = 0.8}) < 1e-3);
}

TEST_CASE("drive values: of sections that bend in one plane", "[mjcf]") {
  constexpr double kRight = std::numbers::pi / 2.0;
  const std::string more = GENERATE("", "bend_command = \"moment\"\n", "bend_servo = false\n");
  std::string text =
      section("bend_plane = \"xz\"\n" + more) + section("bend_plane = \"yz\"\n" + more);
  if (more == "bend_servo = false\n")
    text += six("tendon", "distance = 0.01\nmax_tension = 200\ncommand = \"tension\"\n");
  CHECK(tip_error(text, {{0.9, 0.0, 0.0}, {0.7, -kRight, 0.0}}) < 2e-3);
  CHECK(tip_error(text, {{0.6, 2.0 * kRight, 0.0}, {0.8, kRight, 0.0}}) < 2e-3);
}

TEST_CASE("drive values: of sections that turn", "[mjcf]") {
  CHECK(tip_error(section("rotation = \"turning\"\n") + section(""), kBent) < 1e-3);
}

TEST_CASE("drive values: moments of motors", "[mjcf]") {
  CHECK(tip_error(section("bend_command = \"moment\"\nnatural_bend = 0.3\n") +
                      section("bend_command = \"moment\"\n"),
                  kBent) < 1e-3);
}

TEST_CASE("drive values: lengths and tensions of tendons", "[mjcf]") {
  const std::string command = GENERATE("length", "tension");
  CHECK(tip_error(section("") + section("") +
                      six("tendon",
                          "distance = 0.01\nmax_tension = 200\ncommand = \"" + command + "\"\n"),
                  kBent) < 2e-3);
}

TEST_CASE("drive values: pressures of chambers and of muscles", "[mjcf]") {
  const std::string kind = GENERATE("", "kind = \"mckibben\"\nbraid_angle = 0.4\n");
  CHECK(
      tip_error(section("") + section("") +
                    six("chamber", "distance = 0.006\nradius = 0.004\nmax_pressure = 2e6\n" + kind),
                kBent) < 2e-3);
}

TEST_CASE("drive values: of variable lengths", "[mjcf]") {
  CHECK(tip_error(section("variable_length = 0.04\n") + section("variable_length = 0.04\n"),
                  {{0.9, 0.4, 0.03}, {0.5, -1.3, 0.01}}) < 2e-3);
}

TEST_CASE("drive values: what tensions cannot hold is said", "[mjcf]") {
  DriveValues drives(parse_as<ContinuumDescription>(
      section("") + section("") +
          six("tendon", "distance = 0.01\ncommand = \"tension\"\nmax_tension = 5\n"),
      "arm.toml"));
  std::vector<double> values(drives.drives().size());
  CHECK_FALSE(drives.values(kBent, {}, values));
  for (const double value : values) CHECK(value <= 5.0 * (1.0 + 1e-9));
  CHECK(DriveValues(parse_as<ContinuumDescription>(section("bend_servo = false\n"), "arm.toml"))
            .drives()
            .empty());
}
