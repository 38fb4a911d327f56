// Pressure chambers in the MJCF of an arm, against closed forms of beams.

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "tendril/model/plausibility.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;

namespace {

constexpr double kLength = 0.1, kBending = 0.01, kAxial = 2000.0;   // [m], EI [N m^2], EA/L [N/m]
constexpr double kArea = 1e-4, kDistance = 0.009, kPressure = 8e4;  // [m^2], [m], [Pa]
constexpr double kAtRest = 5.0;                                     // [s]

std::string section(const std::string& more = "") {
  return "[[section]]\nconstant_length = 0.1\nbend_limit = 3\nradius = 0.015\nbending_stiffness = "
         "0.01\n" +
         more;
}

/// Lengths from 90 to 130 mm, 100 mm unloaded.
std::string extensible_section() {
  return "[[section]]\nconstant_length = 0.09\nvariable_length = 0.04\nunloaded_length = 0.1\n"
         "bend_limit = 3\nradius = 0.015\nbending_stiffness = 0.01\n";
}

std::string chamber(double angle, const std::string& more = "", int in_section = 1) {
  return "[[chamber]]\nsection = " + std::to_string(in_section) +
         "\nangle = " + std::to_string(angle) + "\ndistance = 0.009\narea = 1e-4\n" + more;
}

std::string three_chambers(const std::string& more = "") {
  std::string text;
  for (int k = 0; k < 3; ++k) text += chamber(2.0 * std::numbers::pi * k / 3.0, more);
  return text;
}

Simulation simulation(const std::string& toml) {
  Simulation s(continuum_mjcf(parse_as<ContinuumDescription>(toml, "arm.toml")));
  s.set_gravity(Eigen::Vector3d::Zero());
  return s;
}

double sensor(const Simulation& s, const std::string& name) {
  return s.data->sensordata[s.model->sensor_adr[s.id(mjOBJ_SENSOR, name)]];
}

}  // namespace

TEST_CASE("chambers: one bends its section into an arc of p A d L / EI, away from itself",
          "[mjcf]") {
  const double angle = GENERATE(0.0, 0.7, 2.5);
  Simulation s = simulation(section() + chamber(angle));
  s.set_ctrl("chamber_1", kPressure);
  s.run(kAtRest);
  const double theta = kPressure * kArea * kDistance * kLength / kBending;  // 0.72 rad
  const Eigen::Isometry3d tip = s.site_pose(names::kTip);
  const Eigen::Vector3d away(-std::cos(angle), -std::sin(angle), 0.0);
  CHECK(std::acos(tip.linear()(2, 2)) == Approx(theta).epsilon(1e-3));
  const double radius = kLength / theta;
  const Eigen::Vector3d arc =
      radius * (1.0 - std::cos(theta)) * away + radius * std::sin(theta) * Eigen::Vector3d::UnitZ();
  constexpr double kLinks = 1e-3;  // of the length: ten links for an arc, hinges in pairs
  CHECK((tip.translation() - arc).norm() < kLinks * kLength);
  CHECK(sensor(s, "chamber_1_pressure") == Approx(kPressure));
  // A curve at the distance d outside the arc is longer by d theta.
  CHECK(sensor(s, "chamber_1_volume") == Approx(kArea * kDistance * theta).epsilon(1e-3));
}

TEST_CASE("chambers: equal pressures lengthen a section by p A L / EA each", "[mjcf]") {
  Simulation s = simulation(extensible_section() + three_chambers());
  CHECK_FALSE(s.has(mjOBJ_ACTUATOR, names::length(1)));
  s.run(kAtRest);
  CHECK(s.site_pose(names::kTip).translation().z() == Approx(kLength).epsilon(1e-6));
  for (int k = 1; k <= 3; ++k) s.set_ctrl("chamber_" + std::to_string(k), kPressure);
  s.run(kAtRest);
  const Eigen::Vector3d tip = s.site_pose(names::kTip).translation();
  CHECK(tip.z() - kLength == Approx(3.0 * kPressure * kArea / kAxial).epsilon(1e-5));
  CHECK(tip.head<2>().norm() < 1e-6);
  CHECK(sensor(s, "chamber_2_volume") ==
        Approx(kArea * (tip.z() - 0.11)).epsilon(1e-5));  // from half of the lengths' range
}

TEST_CASE("chambers: one alone bends and lengthens, and the other section feels neither",
          "[mjcf]") {
  Simulation s = simulation(section() + extensible_section() + chamber(0.0, "", 2));
  s.run(kAtRest);
  s.set_ctrl("chamber_1", kPressure);
  s.run(kAtRest);
  CHECK(s.site_pose("s1_end").linear()(2, 2) == Approx(1.0).epsilon(1e-9));
  const double theta = kPressure * kArea * kDistance * kLength / kBending;
  CHECK(std::acos(s.site_pose(names::kTip).linear()(2, 2)) == Approx(theta).epsilon(1e-3));
  // Slides are at half their range, 110 mm.
  CHECK(s.sum_of_slides(2, 10) + 0.01 == Approx(kPressure * kArea / kAxial).epsilon(1e-3));
}

TEST_CASE("chambers: pressure follows its command with the time constant", "[mjcf]") {
  Simulation s = simulation(section() + chamber(0.0, "time_constant = 0.3\n"));
  s.set_ctrl("chamber_1", kPressure);
  s.run(0.3);
  CHECK(sensor(s, "chamber_1_pressure") ==
        Approx(kPressure * (1.0 - std::exp(-1.0))).epsilon(0.01));
}

TEST_CASE("chambers: pressures stay within their limits, a vacuum pulls", "[mjcf]") {
  Simulation s = simulation(section() + chamber(0.0, "min_pressure = -5e4\nmax_pressure = 6e4\n"));
  s.set_ctrl("chamber_1", 1e6);
  s.run(kAtRest);
  CHECK(sensor(s, "chamber_1_pressure") == Approx(6e4));
  CHECK(s.site_pose(names::kTip).translation().x() < -0.01);
  s.set_ctrl("chamber_1", -1e6);
  s.run(kAtRest);
  CHECK(sensor(s, "chamber_1_pressure") == Approx(-5e4));
  CHECK(s.site_pose(names::kTip).translation().x() > 0.01);
}

TEST_CASE("chambers: the range of their volume stops them", "[mjcf]") {
  const std::string range = "volume_range = [-1e-6, 1e-7]\n";
  Simulation s = simulation(extensible_section() + three_chambers(range));
  for (int k = 1; k <= 3; ++k) s.set_ctrl("chamber_" + std::to_string(k), kPressure);
  s.run(kAtRest);
  // 1 mm more than half of the lengths' range; 2 mm without the stop.
  CHECK(s.site_pose(names::kTip).translation().z() == Approx(0.111).margin(1e-4));
}

TEST_CASE("chambers: a muscle pulls as its braid does, fully when blocked, not at all when free",
          "[mjcf]") {
  // Chou and Hannaford 1996: F = p A0 (a (1 - e)^2 - b), a = 3 / tan^2, b = 1 / sin^2.
  constexpr double kBraid = 0.44, kMuscle = 2e5;
  const double a = 3.0 / std::pow(std::tan(kBraid), 2), b = 1.0 / std::pow(std::sin(kBraid), 2);
  const auto law = [&](double e) { return kMuscle * kArea * (a * (1.0 - e) * (1.0 - e) - b); };
  Simulation s = simulation(
      "[[section]]\nconstant_length = 0.05\nvariable_length = 0.1\nbend_limit = 3\n"
      "radius = 0.015\nlength_gain = 1e7\nlength_force_limit = 1e4\n"
      "length_servo = true\n" +
      chamber(0.0, "kind = \"mckibben\"\nbraid_angle = 0.44\nmax_pressure = 3e5\n") + "");
  s.set_ctrl("chamber_1", kMuscle);
  const double free_contraction = 1.0 - std::sqrt(b / a);
  const auto tension_at = [&](double contraction) {
    for (int j = 1; j <= 10; ++j) {
      const int joint = s.id(mjOBJ_JOINT, names::slide(1, j));
      s.data->qpos[s.model->jnt_qposadr[joint]] = -contraction * kLength / 10.0;
    }
    mj_forward(s.model.get(), s.data.get());
    return sensor(s, "chamber_1_tension");
  };
  CHECK(tension_at(0.0) == Approx(law(0.0)));
  CHECK(tension_at(free_contraction) == Approx(0.0).margin(1e-6 * law(0.0)));
  CHECK(tension_at(1.2 * free_contraction) == 0.0);
  // Between them it is a straight line for the parabola.
  for (double e = 0.0; e < free_contraction; e += free_contraction / 8.0)
    CHECK(std::abs(tension_at(e) - law(e)) < 0.06 * law(0.0));
}

TEST_CASE("chambers: a start pose holds its bends", "[mjcf]") {
  Simulation s = simulation(extensible_section() + three_chambers("time_constant = 0.05\n") +
                            "[start]\nbends = [0.4]\narcs = [3.64, 0.11]\n");
  mj_resetDataKeyframe(s.model.get(), s.data.get(), s.id(mjOBJ_KEY, names::kStart));
  mj_forward(s.model.get(), s.data.get());
  const Eigen::Isometry3d start = s.site_pose(names::kTip);
  s.run(kAtRest);
  constexpr double kShape = 1e-3;  // [m], of links that bend alike and those at rest
  CHECK((s.site_pose(names::kTip).translation() - start.translation()).norm() < kShape);
}

TEST_CASE("chambers: a pressure in a wrong unit is reported", "[robot_file]") {
  const auto plausibility_warnings = [&](const std::string& pressure) {
    return plausibility(parse_model("kind = \"continuum\"\n" + section() +
                                        three_chambers("max_pressure = " + pressure + "\n"),
                                    "arm.toml"),
                        0.0);
  };
  CHECK(plausibility_warnings("2e5").empty());
  for (const auto& [wrong, message] :
       {std::pair{"2", "less than a breath"}, std::pair{"2e8", "more than hydraulics"}}) {
    const auto lines = plausibility_warnings(wrong);
    REQUIRE(lines.size() == 3);
    CHECK_THAT(lines[0], Contains("chamber chamber_1: max_pressure = ") && Contains(message));
  }
}
