// Friction along a body that lies on a post: Euler's law of the capstan.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kStart = 0.05, kEnd = 0.12;  // straight before and after the post [m]
constexpr double kBody = 0.004, kPost = 0.046;
constexpr double kFeed = 0.03;  // of the base at the start [m]
constexpr double kHeld = 1.0;   // [N]

/// A limp cord of 120 links in a plane, laid round the post by `angle`; its base slides along z.
std::string cord(double angle) {
  constexpr int kSections = 4;
  const double radius = kPost + kBody, wound = radius * angle;
  const double section = (kStart + wound + kEnd) / kSections;
  std::string text =
      "planar = true\ncompliance = \"link\"\n[base]\nfeed = 0.1\ncarriage_mass = "
      "0.02\n[start]\nfeed = 0.03\narcs = [0, " +
      std::to_string(kStart) + ", " + std::to_string(1.0 / radius) + ", " + std::to_string(wound) +
      "]\n";
  for (int i = 0; i < kSections; ++i) {
    text += "[[section]]\nconstant_length = " + std::to_string(section) +
            "\nbend_limit = 6\nlinks = 30\nradius = " + std::to_string(kBody) +
            "\nmass = 0.005\nbending_stiffness = 2e-5\nbend_gain = 0\ndamping_time = 0.02\n";
  }
  return text;
}

std::string scene(double friction) {
  return "<mujoco model=\"capstan\">\n"
         "<option timestep=\"0.002\" integrator=\"discrete\" cone=\"elliptic\" impratio=\"10\" "
         "iterations=\"100\" gravity=\"0 0 0\"><flag actuation=\"disable\"/></option>\n"
         "<asset><model name=\"arm\" file=\"arm.toml\"/></asset>\n"
         "<worldbody>\n<attach model=\"arm\" body=\"base\" prefix=\"A_\"/>\n"
         "<geom name=\"post\" type=\"cylinder\" size=\"" +
         std::to_string(kPost) + " 0.05\" euler=\"90 0 0\" pos=\"" + std::to_string(kPost + kBody) +
         " 0 " + std::to_string(kFeed + kStart) +
         "\" contype=\"2\" conaffinity=\"1\" priority=\"1\" friction=\"" +
         std::to_string(friction) + "\"/>\n</worldbody>\n</mujoco>";
}

}  // namespace

TEST_CASE(
    "friction: a cord runs over a post when pulled by more than exp(mu angle) of what holds it",
    "[plugin]") {
  const double degrees = GENERATE(90.0, 180.0, 270.0);
  const double friction = GENERATE(0.2, 0.4);
  const double angle = degrees * std::numbers::pi / 180.0;
  load_tendril();
  const ModelPtr model = load_scene_text(scene(friction), {{"arm.toml", cord(angle)}});
  const DataPtr data = make_data(model);
  mj_resetDataKeyframe(model.get(), data.get(), 0);
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "A_carriage");
  const int tip = mj_name2id(model.get(), mjOBJ_BODY, "A_s4_l30");
  const int feed = model->jnt_qposadr[mj_name2id(model.get(), mjOBJ_JOINT, "A_feed")];
  REQUIRE(base > 0);
  REQUIRE(tip > 0);
  // What friction holds creeps by millimetres; what it does not hold runs.
  const double load = GENERATE(0.92, 1.08);
  const double limit = kHeld * std::exp(friction * angle);
  constexpr double kRise = 1.0, kRest = 1.5, kRun = 0.020, kCreep = 0.008;  // [s], [m]
  double way = 0.0;
  while (data->time < kRise + kRest && way < kRun) {
    const double pull = kHeld * std::pow(load * limit / kHeld, std::min(1.0, data->time / kRise));
    data->xfrc_applied[6 * base + 2] = -kHeld;
    data->xfrc_applied[6 * tip] = pull * std::sin(angle);
    data->xfrc_applied[6 * tip + 2] = pull * std::cos(angle);
    mj_step(model.get(), data.get());
    way = data->qpos[feed] - kFeed;
  }
  CAPTURE(degrees, friction, load, way, data->time);
  if (load > 1.0) {
    CHECK(way >= kRun);
  } else {
    CHECK(way < kCreep);
  }
}
