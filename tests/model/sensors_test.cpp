// The sensors of `[[sensor]]` tables in models without controllers: what they measure is what the
// kinematics and the statics of the model say.

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <vector>

#include "tendril/model/plausibility.hpp"
#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kRounding = 1e-9;  // coefficients in MJCF have twelve digits

/// Two sections of 0.12 and 0.08 m with nine tendons each at 8 mm.
const std::string kArm = R"(kind = "continuum"
[[section]]
constant_length = 0.12
bend_limit = 2
links = 6
mass = 0.05
[[section]]
constant_length = 0.08
bend_limit = 2
links = 5
mass = 0.03
)";
const std::string kTendons = R"([[tendon]]
name = "a"
section = 1
angle = 0
distance = 0.006
[[tendon]]
name = "b"
section = 2
angle = 1.1
distance = 0.005
)";

std::string sensor(const std::string& kind, const std::string& keys = "") {
  return "[[sensor]]\nkind = \"" + kind + "\"\nname = \"s\"\n" + keys;
}

Simulation simulation(const std::string& toml) {
  return Simulation(model_mjcf(parse_model(toml, "arm.toml")));
}

/// The numbers of a sensor.
Eigen::VectorXd value(const Simulation& s, const std::string& name) {
  const int id = s.id(mjOBJ_SENSOR, name);
  return Eigen::Map<const Eigen::VectorXd>(s.data->sensordata + s.model->sensor_adr[id],
                                           s.model->sensor_dim[id]);
}

/// Puts the base anywhere and the joints at random angles, with random velocities.
void shake(Simulation& s, Random& random) {
  const int base = s.id(mjOBJ_BODY, names::kBase);
  for (int i = 0; i < 3; ++i) s.model->body_pos[3 * base + i] = random.uniform(-1.0, 1.0);
  for (int i = 0; i < 4; ++i) s.model->body_quat[4 * base + i] = random.uniform(-1.0, 1.0);
  mju_normalize4(s.model->body_quat + 4 * base);
  for (int i = 0; i < s.model->nq; ++i) s.data->qpos[i] = random.uniform(-0.2, 0.2);
  for (int i = 0; i < s.model->nv; ++i) s.data->qvel[i] = random.uniform(-0.2, 0.2);
  mj_forward(s.model.get(), s.data.get());
}

Eigen::Isometry3d base_pose(const Simulation& s) {
  using Rotation = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  const int base = s.id(mjOBJ_BODY, names::kBase);
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() = Eigen::Map<const Vector3d>(s.data->xpos + 3 * base);
  X.linear() = Eigen::Map<const Rotation>(s.data->xmat + 9 * base);
  return X;
}

}  // namespace

TEST_CASE("sensors: a tip tracker has the pose of the tip in the frame of the base", "[mjcf]") {
  const auto seed = GENERATE(range(0u, 10u));
  Random random(seed);
  const bool feeds = seed % 2 == 1;
  Simulation s = simulation(kArm + (feeds ? "[base]\nfeed = 0.3\n" : "") + sensor("tip_tracker"));
  shake(s, random);
  const Eigen::Isometry3d X_BT = base_pose(s).inverse() * s.site_pose(names::kTip);
  CHECK((value(s, "s_position") - X_BT.translation()).norm() < kRounding);
  const Eigen::VectorXd q = value(s, "s_orientation");
  CHECK((Eigen::Quaterniond(q[0], q[1], q[2], q[3]).toRotationMatrix() - X_BT.linear()).norm() <
        kRounding);
}

TEST_CASE("sensors: encoders have the lengths of tendons, joints turned by the same angle",
          "[mjcf]") {
  Simulation s = simulation(kArm + kTendons + sensor("tendon_encoder"));
  const double u1 = 0.7, v1 = -0.3, u2 = -0.4, v2 = 0.5;
  for (int section = 1; section <= 2; ++section) {
    const int links = section == 1 ? 6 : 5;
    for (int link = 1; link <= links; ++link) {
      const auto set = [&](char axis, double angle) {
        const int joint = s.id(mjOBJ_JOINT, names::hinge(section, link, axis));
        s.data->qpos[s.model->jnt_qposadr[joint]] = angle / links;
      };
      set('y', section == 1 ? u1 : u2);
      set('x', section == 1 ? -v1 : -v2);
    }
  }
  mj_forward(s.model.get(), s.data.get());
  // A tendon at angle a and distance d shortens by d (u cos a + v sin a) of each of its sections.
  CHECK(value(s, "s_a")[0] == Approx(-0.006 * u1).margin(kRounding));
  CHECK(value(s, "s_b")[0] ==
        Approx(-0.005 * ((u1 + u2) * std::cos(1.1) + (v1 + v2) * std::sin(1.1))).margin(kRounding));

  Simulation one = simulation(kArm + kTendons + sensor("tendon_encoder", "tendons = [\"b\"]\n"));
  CHECK(one.has(mjOBJ_SENSOR, "s_b"));
  CHECK_FALSE(one.has(mjOBJ_SENSOR, "s_a"));
}

TEST_CASE("sensors: a drum is a sensor of the controller, and of no model without one", "[mjcf]") {
  std::string arm = kArm;
  for (std::size_t at = 0; (at = arm.find("mass", at)) != std::string::npos; at += 20)
    arm.insert(at, "bend_servo = true\n");
  const std::string robot = arm + kTendons + sensor("drum_encoder");
  CHECK_FALSE(simulation(robot).has(mjOBJ_SENSOR, "s_a"));
  const std::string mjcf =
      model_mjcf(parse_model(robot + "[controller]\nplugin = \"tendril.reach\"\n", "arm.toml"));
  CHECK_THAT(mjcf, Catch::Contains("<plugin name=\"s_a\" plugin=\"tendril.reach\" "
                                   "instance=\"controller\" objname=\"a\" "
                                   "objtype=\"tendon\"/>"));
}

TEST_CASE("sensors: encoders of servos have the coordinates of the sections", "[mjcf]") {
  Random random(GENERATE(range(0u, 6u)));
  std::string arm = kArm;
  arm.insert(arm.find("[[section]]") + 12, "variable_length = 0.04\n");
  Simulation s = simulation(arm + sensor("bend_encoder") +
                            "[[sensor]]\nkind = \"length_encoder\"\nname = \"z\"\n");
  shake(s, random);
  const auto sum = [&](int section, char axis, int links) {
    double total = 0.0;
    for (int link = 1; link <= links; ++link) {
      const std::string name =
          axis == 'z' ? names::slide(section, link) : names::hinge(section, link, axis);
      total += s.data->qpos[s.model->jnt_qposadr[s.id(mjOBJ_JOINT, name)]];
    }
    return total;
  };
  CHECK(value(s, "s_s1_y")[0] == Approx(sum(1, 'y', 6)).margin(kRounding));
  CHECK(value(s, "s_s1_x")[0] == Approx(-sum(1, 'x', 6)).margin(kRounding));
  CHECK(value(s, "s_s2_x")[0] == Approx(-sum(2, 'x', 5)).margin(kRounding));
  CHECK(value(s, "z_s1_z")[0] == Approx(sum(1, 'z', 6)).margin(kRounding));
  CHECK_FALSE(s.has(mjOBJ_SENSOR, "z_s2_z"));
}

TEST_CASE("sensors: a tendon force is the tension that is commanded", "[mjcf]") {
  std::string tendons = kTendons;
  for (std::size_t at = 0; (at = tendons.find("angle", at)) != tendons.npos; at += 30)
    tendons.insert(at, "command = \"tension\"\n");
  Simulation s = simulation(kArm + tendons + sensor("tendon_force") +
                            "[[sensor]]\nkind = \"motor_current\"\nname = \"i\"\n"
                            "torque_constant = 4\nactuators = [\"b\"]\n");
  s.set_ctrl("a", 3.0);
  s.set_ctrl("b", 7.0);
  mj_forward(s.model.get(), s.data.get());
  CHECK(value(s, "s_a")[0] == Approx(3.0));
  CHECK(value(s, "s_b")[0] == Approx(7.0));
  CHECK(value(s, "i_b")[0] == Approx(7.0));  // the ideal sensor; its reading is over the constant
}

TEST_CASE("sensors: the curvature of an arc is its bend over its length", "[mjcf]") {
  Random random(GENERATE(range(0u, 10u)));
  Simulation s = simulation(kArm + sensor("curvature", "places = [0, 0.3, 0.59, 0.61, 1]\n"));
  const ContinuumDescription robot = parse_as<ContinuumDescription>(kArm, "arm.toml");
  Eigen::Vector2d kappa[2];  // of each section, towards x and y [1/m]
  for (int section = 1; section <= 2; ++section) {
    const Eigen::Vector2d uv(random.uniform(-1.5, 1.5), random.uniform(-1.5, 1.5));
    kappa[section - 1] = uv / (section == 1 ? 0.12 : 0.08);
    const LinkLayout layout = link_layout(robot, static_cast<std::size_t>(section - 1));
    for (std::size_t j = 0; j < layout.bend_fraction.size(); ++j) {
      for (const char axis : {'x', 'y'}) {
        const int joint = s.id(mjOBJ_JOINT, names::hinge(section, static_cast<int>(j) + 1, axis));
        s.data->qpos[s.model->jnt_qposadr[joint]] =
            layout.bend_fraction[j] * (axis == 'y' ? uv.x() : -uv.y());
      }
    }
  }
  mj_forward(s.model.get(), s.data.get());
  for (int k = 1; k <= 5; ++k) {
    const Eigen::Vector2d& there = kappa[k <= 3 ? 0 : 1];
    CHECK(value(s, "s_" + std::to_string(k) + "_x")[0] == Approx(there.x()).epsilon(kRounding));
    CHECK(value(s, "s_" + std::to_string(k) + "_y")[0] == Approx(there.y()).epsilon(kRounding));
  }
}

TEST_CASE("sensors: pieces of a section and sections that taper have curvatures of their own",
          "[mjcf]") {
  const auto kappa = [](const std::string& keys, const std::string& places, int count) {
    const std::string arm =
        "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 12\n" + keys;
    Simulation s = simulation(arm + sensor("curvature", "places = " + places + "\n"));
    const auto robot = parse_as<ContinuumDescription>(arm, "arm.toml");
    const LinkLayout layout = link_layout(robot, 0);
    for (std::size_t j = 0; j < layout.bend_fraction.size(); ++j) {
      if (layout.bend_fraction[j] == 0.0) continue;
      const int joint = s.id(mjOBJ_JOINT, names::hinge(1, static_cast<int>(j) + 1, 'y'));
      s.data->qpos[s.model->jnt_qposadr[joint]] = layout.bend_fraction[j] * 1.2;
    }
    mj_forward(s.model.get(), s.data.get());
    std::vector<double> all;
    for (int k = 1; k <= count; ++k) all.push_back(value(s, "s_" + std::to_string(k) + "_x")[0]);
    return all;
  };
  // Half of the length has a quarter of the bend of 1.2 rad, the other half the rest.
  const auto pieces =
      kappa("length_weights = [1, 1]\nangle_weights = [1, 3]\n", "[0, 0.3, 0.49, 0.51, 1]", 5);
  for (std::size_t k = 0; k < 5; ++k)
    CHECK(pieces[k] == Approx(k < 3 ? 0.3 / 0.05 : 0.9 / 0.05).epsilon(kRounding));
  // Under one moment the curvature is in proportion to 1/EI, and its mean is bend over length.
  const auto taper = kappa("bending_stiffness = [0.2, 0.05]\n",
                           "[0.0416, 0.125, 0.2083, 0.2916, 0.375, 0.4583, 0.5416, 0.625, 0.7083, "
                           "0.7916, 0.875, 0.9583]",
                           12);
  double mean = 0.0;
  for (const double one : taper) mean += one / 12.0;
  CHECK(mean == Approx(12.0).epsilon(kRounding));
  for (std::size_t k = 1; k < 12; ++k) CHECK(taper[k] > taper[k - 1]);
}

TEST_CASE("sensors: a planar arm has one component of curvature", "[mjcf]") {
  const Simulation s =
      simulation("planar = true\n" + kArm + sensor("curvature", "places = [0.5]\n"));
  CHECK(s.has(mjOBJ_SENSOR, "s_1_x"));
  CHECK_FALSE(s.has(mjOBJ_SENSOR, "s_1_y"));
}

TEST_CASE("sensors: markers are on the backbone", "[mjcf]") {
  Random random(GENERATE(range(0u, 10u)));
  // 0.6 is the end of section 1; the first half of the first link moves with the base.
  Simulation s = simulation(kArm + sensor("markers", "places = [0, 0.04, 0.6, 1]\n"));
  shake(s, random);
  const Eigen::Isometry3d X_BW = base_pose(s).inverse();
  CHECK(value(s, "s_1").norm() < kRounding);
  CHECK((value(s, "s_2") - Vector3d(0, 0, 0.008)).norm() < kRounding);
  CHECK((value(s, "s_3") - X_BW * s.site_pose(names::section_end(1)).translation()).norm() <
        kRounding);
  CHECK((value(s, "s_4") - X_BW * s.site_pose(names::kTip).translation()).norm() < kRounding);
}

TEST_CASE("sensors: the base holds the weight of an arm at rest and its moment", "[mjcf]") {
  const bool feeds = GENERATE(false, true);
  Simulation s = simulation(kArm + (feeds ? "[base]\nfeed = 0.3\n" : "") +
                            "[tip]\npayload = 0.02\n" + sensor("base_force"));
  const int base = s.id(mjOBJ_BODY, names::kBase);
  const double tilted[] = {0.8, 0.36, -0.48, 0.0};
  std::copy_n(tilted, 4, s.model->body_quat + 4 * base);
  s.run(6.0);
  REQUIRE(s.speed() < 1e-6);
  const Eigen::Isometry3d X_WB = base_pose(s);
  const Vector3d held(0, 0, 9.81 * s.model->body_subtreemass[base]);  // against the weight
  const Vector3d center = Eigen::Map<const Vector3d>(s.data->subtree_com + 3 * base);
  const Vector3d force = X_WB.linear().transpose() * held;
  const Vector3d moment = X_WB.linear().transpose() * (center - X_WB.translation()).cross(held);
  REQUIRE(moment.norm() > 0.01);
  CHECK((value(s, "s_force") - force).norm() < 1e-5 * force.norm());
  CHECK((value(s, "s_torque") - moment).norm() < 1e-5 * moment.norm());
}

TEST_CASE("sensors: an imu turns with the body and carries its weight", "[mjcf]") {
  Simulation s = simulation(kArm + "[base]\nspin = true\n" + sensor("imu", "places = [0.5]\n"));
  for (int i = 0; i < s.model->nq; ++i) s.data->qpos[i] = 0.1;
  s.data->qvel[s.model->jnt_dofadr[s.id(mjOBJ_JOINT, names::kSpin)]] = 2.0;
  mj_forward(s.model.get(), s.data.get());
  const Eigen::Matrix3d R = s.site_pose("s_site").linear();
  CHECK((value(s, "s_gyro") - R.transpose() * Vector3d(0, 0, 2)).norm() < kRounding);
  s.data->qvel[s.model->jnt_dofadr[s.id(mjOBJ_JOINT, names::kSpin)]] = 0.0;
  s.run(6.0);
  REQUIRE(s.speed() < 1e-5);
  const Vector3d up = s.site_pose("s_site").linear().transpose() * Vector3d(0, 0, 9.81);
  CHECK((value(s, "s_accelerometer") - up).norm() < 1e-3);
}

TEST_CASE("sensors: snakes and mobile robots have encoders", "[mjcf]") {
  Random random(3);
  Simulation snake =
      simulation("kind = \"snake\"\nlink_length = 0.06\njoints = 4\n" + sensor("joint_encoder") +
                 "[[sensor]]\nkind = \"imu\"\nname = \"head\"\n");
  shake(snake, random);
  for (int j = 1; j <= 4; ++j) {
    const int joint = snake.id(mjOBJ_JOINT, names::snake_joint(j));
    CHECK(value(snake, "s_" + names::snake_joint(j))[0] ==
          snake.data->qpos[snake.model->jnt_qposadr[joint]]);
  }
  CHECK(value(snake, "head_gyro").size() == 3);

  Simulation mobile = simulation(R"(kind = "mobile"
[platform]
length = 0.58
width = 0.38
height = 0.14
[arm]
mount = [0.1, 0]
shoulder_height = 0.245
[yaw]
limits = [-2.9, 2.9]
[[link]]
length = 0.155
limits = [-1.1, 1.5]
[[link]]
length = 0.2
limits = [-2.5, 2.5]
[tool]
length = 0.08
limits = [-2.9, 2.9]
)" + sensor("joint_encoder", "joints = [\"joint_2\"]\n"));
  shake(mobile, random);
  const int joint = mobile.id(mjOBJ_JOINT, "joint_2");
  CHECK(value(mobile, "s_joint_2")[0] == mobile.data->qpos[mobile.model->jnt_qposadr[joint]]);
  CHECK_FALSE(mobile.has(mjOBJ_SENSOR, "s_joint_1"));
}

TEST_CASE("sensors: only a controller reads them, which a notice says", "[mjcf]") {
  const std::string toml = kArm + sensor("tip_tracker", "noise = [1e-3, 0]\n");
  const Simulation s = simulation(toml);
  CHECK_FALSE(s.has(mjOBJ_SENSOR, "s_position_reading"));
  const auto lines = plausibility(parse_model(toml, "arm.toml"));
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Catch::Contains("sensor s: the robot has no controller") &&
                           Catch::Contains("[sensors-not-read]"));
}

TEST_CASE("sensors: what is refused, and how it is said", "[mjcf]") {
  struct Case {
    const char* name;
    std::string toml;
    const char* message;
  };
  const std::string controller = "[controller]\nplugin = \"tendril.reach\"\n";
  const std::string snake = "kind = \"snake\"\nlink_length = 0.06\n";
  const auto c = GENERATE_COPY(values<Case>({
      {"unknown kind", kArm + sensor("tip_tracer"),
       "arm.toml:13: sensor 1: kind = 'tip_tracer': must be one of tip_tracker, "},
      {"no kind", kArm + "[[sensor]]\nname = \"s\"\n", "arm.toml:12: sensor 1: kind: is missing"},
      {"no name", kArm + "[[sensor]]\nkind = \"tip_tracker\"\n",
       "arm.toml:12: sensor 1: name: is missing"},
      {"name of two words", kArm + "[[sensor]]\nkind = \"tip_tracker\"\nname = \"a b\"\n",
       "arm.toml:14: sensor 1: name = 'a b': must be letters, digits and _"},
      {"two of a name", kArm + sensor("tip_tracker") + sensor("base_force"),
       "arm.toml:17: sensor 2: name = 's': another sensor has this name"},
      {"place past the end", kArm + sensor("markers", "places = [0.5, 1.2]\n"),
       "arm.toml:15: sensor 1: places = [ 0.5, 1.2 ]: must be in [0, 1]"},
      {"no places", kArm + sensor("markers"), "arm.toml:12: sensor 1: places: is missing"},
      {"two places of an imu", kArm + sensor("imu", "places = [0.5, 1]\n"),
       "arm.toml:15: sensor 1: places = [ 0.5, 1 ]: must be one place"},
      {"key of another kind", kArm + sensor("tip_tracker", "places = [1]\n"),
       "arm.toml:15: sensor 1: unknown key 'places'"},
      {"encoder of an arm without tendons", kArm + sensor("tendon_encoder"),
       "arm.toml:13: sensor 1: kind = 'tendon_encoder': needs a [[tendon]] or a [[chamber]]"},
      {"drum encoder without tendons", kArm + sensor("drum_encoder") + controller,
       "arm.toml:13: sensor 1: kind = 'drum_encoder': needs a [[tendon]] with command = "
       "\"length\""},
      {"drum of a tendon that is commanded by its tension",
       kArm + kTendons + "command = \"tension\"\n" + sensor("drum_encoder", "tendons = [\"b\"]\n") +
           controller,
       "arm.toml:26: sensor 1: tendons = [ 'b' ]: must be names of a"},
      {"encoder of lengths that are constant", kArm + sensor("length_encoder"),
       "arm.toml:13: sensor 1: kind = 'length_encoder': needs a section with a servo or motor of "
       "its length"},
      {"tendon that is not there", kArm + kTendons + sensor("tendon_force", "tendons = [\"c\"]\n"),
       "arm.toml:25: sensor 1: tendons = [ 'c' ]: must be names of a, b"},
      {"tendon twice", kArm + kTendons + sensor("tendon_force", "tendons = [\"a\", \"a\"]\n"),
       "arm.toml:25: sensor 1: tendons = [ 'a', 'a' ]: a is there twice"},
      {"one noise of two quantities", kArm + sensor("tip_tracker", "noise = 1e-3\n"),
       "arm.toml:15: sensor 1: noise = 0.001: must be two numbers: position in m, orientation in "
       "rad"},
      {"negative noise", kArm + sensor("markers", "places = [1]\nnoise = -1\n"),
       "arm.toml:16: sensor 1: noise = -1: must be in [0, 1e9]"},
      {"rate 0", kArm + sensor("tip_tracker", "rate = 0\n"),
       "arm.toml:15: sensor 1: rate = 0: must be in (0, 1e6]"},
      {"delay of 3 s", kArm + sensor("tip_tracker", "delay = 3\n"),
       "arm.toml:15: sensor 1: delay = 3: must be in [0, 2]"},
      {"dropout of 2", kArm + sensor("tip_tracker", "dropout = 2\n"),
       "arm.toml:15: sensor 1: dropout = 2: must be in [0, 1]"},
      {"backlash of a tracker", kArm + sensor("tip_tracker", "backlash = 1\n"),
       "arm.toml:15: sensor 1: unknown key 'backlash'"},
      {"curvature where the length varies",
       "[[section]]\nvariable_length = 0.1\nbend_limit = 1\n" +
           sensor("curvature", "places = [0.5]\n"),
       "arm.toml:7: sensor 1: places = [ 0.5 ]: 0.5 is in section 1, whose length is variable"},
      {"current without a constant", kArm + kTendons + sensor("motor_current"),
       "arm.toml:22: sensor 1: torque_constant: is missing"},
      {"tendons of a snake", snake + sensor("tendon_encoder"),
       "arm.toml:4: sensor 1: kind = 'tendon_encoder': must be one of tip_tracker, joint_encoder, "
       "imu, motor_current, which such a robot can have"},
  }));
  DYNAMIC_SECTION(c.name) {
    try {
      static_cast<void>(model_mjcf(parse_model(c.toml, "arm.toml")));
      FAIL("is accepted");
    } catch (const ModelError& error) {
      CHECK_THAT(error.what(), Catch::StartsWith(c.message));
    }
  }
}

TEST_CASE("sensors: names of the model's other elements are taken", "[mjcf]") {
  const auto refusal = [](const std::string& toml, const std::vector<std::string>& quantities) {
    try {
      static_cast<void>(model_mjcf(parse_model(toml, "arm.toml"), quantities));
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string controller = "[controller]\nplugin = \"tendril.reach\"\n";
  CHECK_THAT(refusal(kArm + sensor("tip_tracker") + controller, {"status", "s_position"}),
             Catch::StartsWith("arm.toml:14: sensor s: name = s: the model has a sensor "
                               "s_position: must be another name"));
  std::string tendons = kTendons;
  tendons.replace(tendons.find("\"a\""), 3, "\"s_1_x\"");
  CHECK(refusal(kArm + tendons + sensor("markers", "places = [1]\n"), {}) == "accepted");
  CHECK_THAT(refusal(kArm + tendons + sensor("curvature", "places = [1]\n"), {}),
             Catch::StartsWith("arm.toml:24: sensor s: name = s: the model has a tendon s_1_x"));
  tendons.replace(tendons.find("\"s_1_x\""), 7, "\"s\"");
  CHECK_THAT(refusal(kArm + tendons + sensor("markers", "places = [1]\n"), {}),
             Catch::StartsWith("arm.toml:24: sensor s: name = s: the model has a tendon s: must"));
}

TEST_CASE("sensors: rates and delays fit the timestep", "[mjcf]") {
  const auto refusal = [](const std::string& keys, double timestep) {
    const auto robot =
        parse_as<ContinuumDescription>(kArm + sensor("tip_tracker", keys), "arm.toml");
    try {
      require_sampled(robot.sensors, timestep);
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal("rate = 500\n", 0.002) == "accepted");
  CHECK(refusal("rate = 501\n", 0.002) ==
        "arm.toml:14: sensor s: rate = 501: must be at most 500 Hz, one sample in each timestep of "
        "0.002 s");
  CHECK(refusal("delay = 2\n", 0.002) == "accepted");
  CHECK_THAT(refusal("delay = 2\n", 1e-5),
             Catch::StartsWith("arm.toml:14: sensor s: delay = 2: must be at most 1 s, 100000 "
                               "samples"));
}
