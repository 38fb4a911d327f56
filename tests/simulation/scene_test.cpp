#include "simulation/scene/scene.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/input_files.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

constexpr const char* kArm = R"(kind = "continuum"
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 4
)";

constexpr const char* kScene = R"(<mujoco model="s"><compiler conflict="merge"/>
  <asset><model name="arm" file="parts/arm.toml"/></asset>
  <worldbody><!-- <model name="no" file="missing.toml"/> -->
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="post" pos="0.5 0 0"><geom name="post" size="0.1"/></body>
    <body name="sphere" pos="0 1 1"><freejoint/><geom name="sphere" size="0.1"/></body>
    <attach model="arm" body="base" prefix="A_"/>
  </worldbody></mujoco>)";

struct Files {
  TemporaryFolder folder;
  std::filesystem::path scene = folder.write("scene.xml", kScene);
  std::filesystem::path arm = folder.write("parts/arm.toml", kArm);
};

int links(const mjModel& model) {
  int count = 0;
  while (mj_name2id(&model, mjOBJ_BODY, ("A_s1_l" + std::to_string(count + 1)).c_str()) >= 0)
    ++count;
  return count;
}

Setting set(const char* key, const char* value) {
  return {.key = key, .value = Value::parse(value), .origin = "--set"};
}

}  // namespace

TEST_CASE("scene: robot settings reach the robot files of a scene, each load for itself",
          "[scene]") {
  const Files files;
  CHECK(links(*load_scene(files.scene).model) == 4);
  const Setting six = set("robot.section.*.links", "6");
  const Scene scene = load_scene(files.scene, std::span(&six, 1));
  CHECK(links(*scene.model) == 6);
  CHECK(links(*load_scene(files.scene).model) == 4);
  CHECK(scene.source_files.at("scene.xml") == kScene);
  CHECK_THAT(scene.source_files.at("parts/arm.toml"), Catch::Contains("links = 6"));
  CHECK(scene.notices.empty());
}

TEST_CASE("scene: names of files are read as XML reads them", "[scene]") {
  const Files files;
  files.folder.write("parts/a&b <1>.toml", kArm);
  files.folder.write("floor's.xml",
                     "<mujoco><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>");
  const auto scene = files.folder.write("odd.xml", R"(<?xml version="1.0"?>
    <!DOCTYPE mujoco [<!ELEMENT model ANY>]>
    <mujoco><compiler conflict="merge"/><!-- <model name="no" file="missing.toml"/> > -->
    <![CDATA[ <model name="no" file="missing.toml"/> ]]>
    <include file = 'floor&apos;s.xml'/>
    <asset><model name="arm"
                  file="parts/a&amp;b &lt;&#49;>.toml"/></asset>
    <worldbody><attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>)");
  const Setting six = set("robot.section.*.links", "6");
  const Scene loaded = load_scene(scene, std::span(&six, 1));
  CHECK(links(*loaded.model) == 6);
  CHECK(loaded.model->ngeom > 0);
  CHECK(loaded.source_files.contains("parts/a&b <1>.toml"));
  CHECK(loaded.source_files.contains("floor's.xml"));
  CHECK(loaded.source_files.size() == 3);
}

TEST_CASE("scene: the engine says what is wrong with a scene that is no XML", "[scene]") {
  const Files files;
  for (const char* const text :
       {"", "mujoco", "<mujoco", "<mujoco><worldbody></mujoco>", "<mujoco><asset><model file=\"a",
        "<mujoco><!-- <worldbody/></mujoco>", "<mujoco>&nothing;</mujoco><"}) {
    CAPTURE(text);
    const auto scene = files.folder.write("bad.xml", text);
    CHECK_THROWS_WITH(load_scene(scene), Catch::Contains("bad.xml"));
  }
}

TEST_CASE("scene: robot files of one name in two folders stay apart under settings", "[scene]") {
  const Files files;
  files.folder.write(
      "other/arm.toml",
      std::string(kArm) + "[[section]]\nconstant_length = 0.2\nbend_limit = 1\nlinks = 3\n");
  const auto scene = files.folder.write("two.xml", R"(<mujoco><compiler conflict="merge"/>
    <asset><model name="a" file="parts/arm.toml"/><model name="b" file="other/arm.toml"/></asset>
    <worldbody><attach model="a" body="base" prefix="A_"/><attach model="b" body="base" prefix="B_"/></worldbody></mujoco>)");
  const Setting six = set("robot.section.*.links", "6");
  const Scene loaded = load_scene(scene, std::span(&six, 1));
  CHECK(links(*loaded.model) == 6);
  CHECK(mj_name2id(loaded.model.get(), mjOBJ_BODY, "A_s2_l1") < 0);
  CHECK(mj_name2id(loaded.model.get(), mjOBJ_BODY, "B_s2_l6") >= 0);
}

TEST_CASE("scene: the flattened model is the model", "[scene]") {
  const Files files;
  const std::vector<Setting> settings{set("body.post.offset", "[0.1, 0, 0]"),
                                      set("geom.*.friction", "0.2"),
                                      set("option.timestep", "0.001")};
  const Scene scene = load_scene(files.scene, settings);
  std::vector<std::string> notices;
  const std::string model_xml = flattened(scene, *scene.model, notices);
  REQUIRE_FALSE(model_xml.empty());
  CHECK(notices.empty());
  char error[1000] = "";
  mjSpec* spec = mj_parseXMLString(model_xml.c_str(), nullptr, error, sizeof error);
  INFO(error);
  REQUIRE(spec != nullptr);
  const ModelPtr again(mj_compile(spec, nullptr));
  mj_deleteSpec(spec);
  REQUIRE(again);
  CHECK(again->nq == scene.model->nq);
  CHECK(again->nu == scene.model->nu);
  CHECK(again->opt.timestep == 0.001);
  const int post = mj_name2id(again.get(), mjOBJ_BODY, "post");
  CHECK(again->body_pos[3 * post] == Approx(0.6));
  CHECK(again->geom_friction[0] == Approx(0.2));
}

TEST_CASE("scene: settings change the compiled model", "[scene]") {
  const Files files;
  const std::vector<Setting> settings{
      set("option.gravity", "[0, 0, -1]"),     set("option.integrator", "implicitfast"),
      set("option.cone", "\"elliptic\""),      set("option.iterations", "7"),
      set("body.post.offset", "[0, 0.25, 0]"), set("body.sphere.mass", "3"),
      set("geom.post.friction", "[0.5, 0.01]")};
  const Scene scene = load_scene(files.scene, settings);
  const mjModel& m = *scene.model;
  CHECK(m.opt.gravity[2] == -1.0);
  CHECK(m.opt.integrator == mjINT_IMPLICITFAST);
  CHECK(m.opt.cone == mjCONE_ELLIPTIC);
  CHECK(m.opt.iterations == 7);
  const int sphere = mj_name2id(&m, mjOBJ_BODY, "sphere");
  CHECK(m.body_mass[sphere] == 3.0);
  CHECK(m.body_inertia[3 * sphere] == Approx(0.4 * 3.0 * 0.01));  // solid sphere: 2/5 m r^2
  CHECK(m.body_subtreemass[sphere] == Approx(3.0));               // mj_setConst ran
  const DataPtr data = make_data(m);
  mj_forward(&m, data.get());
  CHECK(data->xpos[3 * mj_name2id(&m, mjOBJ_BODY, "post") + 1] == Approx(0.25));
  CHECK(m.geom_friction[3 * mj_name2id(&m, mjOBJ_GEOM, "post")] == 0.5);
}

TEST_CASE("scene: settings that fit nothing are refused", "[scene]") {
  const Files files;
  struct Case {
    const char *key, *value, *message;
  };
  const auto c = GENERATE(values<Case>({
      {"option.timestep", "0", "must be in [1e-9, 1]"},
      {"option.timestep", "-0.1", "must be in [1e-9, 1]"},
      {"option.integrator", "euler", "must be Euler,"},
      {"option.cone", "round", "must be pyramidal or elliptic"},
      {"option.iterations", "1.5", "must be an integer"},
      {"option.color", "1", "the option must be"},
      {"body.post.offset", "[0, 0]", "must be three finite numbers"},
      {"body.pst.offset", "[0, 0, 0]", "no such body"},
      {"body.sphere.offset", "[0, 0, 0]", "must be static or mocap"},
      {"body.post.color", "1", "must be one of: offset, mass"},
      {"body.post", "1", "must be body.<name>.<field>"},
      {"geom.post.friction", "-1", ">= 0"},
      {"geom.pst.friction", "1", "no such geom"},
      {"robot.sections", "1", "sections"},
      {"controller.plugin", "tendril.nope", "must be a loaded plugin: tendril."},
      {"controller.plugin", "tendril.carry", "tendril.carry: is called tendril.base_placement now"},
      {"speed", "1", "unknown key"},
  }));
  DYNAMIC_SECTION(c.key << " = " << c.value) {
    const Setting setting = set(c.key, c.value);
    CHECK_THROWS_WITH(load_scene(files.scene, std::span(&setting, 1)), Catch::Contains(c.message));
  }
}

TEST_CASE("scene: a robot has settings of its own by its prefix", "[scene]") {
  const TemporaryFolder folder;
  folder.write("parts/a&m.toml", std::string(kArm) + R"([controller]
plugin = "tendril.reach"
)");
  folder.write("robots.xml", R"(<mujoco><worldbody>
    <attach prefix="arm/" body="base" model = 'a'/><attach model="a" body="base" prefix="B_"/>
    <frame pos="0.5 0 0"><attach model="a" body="base" prefix="C"/></frame>
    <body name="target" mocap="true"/><body name="B_target" mocap="true"/>
    <body name="Ctarget" pos="0 0 1"/></worldbody></mujoco>)");
  const auto file = folder.write("scene.xml", R"(<mujoco><compiler conflict="merge"/>
    <asset><model name="a" file="parts/a&amp;m.toml"/></asset><include file="robots.xml"/></mujoco>)");
  const auto load = [&](const std::vector<Setting>& settings) {
    return load_scene(file, settings);
  };
  const auto last_link = [](const Scene& scene, const std::string& prefix) {
    int count = 0;
    const auto name = [&] { return prefix + "s1_l" + std::to_string(count + 1); };
    while (mj_name2id(scene.model.get(), mjOBJ_BODY, name().c_str()) >= 0) ++count;
    return count;
  };
  // Targets are looked up with the prefix first; that of C is no mocap body.
  CHECK_THROWS_WITH(load({}), Catch::Contains("target = Ctarget: must be a mocap body"));
  const Setting other = set("controller.C.target", "B_target");
  const Scene alike = load({other});
  REQUIRE(alike.robots.size() == 3);
  CHECK(alike.robots[0].target == "target");
  CHECK(alike.robots[1].target == "B_target");
  CHECK(alike.robots[2].target == "B_target");

  const Scene scene =
      load({other, set("robot.arm/.section.1.links", "6"), set("robot.section.*.links", "3"),
            set("robot.B_.section.1.links", "5"), set("controller.arm/.rate_limit", "2")});
  CHECK(last_link(scene, "arm/") == 3);  // later settings win
  CHECK(last_link(scene, "B_") == 5);
  CHECK(last_link(scene, "C") == 3);
  CHECK(scene.robots[0].config(*scene.model, "rate_limit") == "2");
  CHECK(scene.robots[1].config(*scene.model, "rate_limit").empty());
  CHECK_THAT(scene.source_files.at("parts/a&m@B_.toml"), Catch::Contains("links = 5"));
  CHECK_THAT(scene.source_files.at("parts/a&m.toml"), Catch::Contains("links = 3"));

  for (const char* const key : {"controller.D_.rate_limit", "robot.D_.section.1.links"}) {
    CAPTURE(key);
    CHECK_THROWS_WITH(load({other, set(key, "5")}),
                      "--set: " + std::string(key) +
                          ": 5: 'D_' is no prefix of a robot: the scene has B_, C, arm/");
  }
}

TEST_CASE("scene: two robots of one prefix are refused in one line", "[scene]") {
  const Files files;
  const auto scene = files.folder.write("two.xml", R"(<mujoco><compiler conflict="merge"/>
    <asset><model name="arm" file="parts/arm.toml"/></asset>
    <worldbody><attach model="arm" body="base" prefix="A_"/><attach model="arm" body="base" prefix="A_"/>
    </worldbody></mujoco>)");
  CHECK_THROWS_WITH(load_scene(scene),
                    Catch::Contains("element base already exists with prefix A_"));
}

TEST_CASE("scene: a geom that the straight arm nowhere leaves is no obstacle, which a notice says",
          "[scene]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", std::string(kArm) + R"([controller]
plugin = "tendril.reach"
avoidance = true
)");
  const auto file = folder.write("scene.xml", R"(<mujoco><compiler conflict="merge"/>
    <asset><model name="arm" file="arm.toml"/></asset><worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <geom name="housing" type="box" size="0.1 0.1 0.2"/>
    <attach model="arm" body="base" prefix="A_"/><body name="target" mocap="true"/>
    </worldbody></mujoco>)");
  const std::string notice =
      "A: geom housing: contains the straight arm from its base on, so it is no obstacle "
      "[obstacle-left-out]";
  const auto notices = load_scene(file).notices;
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices.front(), Catch::EndsWith(notice));
  const Setting floor = set("controller.obstacles", "floor");
  CHECK(load_scene(file, std::span(&floor, 1)).notices.empty());
}

TEST_CASE("scene: an old name of a controller's setting is refused with the present one",
          "[scene]") {
  const Files files;
  const std::vector<Setting> settings = {set("controller.plugin", "tendril.contact_plan"),
                                         set("controller.max_ways", "3")};
  CHECK_THROWS_WITH(load_scene(files.scene, settings),
                    Catch::EndsWith("controller: max_ways: is called max_candidates now"));
}

TEST_CASE("scene: robot settings without a robot are refused", "[scene]") {
  const TemporaryFolder folder;
  const auto scene =
      folder.write("plain.xml", "<mujoco><worldbody><geom size=\"1\"/></worldbody></mujoco>");
  const Setting setting = set("robot.section.*.links", "6");
  CHECK_THROWS_WITH(load_scene(scene, std::span(&setting, 1)),
                    Catch::Contains("attaches no robot file"));
}

TEST_CASE("scene: options that do not suit the robot are reported in one line each", "[scene]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", kArm);
  const auto scene = folder.write("scene.xml", R"(<mujoco><option iterations="5"/>
    <asset><model name="arm" file="arm.toml"/></asset>
    <worldbody><attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>)");
  const Scene loaded = load_scene(scene);
  REQUIRE(loaded.notices.size() == 4);
  CHECK_THAT(loaded.notices[0],
             Catch::Contains("option integrator = Euler: arm.toml needs discrete or implicitfast"));
  CHECK_THAT(loaded.notices[1],
             Catch::Contains("option cone = pyramidal: arm.toml needs elliptic"));
  CHECK_THAT(loaded.notices[2], Catch::Contains("option impratio = 1: arm.toml needs 10"));
  CHECK_THAT(loaded.notices[3], Catch::Contains("option iterations = 5: arm.toml needs at least"));
}

TEST_CASE("scene: a suction cup and a gripper want contacts at several points of a face",
          "[scene]") {
  const TemporaryFolder folder;
  const std::string tip = GENERATE("", "[tip]\nsuction = 3\n", "[gripper]\nopening = 0.03\n");
  const bool flag = GENERATE(false, true);
  CAPTURE(tip, flag);
  folder.write("arm.toml", kArm + tip);
  folder.write("mobile.toml",
               "kind = \"mobile\"\n[platform]\nlength = 0.5\nwidth = 0.4\nheight = 0.1\n"
               "[arm]\nfile = \"arm.toml\"\nmount = [0, 0, 0.3]\n");
  const std::string file = GENERATE("arm.toml", "mobile.toml");
  const auto scene = folder.write(
      "scene.xml",
      "<mujoco><option integrator=\"discrete\" cone=\"elliptic\" impratio=\"10\"><flag "
      "multiccd=\"" +
          std::string(flag ? "enable" : "disable") +
          "\"/></option><asset><model name=\"arm\" file=\"" + file +
          R"("/></asset><worldbody><attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>)");
  const std::vector<std::string> notices = load_scene(scene).notices;
  REQUIRE(notices.size() == (tip.empty() || flag ? 0 : 1));
  if (!notices.empty())
    CHECK_THAT(notices[0],
               Catch::Contains("option flag multiccd = disable: " + file + " needs enable"));
}

TEST_CASE("scene: discrete takes its numerical damping off the joints'", "[scene]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", std::string(kArm) + "damping_time = 0.004\n");
  folder.write("mobile.toml",
               "kind = \"mobile\"\n[platform]\nlength = 0.5\nwidth = 0.4\nheight = 0.1\n"
               "[arm]\nfile = \"arm.toml\"\nmount = [0, 0, 0.3]\n");
  const auto write = [&](const std::string& option) {
    return folder.write("scene.xml", "<mujoco><option cone=\"elliptic\" impratio=\"10\" " + option +
                                         R"(/><asset><model name="arm" file="arm.toml"/>
      <model name="mobile" file="mobile.toml"/></asset><worldbody>
      <attach model="arm" body="base" prefix="A_"/>
      <frame pos="2 0 0"><attach model="mobile" body="base" prefix="M_"/></frame></worldbody></mujoco>)");
  };
  // Damping over stiffness.
  const auto times = [](const Scene& scene) {
    std::vector<double> found;
    const mjModel& m = *scene.model;
    for (const char* name : {"A_s1_l1_x", "M_arm_s1_l2_y"}) {
      const int joint = mj_name2id(&m, mjOBJ_JOINT, name);
      REQUIRE(joint >= 0);
      found.push_back(m.dof_damping[m.jnt_dofadr[joint]] / m.jnt_stiffness[joint]);
    }
    return found;
  };
  struct Case {
    const char* option;
    std::vector<Setting> settings;
    double expected;
    std::size_t notices;
  };
  for (const Case& c : {Case{"timestep=\"0.002\" integrator=\"discrete\"", {}, 0.002, 0},
                        {"timestep=\"0.001\" integrator=\"discrete\"", {}, 0.003, 0},
                        {"timestep=\"0.001\" integrator=\"implicitfast\"", {}, 0.004, 0},
                        {"timestep=\"0.001\" integrator=\"discrete\"",
                         {set("option.timestep", "{ scale = 3.0 }")},
                         0.001,
                         0},
                        {"timestep=\"0.001\" integrator=\"discrete\"",
                         {set("option.integrator", "\"implicitfast\"")},
                         0.004,
                         0},
                        {"timestep=\"0.005\" integrator=\"discrete\"", {}, 0.0, 2}}) {
    CAPTURE(c.option, c.settings.size());
    const Scene scene = load_scene(write(c.option), c.settings);
    for (const double time : times(scene)) CHECK(time == Approx(c.expected).margin(1e-12));
    // Armature with implicitfast alone (joint_damping_test has its value).
    const mjModel& m = *scene.model;
    const int hinge = m.jnt_dofadr[mj_name2id(&m, mjOBJ_JOINT, "M_arm_s1_l2_y")];
    CHECK((m.dof_armature[hinge] > 0.0) == (m.opt.integrator == mjINT_IMPLICITFAST));
    CHECK(scene.notices.size() == c.notices);
    for (const std::string& notice : scene.notices) {
      CHECK_THAT(notice, Catch::Contains("section 1: damping_time = 0.004 s is 0.005 s with "
                                         "integrator discrete"));
    }
  }
}

TEST_CASE("scene: what cannot be meant is reported in one line each", "[scene]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", std::string(kArm) + "[controller]\nplugin = \"tendril.reach\"\n");
  const auto scene = folder.write("scene.xml", R"(<mujoco><compiler conflict="merge"/>
    <asset><model name="arm" file="arm.toml"/></asset>
    <worldbody><attach model="arm" body="base" prefix="A_"/>
      <body name="target" mocap="true" pos="0.6 0 0"/></worldbody></mujoco>)");
  const std::vector<Setting> settings{set("robot.section.1.mass", "70"),
                                      set("robot.section.1.bend_torque_limit", "1e5")};
  const Scene loaded = load_scene(scene, settings);
  REQUIRE(loaded.notices.size() == 1);
  CHECK_THAT(loaded.notices[0], Catch::Contains("arm.toml: section 1: mass = 70 kg") &&
                                    Catch::Contains("more than any metal"));

  const DataPtr data = make_data(*loaded.model);
  mj_forward(loaded.model.get(), data.get());
  const std::vector<std::string> targets = distant_targets(*loaded.model, *data, loaded.robots);
  REQUIRE(targets.size() == 1);
  CHECK_THAT(targets[0], Catch::Contains("target target is 0.6 m from A_base: the arm reaches 0."));
  data->mocap_pos[0] = 0.01;
  mj_forward(loaded.model.get(), data.get());
  CHECK(distant_targets(*loaded.model, *data, loaded.robots).empty());
}

TEST_CASE("scene: its robots are those of the model, described by the files that were read",
          "[scene]") {
  const char* const file =
      GENERATE("reach/reach.xml", "tendon_arm/tendon_arm.xml", "snake_path/snake_path.xml",
               "youbot_targets/youbot_targets.xml", "mobile_arm/mobile_arm.xml");
  CAPTURE(file);
  const Scene scene = load_scene(std::string("scenes/") + file);
  const std::vector<SceneRobot> again = robots_of(*scene.model);  // read from the model
  REQUIRE_FALSE(scene.robots.empty());
  REQUIRE(scene.robots.size() == again.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    const SceneRobot &robot = scene.robots[i], &other = again[i];
    CAPTURE(robot.names.label());
    CHECK(robot.names == other.names);
    CHECK(robot.base == other.base);
    CHECK(robot.plugin == find_controller(*scene.model, robot.names));
    CHECK(robot.controller == controller_of(other.description).plugin);
    CHECK(robot.target == other.target);
    // Made of the file, not parsed a second time.
    CHECK_THAT(controller_of(robot.description).origin, Catch::Contains(".toml:"));
    CHECK_THAT(controller_of(other.description).origin, Catch::StartsWith("robot:"));
  }
  CHECK(find_controller(*scene.model, {"no such robot", ""}) == -1);
}

TEST_CASE("scene: robots of included files count", "[scene]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", kArm);
  folder.write("part.xml",
               R"(<mujoco><asset><model name="arm" file="arm.toml"/></asset></mujoco>)");
  const auto scene =
      folder.write("scene.xml", R"(<mujoco><compiler conflict="merge"/><include file="part.xml"/>
    <worldbody><attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>)");
  const Setting setting = set("robot.section.1.links", "2");
  const Scene loaded = load_scene(scene, std::span(&setting, 1));
  CHECK(links(*loaded.model) == 2);
  CHECK(loaded.source_files.size() == 3);
}

TEST_CASE("scene: a lone robot gets light and the target that its controller names", "[scene]") {
  const TemporaryFolder folder;
  const auto robot =
      folder.write("arm.toml", std::string(kArm) +
                                   "[controller]\nplugin = \"tendril.reach\"\ntarget = \"goal\"\n");
  const Scene scene = load_scene(robot);
  const mjModel& m = *scene.model;
  const int goal = mj_name2id(&m, mjOBJ_BODY, "goal");
  REQUIRE(goal >= 0);
  CHECK(m.body_mocapid[goal] == 0);
  CHECK(m.ncam == 0);  // a free one is fitted to what is drawn
  CHECK(m.nlight == 1);
  CHECK(mj_name2id(&m, mjOBJ_BODY, "base") >= 0);
  const DataPtr data = make_data(m);
  mj_forward(&m, data.get());
  const int tip = mj_name2id(&m, mjOBJ_SITE, "tip");
  CHECK(mju_dist3(data->site_xpos + 3 * tip, data->mocap_pos) < 0.1);
}

namespace {

/// A scene of an arm and a swinging sphere with more elements of assets and of the world.
std::string look_scene(const std::string& assets, const std::string& world) {
  return R"(<mujoco><compiler conflict="merge"/>
    <option timestep="0.001" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
    <asset><model name="arm" file="parts/arm.toml"/>)" +
         assets + "</asset><worldbody>" + world + R"(
    <body name="ball" pos="0.03 0 0.2"><joint axis="0 1 0" pos="0.05 0 0.1"/><geom size="0.02"/></body>
    <attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>)";
}

int geoms_of_type(const mjModel& m, int type) {
  return static_cast<int>(std::count(m.geom_type, m.geom_type + m.ngeom, type));
}

constexpr const char* kSky =
    R"(<texture type="skybox" builtin="flat" rgb1="0 0 0" width="8" height="48"/>)";

}  // namespace

TEST_CASE("scene: without a sky it gets what images need, and moves bit for bit as before",
          "[scene]") {
  const Files files;
  const Scene bare = load_scene(files.folder.write("own.xml", look_scene(kSky, "")));
  const Scene dressed = load_scene(files.folder.write("none.xml", look_scene("", "")));
  CHECK(bare.model->nlight == 0);
  CHECK(geoms_of_type(*bare.model, mjGEOM_PLANE) == 0);
  const mjModel& m = *dressed.model;
  CHECK(m.nlight == 1);
  REQUIRE(geoms_of_type(m, mjGEOM_PLANE) == 1);
  CHECK(std::count(m.tex_type, m.tex_type + m.ntex, mjTEXTURE_SKYBOX) == 1);
  CHECK(m.stat.extent == bare.model->stat.extent);
  const int ground =
      static_cast<int>(std::find(m.geom_type, m.geom_type + m.ngeom, mjGEOM_PLANE) - m.geom_type);
  CHECK(m.geom_contype[ground] == 0);
  CHECK(m.geom_conaffinity[ground] == 0);
  CHECK(m.geom_pos[3 * ground + 2] < -0.1);  // the arm of 0.1 m hangs down at most that far

  const DataPtr a = make_data(*bare.model), b = make_data(m);
  for (int i = 0; i < 500; ++i) {
    mj_step(bare.model.get(), a.get());
    mj_step(dressed.model.get(), b.get());
  }
  CHECK(std::abs(a->qpos[0]) > 0.01);
  CHECK(std::equal(a->qpos, a->qpos + m.nq, b->qpos));
}

TEST_CASE("scene: a ground is only where nothing falls through it", "[scene]") {
  const Files files;
  const auto planes = [&](const std::string& world) {
    const auto file = files.folder.write("s.xml", look_scene("", world));
    return geoms_of_type(*load_scene(file).model, mjGEOM_PLANE);
  };
  CHECK(planes("<geom type='plane' size='1 1 1' pos='0 0 -1'/>") == 1);                // its own
  CHECK(planes("<geom type='plane' size='1 1 1' pos='2 0 0' euler='0 90 0'/>") == 2);  // a wall
  CHECK(planes("<body pos='1 0 1'><freejoint/><geom size='0.1'/></body>") == 0);
  CHECK(planes("<body pos='1 0 1'><joint type='slide'/><geom size='0.1'/></body>") == 0);
}

TEST_CASE("scene: another controller leaves the settings behind that it does not know", "[scene]") {
  const TemporaryFolder folder;
  folder.write(
      "arm.toml",
      std::string(kArm) +
          "[controller]\nplugin = \"tendril.follow\"\nwaypoints = [[0, 0, 0], [0, 0, 1]]\n");
  const Setting plugin = set("controller.plugin", "tendril.reach");
  const Setting target = set("controller.target", "goal");
  const std::vector<Setting> settings{plugin, target};
  const Scene scene = load_scene(folder.path() / "arm.toml", settings);
  CHECK_THAT(scene.source_files.at("arm.toml"),
             !Catch::Contains("waypoints") && Catch::Contains("tendril.reach"));
}

TEST_CASE("scene: files that are missing or broken are named", "[scene]") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(load_scene(folder.path() / "none.xml"),
                    Catch::Contains("none.xml: No such file"));
  CHECK_THROWS_WITH(load_scene(folder.write("bad.xml", "<mujoco><worldbody>")),
                    Catch::Contains("bad.xml"));
  CHECK_THROWS_WITH(load_scene(folder.write(
                        "geom.xml", "<mujoco><worldbody><geom size=\"0\"/></worldbody></mujoco>")),
                    Catch::Contains("geom.xml") && !Catch::Contains("\n"));
  folder.write("arm.toml", "kind = \"continuum\"\n[[section]]\nbend_limit = -1\n");
  const auto scene =
      folder.write("scene.xml", R"(<mujoco><asset><model name="arm" file="arm.toml"/></asset>
    <worldbody><attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>)");
  CHECK_THROWS_WITH(load_scene(scene), Catch::Contains("arm.toml:"));
  const auto lacking = folder.write(
      "lacking.xml", R"(<mujoco><asset><model name="arm" file="none.toml"/></asset></mujoco>)");
  CHECK_THROWS_WITH(load_scene(lacking), Catch::Contains("none.toml: No such file"));
}

TEST_CASE("scene: what controllers of the library say of their tips is the model's truth",
          "[scene]") {
  const auto [file, prefix, tip] = GENERATE(table<const char*, const char*, const char*>(
      {{"reach/reach.xml", "arm_", "arm_tip"},
       {"reach_clutter/reach_clutter.xml", "arm_", "arm_tip"},
       {"tendon_arm/tendon_arm.xml", "arm_", "arm_tip"},
       {"youbot_targets/youbot_targets.xml", "Y_", "Y_tip"},
       {"mobile_arm/mobile_arm.xml", "M_", "M_arm_tip"},
       {"mobile_arm/mobile_arm.xml", "M_arm_", "M_arm_tip"}}));
  CAPTURE(file, prefix);
  const Scene scene = load_scene(std::string("scenes/") + file);
  const mjModel& model = *scene.model;
  const DataPtr data = make_data(model);
  const auto is_meant = [name = std::string(prefix)](const SceneRobot& robot) {
    return robot.names.prefix == name;
  };
  const auto robot = std::find_if(scene.robots.begin(), scene.robots.end(), is_meant);
  REQUIRE(robot != scene.robots.end());
  const int site = mj_name2id(&model, mjOBJ_SITE, tip);
  const int body = mj_name2id(&model, mjOBJ_BODY, robot->target.c_str());
  const int sensor = mj_name2id(&model, mjOBJ_SENSOR, robot->names("tip_error").c_str());
  REQUIRE((site >= 0 && body >= 0 && sensor >= 0));
  for (int step = 0; step < 40; ++step) {
    mj_step(&model, data.get());
    const double distance = mju_dist3(data->site_xpos + 3 * site, data->xpos + 3 * body);
    CHECK(data->sensordata[model.sensor_adr[sensor]] == Approx(distance).margin(1e-9));
  }
}

TEST_CASE("scene: the files that a run reads are listed, those of each choice too", "[scene]") {
  const TemporaryFolder folder;
  // Who names what: parts.xml, included, names the directories of the includer's own mesh.
  folder.write("scene.xml", R"(<mujoco><asset><mesh name="w" file="wall.obj"/></asset>
    <include file="sub/parts.xml"/><asset><model name="arm" file="robots/arm.toml"/>
    <model name="thing" file="things/thing.xml"/></asset></mujoco>)");
  folder.write("sub/parts.xml", R"(<mujoco><compiler meshdir="m" texturedir="t"/><asset>
    <texture name="s" type="cube" fileup="up.png" filedown="&#100;own.png"/></asset></mujoco>)");
  folder.write("things/thing.xml",
               R"(<mujoco><asset><mesh name="c" file="c.obj"/></asset></mujoco>)");
  for (const char* const name : {"m/wall.obj", "t/up.png", "t/down.png", "things/c.obj",
                                 "robots/poses.csv", "robots/other.csv", "unused.obj"})
    folder.write(name, "0 0 0\n");
  folder.write("robots/arm.toml", std::string(kArm) +
                                      "[controller]\nplugin = \"tendril.follow_poses\"\n"
                                      "poses = { file = \"poses.csv\" }\n");
  const auto experiment = folder.write("e.toml", R"(scene = "scene.xml"
[vary]
"controller.poses" = { choice = [{ file = "other.csv" }, { file = "poses.csv" }] }
)");
  std::vector<std::string> found;
  for (const auto& file : input_files(load_experiment(experiment)))
    found.push_back(file.lexically_relative(experiment.parent_path()).string());
  CHECK(found == std::vector<std::string>{"e.toml", "m/wall.obj", "robots/arm.toml",
                                          "robots/other.csv", "robots/poses.csv", "scene.xml",
                                          "sub/parts.xml", "t/down.png", "t/up.png", "things/c.obj",
                                          "things/thing.xml"});
}
