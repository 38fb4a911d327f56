// Arms on joints that carry their base, and the controller that moves both.

#include <Eigen/Geometry>
#include <catch2/catch.hpp>
#include <string>

#include "plugin/carrier.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/random.hpp"

using namespace tendril::test;
using Eigen::Isometry3d;
using Eigen::Vector3d;

namespace {

/// Three bodies; the second has two joints, with anchors and references of their own.
const std::string kCarrier = R"(
  <body name="one" pos="0.1 0.05 0.2" euler="20 10 -30">
    <joint name="j1" axis="0.2 0.3 1" pos="0.01 0.02 -0.03" damping="5"/>
    <geom size="0.03" mass="1" contype="0" conaffinity="0"/>
    <body name="two" pos="0.05 -0.1 0.15" euler="-15 25 40">
      <joint name="j2" type="slide" axis="1 0.1 0" damping="50"/>
      <joint name="j3" axis="0 1 0.2" pos="-0.02 0 0.05" ref="20" damping="5"/>
      <geom size="0.03" mass="1" contype="0" conaffinity="0"/>
      <body name="three" pos="0 0.02 0.1">
        <joint name="j4" axis="0 0 1" range="-100 120" damping="5"/>
        <geom size="0.03" mass="0.5" contype="0" conaffinity="0"/>
        <frame pos="0.01 0.02 0.03" euler="0 90 10"><attach model="arm" body="base" prefix="A_"/></frame>
      </body>
    </body>
  </body>)";
const std::string kServos = R"(<actuator>
  <position joint="j1" kp="2000" kv="100"/><position joint="j2" kp="20000" kv="1000"/>
  <position joint="j3" kp="2000" kv="100"/>
  <position name="m4" joint="j4" kp="2000" kv="100" ctrlrange="-1 2"/></actuator>)";

std::string whole_body_arm(const std::string& settings) {
  return "kind = \"continuum\"\nname = \"arm\"\n" + small_sections() +
         "[controller]\nplugin = \"tendril.whole_body\"\n" + settings;
}

std::string scene(const std::string& bodies, const std::string& servos) {
  return R"(<mujoco><compiler autolimits="true"/><option timestep="0.002"
      integrator="implicitfast"/><asset><model name="arm" file="arm.toml"/></asset><worldbody>)" +
         bodies + R"(<body name="target" mocap="true" pos="0.25 0.1 0.5"/></worldbody>)" + servos +
         "</mujoco>";
}

const std::string kTarget = "target = \"target\"\n";

}  // namespace

TEST_CASE("carrier: the chain has the base where the engine has it", "[plugin]") {
  load_tendril();
  const ModelPtr model =
      load_scene_text(scene(kCarrier, kServos), {{"arm.toml", whole_body_arm(kTarget)}});
  const DataPtr data = make_data(model);
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "A_base");
  const tendril::Carrier carrier(model.get(), base);
  REQUIRE(carrier.joints.size() == 4);
  Random random(21);
  for (int trial = 0; trial < 20; ++trial) {
    Eigen::VectorXd q(4);
    for (std::size_t j = 0; j < 4; ++j) {
      q[static_cast<Eigen::Index>(j)] = random.uniform(-1.0, 1.0);
      data->qpos[model->jnt_qposadr[carrier.joints[j]]] = q[static_cast<Eigen::Index>(j)];
    }
    mj_kinematics(model.get(), data.get());
    const Isometry3d X = carrier.chain.pose(q);
    CHECK((X.translation() - Vector3d::Map(data->xpos + 3 * base)).norm() < 1e-12);
    CHECK((X.linear() -
           Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(data->xmat + 9 * base))
              .norm() < 1e-12);
  }
  CHECK(carrier.chain.joint(3).min == Approx(-1.0));  // the narrower of joint and servo
  CHECK(carrier.chain.joint(3).max == Approx(2.0));
  CHECK(carrier.chain.joint(1).is_slide);
}

TEST_CASE("whole body: the tip rests on its target, with the weight of both arms", "[plugin]") {
  load_tendril();
  const ModelPtr model = load_scene_text(
      scene(kCarrier, kServos), {{"arm.toml", whole_body_arm(kTarget + "start_delay = 0\n")}});
  const DataPtr data = make_data(model);
  const Vector3d start =
      Vector3d::Map(data->xpos + 3 * mj_name2id(model.get(), mjOBJ_BODY, "A_base"));
  step(model, data, 6000);
  mj_forward(model.get(), data.get());
  const int tip = mj_name2id(model.get(), mjOBJ_SITE, "A_tip");
  const Vector3d error = Vector3d::Map(data->site_xpos + 3 * tip) - Vector3d::Map(data->mocap_pos);
  CHECK(error.norm() < 1e-5);
  CHECK(sensor(model, data, "A_tip_error")[0] == Approx(error.norm()).margin(1e-6));
  // The joints took their part of the way.
  const Vector3d end =
      Vector3d::Map(data->xpos + 3 * mj_name2id(model.get(), mjOBJ_BODY, "A_base"));
  CHECK((end - start).norm() > 0.02);
}

TEST_CASE("whole body: what it cannot move is refused", "[plugin]") {
  const std::string arm = whole_body_arm(kTarget);
  const std::string standing =
      R"(<frame pos="0 0 0.5"><attach model="arm" body="base" prefix="A_"/></frame>)";
  check_refused(scene(standing, ""), arm, {"body A_base: no joint carries it"});
  check_refused(scene(kCarrier, ""), arm, {"joint j1: ", "has no position servo"});
  const std::string motor = std::string(kServos).replace(
      kServos.find(
          "<position name=\"m4\" joint=\"j4\" kp=\"2000\" kv=\"100\" ctrlrange=\"-1 2\"/>"),
      std::string("<position name=\"m4\" joint=\"j4\" kp=\"2000\" kv=\"100\" ctrlrange=\"-1 2\"/>")
          .size(),
      "<motor joint=\"j4\"/>");
  check_refused(scene(kCarrier, motor), arm, {"joint j4: ", "has no position servo"});
  const std::string two = std::string(kCarrier).replace(
      kCarrier.find("<frame pos=\"0.01"), 0,
      "<frame pos=\"0 0.1 0\"><attach model=\"arm\" body=\"base\" prefix=\"B_\"/></frame>");
  check_refused(scene(two, kServos), arm,
                {"joint j1: is driven by instance '", "_controller' too"});
  check_refused(scene(kCarrier, kServos), whole_body_arm(""), {"target: missing"});
  check_refused(scene(kCarrier, kServos),
                whole_body_arm(kTarget + "waypoints = [[0, 0, 0], [0, 0, 0.3]]\n"),
                {"waypoints and target: must be one of them"});
  check_refused(scene(kCarrier, kServos), whole_body_arm("waypoints = [[0, 0, 0], [0, 0, 0.1]]\n"),
                {"waypoints: path length = 100 mm: must exceed the arm's length of 120 mm"});
  std::string fed = arm;
  fed.insert(fed.find("[[section]]"), "[base]\nfeed = 0.1\n");
  check_refused(scene(kCarrier, kServos), fed, {"base.feed and base.spin: must be 0 and false"});
}
