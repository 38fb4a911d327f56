// Robots are found by what they are: any prefix, a suffix, and sensors of the scene next to theirs.

#include "plugin/robot_names.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "simulation/engine/engine.hpp"
#include "simulation/experiment/metrics.hpp"
#include "simulation/experiment/robot_watch.hpp"
#include "tests/support/mujoco_support.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

const std::string kArm = R"(kind = "continuum"
[[section]]
constant_length = 0.06
bend_limit = 1.745
links = 4
radius = 0.008
mass = 0.03
bending_stiffness = 0.05
[controller]
plugin = "tendril.reach"
)";

std::string scene_with(const std::string& prefix) {
  return R"(<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <attach model="arm" body="base" prefix=")" +
         prefix + R"("/>
    <body name="target" mocap="true" pos="0.1 0 0.04"/>
    <body name="part" pos="1 0 0"><geom size="0.01"/><joint type="slide" axis="1 0 0"/>
      <site name="part"/></body>
  </worldbody>
  <sensor>
    <framepos name="near_tip_error" objtype="site" objname="part"/>
    <framelinvel name="other_status" objtype="site" objname="part"/>
  </sensor>
</mujoco>)";
}

}  // namespace

TEST_CASE("robots are found whatever their prefix is", "[scene]") {
  const std::string prefix =
      GENERATE("", "A_", "arm/", "A-", "left", "controller", "my robot ", "base", "X_controller_");
  CAPTURE(prefix);
  simulation::load_engine();
  const ModelPtr model = load_scene_text(scene_with(prefix), {{"arm.toml", kArm}});
  const RobotNames names = robot_names(model.get(), 0);
  CHECK(names == RobotNames{prefix, ""});
  CHECK(names.element(prefix + "tip") == std::optional<std::string_view>("tip"));

  simulation::RobotWatch watch(*model);
  REQUIRE(watch.statuses().size() == 1);
  CHECK(watch.statuses()[0].robot == names.title());

  simulation::Metrics metrics(*model);
  const int error = metrics.add(simulation::parse_metric("tip_error_end"));
  const DataPtr data = make_data(model);
  step(model, data, 1);
  metrics.sample(*model, *data, 0.0);
  const int tip = mj_name2id(model.get(), mjOBJ_SITE, (prefix + "tip").c_str());
  REQUIRE(tip >= 0);
  const double distance = mju_dist3(data->site_xpos + 3 * tip, data->mocap_pos);
  CHECK(metrics.value(error) == Approx(distance).margin(1e-4));  // not 1 m, the scene's own
}

TEST_CASE("names of robots are split at what comes before and after", "[scene]") {
  const std::string prefix = GENERATE("", "arm/"), suffix = GENERATE("-1", "_right", "base");
  CAPTURE(prefix, suffix);
  CHECK(RobotNames{prefix, suffix}("base") == prefix + "base" + suffix);
  const auto any = [](const RobotNames&) { return true; };
  CHECK(split_name(prefix + "controller" + suffix, "controller", any) ==
        RobotNames{prefix, suffix});
  CHECK_FALSE(split_name("other", "controller", any));
  CHECK(RobotNames{"A_", "-1"}.element("A_tip-1") == std::optional<std::string_view>("tip"));
  CHECK_FALSE(RobotNames{"A_", "-1"}.element("A_tip-2"));
  CHECK(RobotNames{"arm/", ""}.title() == "arm");
  CHECK(RobotNames{"", "-1"}.title() == "1");
  CHECK(RobotNames{"", ""}.title() == "robot");
}
