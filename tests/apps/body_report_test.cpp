#include "apps/host/engine/body_report.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "apps/host/engine/scene.hpp"
#include "tendril/robot_file/robot_description.hpp"
#include "tests/apps/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::host;
using tendril::test::TemporaryFolder;

namespace {

ContinuumDescription arm(const std::string& more, const std::string& top = "") {
  return std::get<ContinuumDescription>(parse_robot("kind = \"continuum\"\n" + top +
                                                        "[[section]]\nconstant_length = 0.1\n"
                                                        "bend_limit = 2\nbending_stiffness = 0.05\n" +
                                                        more,
                                                    "arm.toml", {}));
}

}  // namespace

TEST_CASE("body report: a rod without servos is a clamped beam", "[report]") {
  const BodyReport report = report_body(arm("bend_gain = 0\nmass = 0.07\nlinks = 40\nradius = 0.001\n"));
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
  const double L = 0.1, GJ = 0.04, I = 0.07 / L * 0.008 * 0.008 / 2.0;  // of a length, about the axis
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
  CHECK(section.driven.tip_stiffness / section.body.tip_stiffness == Approx(3.7).epsilon(0.05));
  CHECK(link.driven.tip_stiffness / link.body.tip_stiffness == Approx(41.0).epsilon(0.05));
  for (const BodyReport& report : {section, link}) {
    CHECK(report.driven.frequencies.front() > report.body.frequencies.front());
    REQUIRE(report.driven.sag);
    REQUIRE(report.body.sag);
    CHECK(*report.driven.sag < *report.body.sag);
    REQUIRE(report.timestep);
    CHECK(*report.timestep >= 0.002);
  }
}

TEST_CASE("body report: a soft rod sags to where a simulation brings it to rest", "[report]") {
  const ContinuumDescription rod = arm("bend_gain = 0\nmass = 7\nlinks = 12\ndamping_time = 0.05\n");
  const BodyReport report = report_body(rod);
  REQUIRE(report.body.sag);
  CHECK(*report.body.sag > 0.05);  // far from small

  const TemporaryFolder folder;
  const Setting across{.key = "option.gravity", .value = Value::parse("[9.81, 0, 0]"), .origin = "test"};
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
