// Two fingers at the tip.

#include <cmath>
#include <numbers>

#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kGravity = 9.81, kLength = 0.1;

/// A short stiff arm that points up.
ContinuumDescription arm(const std::string& gripper, const std::string& top = "",
                         const std::string& end = "") {
  return std::get<ContinuumDescription>(
      parse_robot("kind = \"continuum\"\n" + top +
                      "[[section]]\nconstant_length = 0.1\nbend_limit = 2\nlinks = 5\nmass = 0.05\n"
                      "bending_stiffness = 0.5\n[gripper]\nopening = 0.04\n" +
                      gripper + end,
                  "arm.toml", {}));
}

std::string setting(const std::string& key, double value) {
  return key + std::to_string(value) + "\n";
}

double opening(const Simulation& simulation) {
  const int sensor = simulation.id(mjOBJ_SENSOR, names::kGripperOpening);
  return simulation.data->sensordata[simulation.model->sensor_adr[sensor]];
}

double finger_at(const Simulation& simulation, int i) {
  return simulation.data
      ->qpos[simulation.model->jnt_qposadr[simulation.id(mjOBJ_JOINT, names::finger(i))]];
}

/// A block between the fingers of the open gripper, which then close without gravity.
struct Grasp {
  SpecPtr spec;
  std::unique_ptr<Simulation> simulation;
  int block;

  Grasp(const ContinuumDescription& robot, double mass, double off_center = 0.0)
      : spec(parse_spec(continuum_mjcf(robot))) {
    mjsBody* const body = mjs_addBody(mjs_findBody(spec.get(), "world"), nullptr);
    mjs_setName(body->element, "block");
    mjs_addFreeJoint(body);
    mjsGeom* const geom = mjs_addGeom(body, nullptr);
    geom->type = mjGEOM_BOX;
    for (double& half : geom->size) half = 0.01;
    geom->mass = mass;
    geom->friction[0] = 0.1;  // that of the fingers counts
    geom->contype = 2;
    geom->conaffinity = 1;
    body->pos[0] = off_center;
    body->pos[2] =
        kLength + Gripper::palm_height(0.008) + 0.5 * robot.part<Gripper>()->finger_length;
    simulation = std::make_unique<Simulation>(spec.get());
    block = simulation->id(mjOBJ_BODY, "block");
    for (const int i : {1, 2}) {
      const int joint = simulation->id(mjOBJ_JOINT, names::finger(i));
      simulation->data->qpos[simulation->model->jnt_qposadr[joint]] = 0.02;
    }
    simulation->set_gravity(Eigen::Vector3d::Zero());
    simulation->run(1.0);
  }
  [[nodiscard]] Eigen::Vector3d in_gripper() const {
    return simulation->site_pose(names::kGrasp).inverse() *
           Eigen::Vector3d::Map(simulation->data->xpos + 3 * block);
  }
};

}  // namespace

TEST_CASE("gripper: opens and closes as told, both fingers alike, at its speed", "[mjcf]") {
  Simulation simulation(continuum_mjcf(arm("speed = 0.08\nforce = 5\n")));
  simulation.set_gravity({kGravity, 0.0, 0.0});  // a finger above, one below
  CHECK(opening(simulation) == 0.0);
  simulation.set_ctrl(names::kGripper, 0.03);
  simulation.run(0.2);
  CHECK(opening(simulation) == Approx(0.08 * 0.2).epsilon(0.05));
  simulation.run(1.0);
  CHECK(opening(simulation) == Approx(0.03).epsilon(0.01));
  CHECK(finger_at(simulation, 1) == Approx(finger_at(simulation, 2)).margin(2e-4));
  simulation.set_ctrl(names::kGripper, 0.0);
  simulation.run(1.0);
  CHECK(std::abs(opening(simulation)) < 2e-4);
}

TEST_CASE("gripper: its parts weigh what it does, and are where they should be", "[mjcf]") {
  const ContinuumDescription robot = arm("mass = 0.08\nfinger_length = 0.05\nangle = 1.5707963\n");
  const Simulation simulation(continuum_mjcf(robot));
  CHECK(simulation.total_mass() == Approx(0.05 + 0.08));
  const int body = simulation.id(mjOBJ_BODY, names::kGripper);
  CHECK(simulation.model->body_subtreemass[body] == Approx(0.08));
  CHECK(simulation.data->subtree_com[3 * body + 2] ==
        Approx(kLength + robot.part<Gripper>()->load(0.008).height));
  CHECK(simulation.site_pose(names::kTip).translation().z() == Approx(kLength));
  CHECK(simulation.site_pose(names::kGrasp).translation().z() == Approx(kLength + 0.01 + 0.025));
  // Turned about the tip's axis by a right angle it opens along y.
  const int joint = simulation.id(mjOBJ_JOINT, names::finger(1));
  CHECK(simulation.data->xaxis[3 * joint + 1] == Approx(1.0));
}

TEST_CASE("gripper: a block is held at 1 g exactly when 2 mu F > m g", "[mjcf]") {
  struct Case {
    double force, friction, load;  // m g over 2 mu F
  };
  const auto c = GENERATE(values<Case>({{5.0, 0.8, 0.95},
                                        {5.0, 0.8, 1.05},
                                        {10.0, 0.4, 0.95},
                                        {10.0, 0.4, 1.05},
                                        {2.0, 1.2, 0.95},
                                        {2.0, 1.2, 1.05}}));
  const bool across = GENERATE(false, true);  // the weight, to the arm's axis
  CAPTURE(c.force, c.friction, c.load, across);
  const ContinuumDescription robot =
      arm(setting("force = ", c.force) + setting("friction = ", c.friction));
  Grasp grasp(robot, c.load * 2.0 * c.friction * c.force / kGravity);
  Simulation& simulation = *grasp.simulation;
  CHECK(opening(simulation) == Approx(0.02).margin(3e-4));
  const Eigen::Vector3d before = grasp.in_gripper();
  for (int k = 1; k <= 100; ++k) {  // slowly: a swing of the arm would add to the weight
    const Eigen::Vector3d down = across ? Eigen::Vector3d::UnitY() : Eigen::Vector3d::UnitZ();
    simulation.set_gravity(kGravity * k / 100.0 * down);
    simulation.run(0.01);
  }
  simulation.run(1.0);
  const double slipped = (grasp.in_gripper() - before).norm();
  CAPTURE(slipped);
  if (c.load < 1.0)
    CHECK(slipped < 2e-4);
  else
    CHECK(slipped > 0.1);
}

TEST_CASE("gripper: closes on a block off its middle and draws it there", "[mjcf]") {
  const Grasp grasp(arm("force = 5\n"), 0.05, 0.006);
  CHECK(std::abs(grasp.in_gripper().x()) < 5e-4);
  const mjData& data = *grasp.simulation->data;
  const int sensor = grasp.simulation->id(mjOBJ_SENSOR, names::kGripperForce);
  CHECK(data.sensordata[grasp.simulation->model->sensor_adr[sensor]] == Approx(-5.0).epsilon(1e-3));
}

TEST_CASE("gripper: goes with every kind of arm", "[mjcf]") {
  const auto [top, end] = GENERATE(values<std::pair<std::string, std::string>>(
      {{"self_collision = true\n", ""},
       {"planar = true\n", ""},
       {"compliance = \"link\"\n[base]\nfeed = 0.1\nspin = true\n",
        "[start]\nfeed = 0.05\nbends = [0.5]\n"}}));
  CAPTURE(top, end);
  Simulation simulation(continuum_mjcf(arm("", top, end)));
  if (!end.empty()) mj_resetDataKeyframe(simulation.model.get(), simulation.data.get(), 0);
  simulation.set_gravity(Eigen::Vector3d::Zero());
  simulation.run(0.5);
  CHECK(simulation.data->ncon == 0);
  CHECK(simulation.speed() < 0.01);
  CHECK(std::abs(opening(simulation)) < 1e-6);
}
