#include "simulation/scene/body_report.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "simulation/scene/scene.hpp"
#include "tendril/model/robot_description.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

ContinuumDescription arm(const std::string& more, const std::string& top = "",
                         const std::string& base = "") {
  return std::get<ContinuumDescription>(
      parse_robot("kind = \"continuum\"\n" + top + base +
                      "[[section]]\nconstant_length = 0.1\n"
                      "bend_limit = 2\nbending_stiffness = 0.05\n" +
                      more,
                  "arm.toml", {}));
}

/// Three around the backbone, at 10 mm.
std::string tendons(const std::string& keys) {
  std::string text;
  for (const char* const angle : {"0", "2.0943951", "4.1887902"})
    text += "[[tendon]]\nsection = 1\nangle = " + std::string(angle) + "\ndistance = 0.01\n" + keys;
  return text;
}

}  // namespace

TEST_CASE("body report: a rod without servos is a clamped beam", "[report]") {
  const BodyReport report =
      report_body(arm("bend_gain = 0\nmass = 0.07\nlinks = 40\nradius = 0.001\n"));
  const double L = 0.1, EI = 0.05, m = 0.07 / L, g = 9.81;
  // The beam: deflection F L^3 / 3 EI; frequencies (1.8751, 4.6941, 7.8548)^2 / L^2 sqrt(EI / m);
  // sag m g L^4 / 8 EI, small.
  CHECK(report.body.tip_stiffness == Approx(3.0 * EI / (L * L * L)).epsilon(0.01));
  REQUIRE(report.body.frequencies.size() == 3);
  for (const auto& [i, beta] : {std::pair{0u, 1.8751}, {1u, 4.6941}, {2u, 7.8548}}) {
    const double expected = beta * beta / (L * L) * std::sqrt(EI / m) / (2.0 * std::numbers::pi);
    CHECK(report.body.frequencies[i] == Approx(expected).epsilon(0.02));
  }
  REQUIRE(report.body.sag);
  CHECK(*report.body.sag == Approx(m * g * std::pow(L, 4) / (8.0 * EI)).epsilon(0.01));
}

TEST_CASE("body report: in torsion a rod is a clamped shaft", "[report]") {
  const std::string rod = "bend_gain = 0\nmass = 0.07\nlinks = 40\nradius = 0.008\n";
  CHECK_FALSE(report_body(arm(rod)).torsion);
  const BodyReport report = report_body(arm(rod + "torsional_stiffness = 0.04\n"));
  const double L = 0.1, GJ = 0.04,
               I = 0.07 / L * 0.008 * 0.008 / 2.0;  // of a length, about the axis
  REQUIRE(report.torsion);
  CHECK(report.torsion->stiffness == Approx(GJ / L));
  CHECK(report.torsion->frequency == Approx(std::sqrt(GJ / I) / (4.0 * L)).epsilon(1e-3));
  // The modes of bending are those of the rod that does not twist.
  const BodyReport rigid = report_body(arm(rod));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(report.body.frequencies.at(i) == Approx(rigid.body.frequencies.at(i)).epsilon(1e-6));
}

TEST_CASE("body report: servos stiffen the tip, one for each link the most", "[report]") {
  // Sums of compliances. Section servo: the bends' mean is held by bend_gain + EI / L, their
  // differences by EI alone; each link's own servo holds its joint.
  const BodyReport section = report_body(arm("mass = 0.07\n"));
  const BodyReport link = report_body(arm("mass = 0.07\n", "compliance = \"link\"\n"));
  CHECK(section.body.tip_stiffness == Approx(link.body.tip_stiffness).epsilon(1e-6));
  CHECK(section.driven->tip_stiffness / section.body.tip_stiffness == Approx(3.7).epsilon(0.05));
  CHECK(link.driven->tip_stiffness / link.body.tip_stiffness == Approx(41.0).epsilon(0.05));
  for (const BodyReport& report : {section, link}) {
    CHECK(report.driven->frequencies.front() > report.body.frequencies.front());
    REQUIRE(report.driven->sag);
    REQUIRE(report.body.sag);
    CHECK(*report.driven->sag < *report.body.sag);
    REQUIRE(report.timestep);
    CHECK(*report.timestep >= 0.002);
  }
}

TEST_CASE("body report: a soft rod sags to where a simulation brings it to rest", "[report]") {
  const ContinuumDescription rod =
      arm("bend_gain = 0\nmass = 7\nlinks = 12\ndamping_time = 0.05\n");
  const BodyReport report = report_body(rod);
  REQUIRE(report.body.sag);
  CHECK(*report.body.sag > 0.05);  // far from small

  const TemporaryFolder folder;
  const Setting across{
      .key = "option.gravity", .value = Value::parse("[9.81, 0, 0]"), .origin = "test"};
  const Scene scene = load_scene(folder.write("arm.toml", rod.text), std::span(&across, 1));
  const DataPtr data = make_data(*scene.model);
  for (int i = 0; i < 4000; ++i) mj_step(scene.model.get(), data.get());
  const int tip = mj_name2id(scene.model.get(), mjOBJ_SITE, "tip");
  const mjtNum straight[3] = {0.0, 0.0, 0.1};
  CHECK(*report.body.sag == Approx(mju_dist3(data->site_xpos + 3 * tip, straight)).epsilon(1e-3));
}

TEST_CASE("body report: the bend that is held is torque over stiffness, less its own weight",
          "[report]") {
  const BodyReport report = report_body(arm("mass = 1\nbend_torque_limit = 0.6\n"));
  REQUIRE(report.bends.size() == 1);
  CHECK(report.bends[0].held == Approx(0.6 * 0.1 / 0.05));
  CHECK(report.bends[0].held_level == Approx((0.6 - 9.81 * 0.05) * 0.1 / 0.05));
  CHECK(report.bends[0].limit == 2.0);
}

TEST_CASE("body report: a body without servos is its own stiffness, and a clamped beam",
          "[report]") {
  // Tensions, pressures and moments do not stiffen it, and it may have no drive at all.
  const std::string tensions = "bend_servo = false\n" + tendons("command = \"tension\"\n");
  const auto c = GENERATE_COPY(values<std::pair<std::string, BodyReport::DrivenBy>>(
      {{"bend_servo = false\n", BodyReport::DrivenBy::Nothing},
       {"bend_command = \"moment\"\n", BodyReport::DrivenBy::Motor},
       {tensions, BodyReport::DrivenBy::Tendons}}));
  CAPTURE(c.first);
  const BodyReport report = report_body(arm("mass = 0.07\nlinks = 20\n" + c.first));
  CHECK_FALSE(report.driven);
  CHECK(report.body.tip_stiffness == Approx(3.0 * 0.05 / 1e-3).epsilon(0.01));
  CHECK(report.bends.at(0).drive == c.second);
  CHECK(report.timestep);
  const std::string text = body_report_text("arm", report);
  CHECK_THAT(text, !Catch::Contains("servos hold"));
  CHECK_THAT(text, !Catch::Contains("nan") && !Catch::Contains("inf"));
}

TEST_CASE("body report: tendons told lengths stiffen the tip as springs on the bend do",
          "[report]") {
  // Three springs k around the backbone at r hold the bend, besides EI / L, with 3/2 k r^2. They
  // give one moment along the section: L^2 / 4 of the tip's compliance goes with the bend, the
  // rest, L^3 / 12 EI, with EI alone.
  const double L = 0.1, EI = 0.05, spring = 1.5 * 2e4 * 0.01 * 0.01;
  const BodyReport report =
      report_body(arm("mass = 0.07\nlinks = 30\n" + tendons("stiffness = 20000\n")));
  REQUIRE(report.driven);
  const double compliance = L * L / 4.0 / (spring + EI / L) + L * L * L / (12.0 * EI);
  CHECK(report.driven->tip_stiffness == Approx(1.0 / compliance).epsilon(0.02));
  CHECK(report.body.tip_stiffness == Approx(3.0 * EI / (L * L * L)).epsilon(0.01));
  REQUIRE(report.driven->sag);
  CHECK(*report.driven->sag < *report.body.sag);
  CHECK_THAT(body_report_text("arm", report), Catch::Contains("tendons hold the straight arm"));
}

TEST_CASE("body report: tendons hold the bends that their largest tensions make", "[report]") {
  // Of three around the backbone, one pulls with its range of tensions, the next one with as much:
  // least across the third, where both act at 30 degrees.
  const std::string rod = "mass = 0.5\n";
  const BodyReport report = report_body(arm(rod + tendons("max_tension = 25\npretension = 5\n")));
  const double held = 20.0 * 0.01 * std::sin(std::numbers::pi / 3.0), per_torque = 0.1 / 0.05;
  REQUIRE(report.bends.size() == 1);
  CHECK(report.bends[0].drive == BodyReport::DrivenBy::Tendons);
  CHECK(report.bends[0].held == Approx(held * per_torque).epsilon(1e-4));
  CHECK(report.bends[0].held_level == 0.0);  // 0.17 N m against 0.25 N m
  // Chambers push as tendons pull; two cannot bend every way.
  const auto chambers = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "[[chamber]]\nsection = 1\nangle = " + std::to_string(2.0943951 * i) +
              "\ndistance = 0.004\narea = 2e-5\nmax_pressure = 1e5\n";
    return text;
  };
  const BodyReport pressed = report_body(arm(rod + chambers(3)));
  CHECK(pressed.bends.at(0).drive == BodyReport::DrivenBy::Chambers);
  CHECK(pressed.bends.at(0).held ==
        Approx(2.0 * 0.004 * std::sin(std::numbers::pi / 3.0) * per_torque).epsilon(1e-4));
  CHECK(report_body(arm(rod + chambers(2))).bends.at(0).held == Approx(0.0).margin(1e-12));
}

TEST_CASE("body report: what floats does not sag, and what the tip carries weighs", "[report]") {
  // As dense as the water: no sag at all, not its rounding; and nothing of the bends is lost.
  const BodyReport floating = report_body(
      arm("radius = 0.006\ndensity = 1000\nbend_torque_limit = 0.6\n[medium]\ndensity = 1000\n"));
  REQUIRE(floating.body.sag);
  CHECK(*floating.body.sag == 0.0);
  CHECK(*floating.driven->sag == 0.0);
  CHECK(floating.bends.at(0).held_level == Approx(floating.bends.at(0).held));
  CHECK_THAT(body_report_text("arm", floating), Catch::Contains("held out level      0 mm"));

  const BodyReport loaded =
      report_body(arm("mass = 1\nbend_torque_limit = 1\n[tip]\npayload = 0.3\n"));
  CHECK(loaded.bends.at(0).held_level == Approx((1.0 - 9.81 * (0.05 + 0.03)) * 0.1 / 0.05));
  const BodyReport gripper =
      report_body(arm("mass = 1\nbend_torque_limit = 1\n[gripper]\nopening = 0.04\nmass = 0.1\n"));
  const double center = 0.6 * 0.005 + 0.4 * (0.01 + 0.02);  // past the tip
  CHECK(gripper.bends.at(0).held_level ==
        Approx((1.0 - 9.81 * (0.05 + 0.1 * (0.1 + center))) * 0.1 / 0.05));
  // The same load and moment at the tip, of small ones.
  const BodyReport heavier =
      report_body(arm("mass = 1\nbend_torque_limit = 1\n[gripper]\nopening = 0.04\nmass = 0.2\n"));
  CHECK(gripper.body.tip_stiffness == Approx(heavier.body.tip_stiffness));
  CHECK(*gripper.body.sag < *heavier.body.sag);
  CHECK(gripper.body.frequencies.at(0) > heavier.body.frequencies.at(0));
}

TEST_CASE("body report: a base that moves and lengths do not count as bending", "[report]") {
  const std::string body = "mass = 0.07\nlinks = 10\n";
  const BodyReport held = report_body(arm(body)),
                   fed = report_body(arm(body, "", "[base]\nfeed = 0.3\nspin = true\n"));
  REQUIRE(fed.body.sag);
  CHECK(*fed.body.sag == Approx(*held.body.sag).epsilon(1e-6));
  CHECK(fed.body.frequencies.at(0) == Approx(held.body.frequencies.at(0)).epsilon(1e-6));

  // Soft along: it sags as a beam of its unloaded length, m g L^3 / 8 EI, and no frequency is that
  // of lengthening, sqrt(k / m) / 4 = 16 Hz.
  const std::string soft = "variable_length = 0.04\nlength_servo = false\naxial_stiffness = 300\n";
  for (const double length : {0.11, 0.12}) {
    const BodyReport rod =
        report_body(arm(body + soft + "unloaded_length = " + std::to_string(length) + "\n"));
    REQUIRE(rod.body.sag);
    CHECK(*rod.body.sag == Approx(0.07 * 9.81 * std::pow(length, 3) / (8.0 * 0.05)).epsilon(0.02));
    CHECK(rod.body.frequencies.at(1) / rod.body.frequencies.at(0) == Approx(6.267).epsilon(0.03));
  }
}
