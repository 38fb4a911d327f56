// What the plugin adds to a controller's command, and what it reports.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "controllers/controller_kind.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

double norm(const std::vector<double>& v) {
  double sum = 0.0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

double distance(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return norm(a);
}

double largest_speed(const ModelPtr& model, const DataPtr& data) {
  double largest = 0.0;
  for (int i = 0; i < model->nv; ++i) largest = std::max(largest, std::abs(data->qvel[i]));
  return largest;
}

/// Worst distance of the measured coordinates from the commanded ones while the arm moves.
double worst_lag(const ModelPtr& model, int steps) {
  const DataPtr data = make_data(model);
  double worst = 0.0;
  for (int k = 0; k < steps; ++k) {
    mj_step(model.get(), data.get());
    const auto command = sensor(model, data, "A_command"),
               measured = sensor(model, data, "A_measured");
    worst = std::max(worst, distance(command, measured));
  }
  return worst;
}

const std::string kLinkServos = "compliance = \"link\"\n";
const std::string kOpenLoop = "integral_gain = 0\ndeflection_compensation = false\n";

std::string with_compliance(const std::string& toml, bool link) {
  return link ? kLinkServos + toml : toml;
}

}  // namespace

TEST_CASE("plugin: every sensor is there and has its dimension", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = make_data(model);
  step(model, data, 10);
  constexpr std::size_t kCoordinates = 4;
  const auto check = [&](const std::string& prefix, const std::string& kind) {
    const auto& kinds = built_in_controllers();
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const ControllerKind& k) { return k.name == kind; });
    REQUIRE(found != kinds.end());
    for (const Quantity& quantity : all_quantities(*found)) {
      const std::size_t width = quantity.width == kPerCoordinate
                                    ? kCoordinates
                                    : static_cast<std::size_t>(quantity.width);
      CHECK(sensor(model, data, prefix + quantity.name).size() == width);
    }
    CHECK(sensor(model, data, prefix + "tip_error").size() == 1);
    CHECK(sensor(model, data, prefix + "command").size() == kCoordinates);
  };
  check("R_", "tendril.reach");
  check("F_", "tendril.follow");
}

TEST_CASE("plugin: sensors tell what there is", "[plugin]") {
  const ModelPtr model = load_one_arm(reach_arm());
  const DataPtr data = make_data(model);
  step(model, data, 1500);
  // World x is z of the base, world z is -x.
  const auto target = sensor(model, data, "A_target");
  CHECK(target[0] == Approx(-0.04));
  CHECK(target[2] == Approx(0.1));
  // The sensor belongs to the start of the last step.
  mj_forward(model.get(), data.get());
  const int tip = mj_name2id(model.get(), mjOBJ_SITE, "A_tip");
  const mjtNum* p = data->site_xpos + 3 * tip;
  const double distance = std::hypot(p[0] - 0.1, p[1], p[2] - 0.04);
  CHECK(sensor(model, data, "A_tip_error")[0] == Approx(distance).margin(1e-12));
  CHECK(distance < 1e-4);
  // Sum of the hinges of section 1 about y.
  double u = 0.0;
  for (int j = 1; j <= 4; ++j) {
    const int joint =
        mj_name2id(model.get(), mjOBJ_JOINT, ("A_s1_l" + std::to_string(j) + "_y").c_str());
    REQUIRE(joint >= 0);
    u += data->qpos[model->jnt_qposadr[joint]];
  }
  CHECK(sensor(model, data, "A_measured")[0] == Approx(u));
}

TEST_CASE("plugin: the tip of an arm that twists comes to its target", "[plugin]") {
  // Out of the plane of the weight, so that it twists; ten times as soft in torsion as in bending.
  const bool link = GENERATE(false, true);
  CAPTURE(link);
  const std::string more = "torsional_stiffness = 0.005\n";
  load_tendril();
  const ModelPtr model =
      load_scene_text(one_arm_scene(R"(<body name="target" mocap="true" pos="0.08 0.06 0.02"/>)"),
                      {{"arm.toml", with_compliance(reach_arm("", more), link)}});
  const DataPtr data = make_data(model);
  // The tip arrives within 2 s, and does not swing then.
  step(model, data, 1000);
  double largest = 0.0;
  for (int k = 0; k < 1000; ++k) {
    step(model, data, 1);
    largest = std::max(largest, sensor(model, data, "A_tip_error")[0]);
  }
  CHECK(largest < 1e-4);
  double twist = 0.0, to_middle = 0.0, u = 0.0, v = 0.0;
  for (int j = 1; j <= 4; ++j) {
    const auto position = [&](const char* name) {
      const int joint =
          mj_name2id(model.get(), mjOBJ_JOINT, ("A_s1_l" + std::to_string(j) + name).c_str());
      REQUIRE(joint >= 0);
      return data->qpos[model->jnt_qposadr[joint]];
    };
    twist += position("_twist");
    to_middle += position("_twist") * (4.5 - j) / 4.0;
    u += position("_y");
    v -= position("_x");
  }
  CHECK(std::abs(twist) > 0.01);
  // The bends of the joints, turned by the twist up to the middle of their section.
  const Eigen::Vector2d untwisted = Eigen::Rotation2Dd(to_middle) * Eigen::Vector2d(u, v);
  CHECK(sensor(model, data, "A_measured")[0] == Approx(untwisted.x()).margin(1e-6));
  CHECK(sensor(model, data, "A_measured")[1] == Approx(untwisted.y()).margin(1e-6));
}

TEST_CASE("plugin: gravity compensation brings the sections to their commands", "[plugin]") {
  const bool link = GENERATE(false, true);
  CAPTURE(link);
  const auto sag = [&](const std::string& more) {
    std::string toml = with_compliance(reach_arm(kOpenLoop + more), link);
    for (std::size_t at; (at = toml.find("mass = 0.03")) != std::string::npos;)
      toml.replace(at, 11, "mass = 0.3");
    const ModelPtr model = load_one_arm(toml);
    const DataPtr data = make_data(model);
    step(model, data, 1500);
    return distance(sensor(model, data, "A_command"), sensor(model, data, "A_measured"));
  };
  const double on = sag(""), off = sag("gravity_compensation = false\n");
  CAPTURE(on, off);
  CHECK(off > 1e-3);
  CHECK(on < 0.01 * off);
}

TEST_CASE("plugin: velocity feed-forward takes the servo's lag out", "[plugin]") {
  const bool link = GENERATE(false, true);
  CAPTURE(link);
  const std::string slow = kOpenLoop + "rate_limit = 2\n";
  const double on = worst_lag(load_one_arm(with_compliance(reach_arm(slow), link)), 600);
  const double off = worst_lag(
      load_one_arm(with_compliance(reach_arm(slow + "velocity_feed_forward = false\n"), link)),
      600);
  CAPTURE(on, off);
  CHECK(on < 0.5 * off);
}

TEST_CASE("plugin: servos pushed to their limits by a far target do not swing", "[plugin]") {
  // Measured: 0.0005 rad/s; 0.11 rad/s, from limit to limit, when setpoints may saturate a servo.
  const double target_x = GENERATE(-0.5, 0.3);
  const std::string section =
      "[[section]]\nconstant_length = 0.1\nbend_limit = 1.745\nlinks = 4\nmass = 0.07\n"
      "bending_stiffness = 0.2\nbend_torque_limit = 0.3\n";
  const ModelPtr model =
      load_one_arm("kind = \"continuum\"\n" + section + section +
                   "[controller]\nplugin = \"tendril.reach\"\nrate_limit = 1000\n");
  const DataPtr data = make_data(model);
  data->mocap_pos[0] = target_x;
  data->mocap_pos[2] = 0.5;
  step(model, data, 1000);
  double fastest = 0.0;
  for (int k = 0; k < 250; ++k) {
    mj_step(model.get(), data.get());
    fastest = std::max(fastest, largest_speed(model, data));
  }
  CHECK(fastest < 0.01);  // [rad/s]
}

TEST_CASE("plugin: an invalid target holds the arm and says so", "[plugin]") {
  const ModelPtr model = load_one_arm(reach_arm());
  const DataPtr data = make_data(model);
  step(model, data, 500);
  const auto command = sensor(model, data, "A_command");
  data->mocap_pos[1] = std::nan("");
  step(model, data, 100);
  CHECK(sensor(model, data, "A_status")[0] == 4.0);
  CHECK(norm(sensor(model, data, "A_command")) == Approx(norm(command)).margin(0.05));
  data->mocap_pos[1] = 0.0;
  step(model, data, 500);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
}

TEST_CASE("plugin: no setpoints are written while springs and dampers are both disabled",
          "[plugin]") {
  const ModelPtr model = load_one_arm(reach_arm());
  const DataPtr data = make_data(model);
  model->opt.disableflags |= mjDSBL_SPRING | mjDSBL_DAMPER;
  mj_forward(model.get(), data.get());
  CHECK(norm({data->ctrl, data->ctrl + model->nu}) == 0.0);
  model->opt.disableflags &= ~mjDSBL_DAMPER;
  mj_forward(model.get(), data.get());
  CHECK(norm({data->ctrl, data->ctrl + model->nu}) > 0.0);
}

TEST_CASE("plugin: draws path, plan and target into as much room as there is", "[plugin]") {
  const ModelPtr model = load_one_arm(follow_arm());
  const DataPtr data = make_data(model);
  step(model, data, 200);
  mjvOption option;
  mjv_defaultOption(&option);
  mjvCamera camera;
  mjv_defaultCamera(&camera);
  const auto geoms = [&](int room) {
    mjvScene scene;
    mjv_defaultScene(&scene);
    mjv_makeScene(model.get(), &scene, room);
    mjv_updateScene(model.get(), data.get(), &option, nullptr, &camera, mjCAT_ALL, &scene);
    const int count = scene.ngeom;
    mjv_freeScene(&scene);
    return count;
  };
  // 59 pieces of path, 16 of plan, one target, besides the bodies.
  CHECK(geoms(1000) >= model->ngeom + 59 + 16 + 1 - 1);
  CHECK(geoms(20) <= 20);
}
