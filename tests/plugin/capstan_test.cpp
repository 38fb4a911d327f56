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

/// A limp cord of 120 links in a plane, laid around the post by `angle`; its base slides along z.
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
  // What friction holds creeps by millimeters; what it does not hold runs.
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

namespace {

/// A section with servos and one with two tendons on opposite sides, which run through both.
std::string tendon_arm(double mu) {
  const std::string section =
      "[[section]]\nconstant_length = 0.06\nbend_limit = 1.745\nlinks = 8\nradius = 0.012\n"
      "mass = 0.03\nbending_stiffness = 0.05\n";
  std::string text =
      "planar = true\n" + section + "bend_servo = true\nbend_torque_limit = 20\n" + section;
  for (const char* angle : {"0", "3.14159265359"}) {
    text += "[[tendon]]\nangle = " + std::string(angle) +
            "\ndistance = 0.01\ncommand = \"tension\"\nmax_tension = 300\npretension = 0\n"
            "friction_coefficient = " +
            std::to_string(mu) + "\n";
  }
  return text + "[controller]\nplugin = \"tendril.reach\"\nintegral_gain = 0\n";
}

/// Bend of a section, and the mean moment against it of its springs and their damping [N m].
std::pair<double, double> bend(const ModelPtr& model, const DataPtr& data, int section) {
  double sum = 0.0, moment = 0.0;
  for (int j = 1; j <= 8; ++j) {
    const std::string name = "A_s" + std::to_string(section) + "_l" + std::to_string(j) + "_y";
    const int joint = mj_name2id(model.get(), mjOBJ_JOINT, name.c_str());
    REQUIRE(joint >= 0);
    const mjtNum q = data->qpos[model->jnt_qposadr[joint]];
    const int dof = model->jnt_dofadr[joint];
    sum += q;
    moment += (model->jnt_stiffness[joint] * q + model->dof_damping[dof] * data->qvel[dof]) / 8.0;
  }
  return {sum, moment};
}

}  // namespace

TEST_CASE(
    "friction of tendons: after a bent section the tension is exp(-mu theta) of that before it",
    "[plugin][tendons]") {
  const double mu = GENERATE(0.1, 0.3);
  const ModelPtr model = load_one_arm(tendon_arm(mu), "gravity=\"0 0 0\"");
  const DataPtr data = make_data(model);
  double x = 0.12, z = 0.0;
  const auto go_to = [&](double to_x, double to_z, int steps) {
    const double dx = (to_x - x) / steps, dz = (to_z - z) / steps;
    for (int i = 0; i < steps; ++i) {
      data->mocap_pos[0] = x += dx;
      data->mocap_pos[2] = z += dz;
      step(model, data, 1);
    }
  };
  const int pull = mj_name2id(model.get(), mjOBJ_ACTUATOR, "A_tendon_2");
  const int other = mj_name2id(model.get(), mjOBJ_ACTUATOR, "A_tendon_1");
  REQUIRE((pull >= 0 && other >= 0));
  // Mean tension in the second section, of that at the base, and what the law says of a tendon that
  // slides; friction -mu: it is let out.
  const auto ratio = [&] {
    CHECK(data->actuator_force[other] < 0.001 * data->actuator_force[pull]);
    return std::abs(bend(model, data, 2).second) / (0.01 * data->actuator_force[pull]);
  };
  const auto law = [&](double friction) {
    const double theta1 = std::abs(bend(model, data, 1).first);
    const double theta2 = std::abs(bend(model, data, 2).first);
    REQUIRE(theta1 > 0.25);
    REQUIRE(theta2 > 0.5);
    return std::exp(-friction * theta1) * -std::expm1(-friction * theta2) / (friction * theta2);
  };
  CAPTURE(mu);
  go_to(0.1079, 0.0423, 1);  // bends of 0.3 and 0.6 rad
  step(model, data, 500);
  go_to(0.0862, 0.0618, 1400);
  CHECK(ratio() == Approx(law(mu)).epsilon(0.02));
  go_to(0.0769, 0.0701, 600);   // 0.6 and 1.2 rad
  go_to(0.0991, 0.0537, 2000);  // 0.4 and 0.8 rad
  CHECK(ratio() == Approx(law(-mu)).epsilon(0.02));
  // At rest it sticks.
  step(model, data, 250);
  const double before = ratio();
  step(model, data, 500);
  CHECK(ratio() == Approx(before).epsilon(0.005));
}
