// A controller has of the scene what it asks for, and nothing else; what it asked decides whether
// it is reused.

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "plugin/controller_plugin.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// Its settings are called as those of the library's controllers that name things in the scene.
class SilentController final : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::number("plan", "s", "1", {}, "a number"),
        setting::number("post", "m", "2", {}, "a number"),
        setting::number("target", "m", "3", {}, "a number"),
        setting::flag("avoidance", true, "a switch"),
        setting::text("obstacles", "nothing of the scene", "a text")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {{"sees", "", "what it was not asked for"}};

  explicit SilentController(const ArmContext& context) {
    CHECK(context.settings.number("plan") == 1.0);
    CHECK(context.settings.number("post") == 2.0);
    CHECK(context.settings.number("target") == 3.0);
  }
  void update(const ArmMeasurement& m, std::span<const double> /*memory*/,
              std::span<double> /*next*/, ArmCommand& /*command*/,
              ControllerReport& report) override {
    OwnQuantities<kQuantities>{}(report, "sees") =
        m.has_target || m.obstacles != nullptr || !m.contacts.empty();
  }
};

std::atomic<int> constructions = 0;

/// Asks for all that there is; its command is where the things are.
class CuriousController final : public ArmController {
 public:
  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::geom_name("pillar", "", "a geom"), setting::body_name("aim", "target", "a body"),
        setting::body_name("there", "target", "a body"),
        setting::obstacle_names("walls", "which are obstacles")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {{"pillar_x", "m", "of the geom"},
                                             {"there_z", "m", "of the body"},
                                             {"target_z", "m", "measured"},
                                             {"walls", "", "count"}};

  explicit CuriousController(const ArmContext& context) {
    ++constructions;
    context.scene.measure_target("aim");
    there_z_ = context.scene.position("there").z();
    if (context.settings.has("pillar"))
      pillar_x_ = context.scene.geom("pillar").X_BO.translation().x();
    const MeasuredObstacles walls = context.scene.measure_obstacles("walls");
    CHECK(context.scene.solids("walls").size() ==
          static_cast<std::size_t>(walls.obstacles.count()));
    CHECK(walls.moving_count == 0);
  }
  void update(const ArmMeasurement& m, std::span<const double> /*memory*/,
              std::span<double> /*next*/, ArmCommand& /*command*/,
              ControllerReport& report) override {
    constexpr OwnQuantities<kQuantities> own;
    own(report, "pillar_x") = pillar_x_;
    own(report, "there_z") = there_z_;
    own(report, "target_z") = m.has_target ? m.X_BG.translation().z() : -1.0;
    own(report, "walls") = m.obstacles != nullptr ? m.obstacles->count() : -1.0;
  }

 private:
  double pillar_x_ = 0.0, there_z_ = 0.0;
};

Files arm_file(const std::string& plugin, const std::string& settings) {
  [[maybe_unused]] static const bool registered = [] {
    load_tendril();
    register_controller<SilentController>("test.silent");
    ControllerKind curious = controller_kind<CuriousController>("test.curious", "asks");
    curious.reusable = true;
    register_controller_kind(curious);
    return true;
  }();
  return {{"arm.toml", "kind = \"continuum\"\n" + small_sections() + "[controller]\nplugin = \"" +
                           plugin + "\"\n" + settings}};
}

ModelPtr load(const std::string& plugin, const std::string& settings, const std::string& things) {
  const Files files = arm_file(plugin, settings);
  return load_scene_text(one_arm_scene(things), files);
}

/// The arm lies along x: z of its base is x of the world.
std::string things(double pillar_z, const std::string& more = "") {
  return R"(<body name="target" mocap="true" pos="0.1 0 0.04"/>
    <geom name="pillar" type="capsule" size="0.01 0.05" pos="0.1 0.2 )" +
         std::to_string(pillar_z) + "\"/>" + more;
}

double value(const ModelPtr& model, const DataPtr& data, const std::string& name) {
  return sensor(model, data, ("A_" + name).c_str())[0];
}

}  // namespace

TEST_CASE("scene query: settings called as others' names of things look nothing up", "[plugin]") {
  const ModelPtr model = load("test.silent", "", things(-0.2));
  const DataPtr data = make_data(model);
  EngineWarnings::take();
  step(model, data, 3);
  CHECK(EngineWarnings::take().empty());
  CHECK(value(model, data, "status") == 0.0);
  CHECK(value(model, data, "sees") == 0.0);
}

TEST_CASE("scene query: a controller gets what it asks for, whatever its settings are called",
          "[plugin]") {
  const ModelPtr model = load("test.curious", "pillar = \"pillar\"\n", things(-0.2));
  const DataPtr data = make_data(model);
  step(model, data, 1);
  CHECK(value(model, data, "pillar_x") == Approx(0.2));  // x of the base is -z of the world
  CHECK(value(model, data, "there_z") == Approx(0.1));
  CHECK(value(model, data, "walls") == 1.0);
  data->mocap_pos[0] = 0.15;
  step(model, data, 1);
  CHECK(value(model, data, "target_z") == Approx(0.15));
  CHECK(value(model, data, "there_z") == Approx(0.1));  // as it was at the reference
}

TEST_CASE("scene query: names are looked up with the robot's prefix first", "[plugin]") {
  const std::string more = R"(<geom name="A_pillar" type="sphere" size="0.01" pos="0.1 0.2 0.3"/>
    <body name="A_target" mocap="true" pos="0.2 0 0.04"/>
    <body name="tip" mocap="true" pos="0.05 0 0.04"/>)";
  const ModelPtr model =
      load("test.curious", "pillar = \"pillar\"\nwalls = \"pillar\"\nthere = \"tip\"\n",
           things(-0.2, more));
  const DataPtr data = make_data(model);
  step(model, data, 1);
  CHECK(value(model, data, "pillar_x") == Approx(-0.3));
  CHECK(value(model, data, "target_z") == Approx(0.2));
  CHECK(value(model, data, "walls") == 1.0);
  CHECK(value(model, data, "there_z") == Approx(0.05));  // A_tip is a part of the robot
}

TEST_CASE("scene query: what is asked for in vain is refused by the setting's name", "[plugin]") {
  const auto refusal = [](const std::string& settings) {
    const Files files = arm_file("test.curious", settings);
    std::string error;
    CHECK_FALSE(try_load_scene(one_arm_scene(things(-0.2)), files, error));
    EngineWarnings::take();
    return error;
  };
  CHECK_THAT(refusal("pillar = \"nothing\"\n"),
             Catch::Contains("pillar = nothing: must be a geom of the scene"));
  CHECK_THAT(refusal("aim = \"A_base\"\n"), Catch::Contains("aim = A_base: must be a mocap body"));
  CHECK_THAT(refusal("there = \"nobody\"\n"),
             Catch::Contains("there = nobody: must be the name of a mocap body"));
  CHECK_THAT(refusal("walls = \"nothing\"\n"),
             Catch::Contains("walls = nothing: must be a geom or a body of the scene"));
}

TEST_CASE("scene query: a controller is reused where all that it asked for is the same",
          "[plugin]") {
  const auto made_for = [](const std::string& settings, const std::string& scene) {
    const int before = constructions;
    const ModelPtr model = load("test.curious", settings, scene);
    { const DataPtr data = make_data(model); }
    return constructions - before;
  };
  const std::string by_name = "pillar = \"pillar\"\n";
  CHECK(made_for(by_name, things(-0.3)) == 1);  // at the size of the state, then taken by the data
  CHECK(made_for(by_name, things(-0.3)) == 0);
  CHECK(made_for(by_name, things(-0.31)) == 1);  // the geom is elsewhere
  CHECK(made_for(by_name, things(-0.3)) == 0);   // the first one again
  const std::string sight = R"(<geom name="sight" type="box" size="0.1 0.1 0.1" pos="0 0 2"
                                contype="0" conaffinity="0"/>)";
  CHECK(made_for(by_name, things(-0.3, sight)) == 0);  // nothing that it asked for
  const std::string wall = R"(<geom name="wall" type="box" size="0.1 0.1 0.1" pos="0 0 2"/>)";
  CHECK(made_for(by_name, things(-0.3, wall)) == 1);  // an obstacle
  CHECK(made_for(by_name + "walls = \"pillar\"\n", things(-0.3, wall)) == 1);
  CHECK(made_for(by_name + "walls = \"pillar\"\n", things(-0.3)) == 0);  // the wall does not count
  // Two at once are two.
  const ModelPtr model = load("test.curious", by_name, things(-0.3));
  const int before = constructions;
  const DataPtr one = make_data(model), two = make_data(model);
  CHECK(constructions - before == 1);
}
