#include "simulation/scene/model_tables.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "simulation/scene/robot_bodies.hpp"
#include "simulation/scene/scene.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using test::TemporaryFolder;
using Json = nlohmann::json;

namespace {

constexpr const char* kScene = R"(<mujoco>
  <custom><tuple name="A_robot"><element objtype="body" objname="base"/></tuple></custom>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 1"><freejoint name="fall"/><geom size=".1"/></body>
    <body name="base"><joint name="swing"/><geom name="link" size=".1" pos="1 0 0"/>
      <body><joint name="slide" type="slide"/><geom size=".1" pos="2 0 0"/></body></body>
  </worldbody>
  <actuator><motor name="push" joint="slide"/></actuator>
  <sensor>
    <framepos name="where" objtype="body" objname="ball"/>
    <jointpos name="A_tip_error" joint="slide"/>
    <jointpos name="nottip_error" joint="slide"/>
  </sensor>
</mujoco>)";

Json table(const RolloutAttributes& tables, const char* name) {
  return Json::parse(std::get<std::string>(tables.at(name)));
}

}  // namespace

TEST_CASE("model tables: names and places of every element, and what belongs to a robot", "[run]") {
  const TemporaryFolder folder;
  const Scene scene = load_scene(folder.write("scene.xml", kScene));
  const RolloutAttributes tables = model_tables(*scene.model);

  CHECK(table(tables, "sensors") == Json::parse(R"([
    {"name": "where", "address": 0, "dimension": 3, "quantity": "", "unit": "m"},
    {"name": "A_tip_error", "address": 3, "dimension": 1, "quantity": "tip_error", "unit": "m"},
    {"name": "nottip_error", "address": 4, "dimension": 1, "quantity": "", "unit": "m"}])"));
  CHECK(table(tables, "joints") == Json::parse(R"([
    {"name": "fall", "type": "free", "qpos_address": 0, "dof_address": 0},
    {"name": "swing", "type": "hinge", "qpos_address": 7, "dof_address": 6},
    {"name": "slide", "type": "slide", "qpos_address": 8, "dof_address": 7}])"));
  CHECK(table(tables, "actuators") ==
        Json::parse(R"([{"name": "push", "address": 0, "dimension": 1}])"));
  CHECK(table(tables, "bodies") == Json::parse(R"([
    {"name": "world", "parent": 0}, {"name": "ball", "parent": 0}, {"name": "base", "parent": 0},
    {"name": "", "parent": 2}])"));
  CHECK(table(tables, "geoms") == Json::parse(R"([
    {"name": "floor", "body": 0, "robot": false}, {"name": "", "body": 1, "robot": false},
    {"name": "link", "body": 2, "robot": true}, {"name": "", "body": 3, "robot": true}])"));
  const RobotBodies robots(*scene.model);
  CHECK(robots.base_of_geom(3) == 2);
  CHECK(robots.base_of_geom(4) == 0);  // a damaged recording can name a geom that does not exist
  CHECK(table(tables, "robots") == Json::parse(R"([{"prefix": "A_", "suffix": "", "body": 2}])"));
}

TEST_CASE("model tables: a controller's sensors have its quantities and units", "[run]") {
  struct Case {
    const char *scene, *sensor, *quantity, *unit;
    int dimension;
  };
  const auto c = GENERATE(values<Case>(
      {{"scenes/sensors/sensors.xml", "arm_tracker_position_reading", "", "m", 3},
       {"scenes/sensors/sensors.xml", "arm_gratings_2_y", "", "1/m", 1},
       {"scenes/sensors/sensors.xml", "arm_gratings_2_y_reading", "", "1/m", 1},
       {"scenes/sensors/sensors.xml", "arm_t1_length", "", "m", 1},
       {"scenes/reach/reach.xml", "arm_tip_error", "tip_error", "m", 1},
       {"scenes/reach/reach.xml", "arm_command", "command", "rad, m", 6},
       {"scenes/youbot_clutter/youbot_clutter.xml", "Y_command", "command", "m, rad", 8},
       {"scenes/snake_path/snake_path.xml", "S_joint_margin", "joint_margin", "rad", 1}}));
  CAPTURE(c.scene, c.sensor);
  const Scene scene = load_scene(c.scene);
  for (const Json& sensor : table(model_tables(*scene.model), "sensors")) {
    if (sensor["name"] != c.sensor) continue;
    CHECK(sensor["quantity"] == c.quantity);
    CHECK(sensor["unit"] == c.unit);
    CHECK(sensor["dimension"] == c.dimension);
    return;
  }
  FAIL("the scene has no such sensor");
}
