#include "controllers/interface/settings.hpp"

#include <Eigen/Geometry>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <variant>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tendril/contact/contact_plan.hpp"
#include "tendril/mobile/robot.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/rod/elastic_cases.hpp"

using namespace tendril;
using tendril::test::TestScene;

namespace {

using Texts = Settings::Texts;

constexpr std::array kRows{setting::number("speed", "m/s", "0.5", kNotNegative, "of something"),
                           setting::number("x", "", "", {0.0, 2.0}, "of something"),
                           setting::number("open", "", "1", {0.0, 2.0, true}, "of something"),
                           setting::integer("count", "3", 1, 5, "of something"),
                           setting::flag("quick", true, "or slow"),
                           setting::numbers("points", "m", "of a path"),
                           setting::choice("color", "red green", "of something"),
                           setting::text("name", "anonymous", "of something")};

Settings with(const char* name, const char* text) { return Settings(kRows, Texts{{name, text}}); }

}  // namespace

TEST_CASE("settings: what is not given has its row's default", "[controllers]") {
  const Settings settings(kRows);
  CHECK(settings.text("name") == "anonymous");
  CHECK_FALSE(settings.has("speed"));
  CHECK(settings.number("speed") == 0.5);
  CHECK_FALSE(settings.optional_number("x").has_value());
  CHECK(settings.integer("count") == 3);
  CHECK(settings.flag("quick"));
  CHECK(settings.numbers("points").empty());
  CHECK(settings.choice_index("color") == 0);
  CHECK(default_text(kRows[6]) == "red");
}

TEST_CASE("settings: what has no row of that type cannot be read", "[controllers]") {
  const Settings settings(kRows);
  CHECK_THROWS_AS(settings.number("weight"), std::logic_error);
  CHECK_THROWS_AS(settings.has("weight"), std::logic_error);
  CHECK_THROWS_AS(settings.flag("speed"), std::logic_error);
  CHECK_THROWS_AS(settings.integer("speed"), std::logic_error);
}

TEST_CASE("settings: what is read is counted, what is only asked for is not", "[controllers]") {
  const Settings settings(kRows, {{"speed", "1"}});
  CHECK(settings.has("speed"));
  CHECK(settings.reads().empty());
  (void)settings.number("speed");
  (void)settings.flag("quick");
  CHECK(settings.reads() == std::set<std::string_view>{"speed", "quick"});
}

TEST_CASE("settings: whole texts are read, with blanks around them", "[controllers]") {
  CHECK(with("speed", "2.5e-1").number("speed") == 0.25);
  CHECK(with("speed", " \t3\n").number("speed") == 3.0);
  CHECK(with("count", "4").integer("count") == 4);
  CHECK(with("quick", " false ").flag("quick") == false);
  CHECK(with("points", " 1  2\n3\t-4 ").numbers("points") == std::vector<double>{1, 2, 3, -4});
  CHECK(with("color", "green").choice_index("color") == 1);
  CHECK_FALSE(with("speed", "  ").has("speed"));
}

TEST_CASE("settings: the ends of a range belong to it unless it is open", "[controllers]") {
  CHECK(with("x", "0").optional_number("x") == 0.0);
  CHECK(with("x", "2").optional_number("x") == 2.0);
  CHECK(with("open", "2").number("open") == 2.0);
  CHECK_THROWS_AS(with("open", "0").number("open"), ModelError);
}

TEST_CASE(
    "settings: texts that are not wholly a value in range are refused with name, text and range",
    "[controllers]") {
  struct Case {
    std::string name, text;
    Range range;
    std::string message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"below", "-1", {.low = 0.0, .high = 10.0}, "x = -1: must be in [0, 10]"},
      {"above", "11", {.low = 0.0, .high = 10.0}, "x = 11: must be in [0, 10]"},
      {"on the open end",
       "0",
       {.low = 0.0, .high = 10.0, .open_low = true},
       "x = 0: must be in (0, 10]"},
      {"half open", "-2", {.low = 0.0}, "x = -2: must be >= 0"},
      {"half open, end excluded", "0", {.low = 0.0, .open_low = true}, "x = 0: must be > 0"},
      {"nan", "nan", {}, "x = nan: must be a finite number"},
      {"infinity", "inf", {.low = 0.0}, "x = inf: must be >= 0"},
      {"overflow", "1e999", {}, "x = 1e999: must be a finite number"},
      {"text after the number", "0.5m", {}, "x = 0.5m: must be a finite number"},
      {"two numbers", "0.5 0.6", {}, "x = 0.5 0.6: must be a finite number"},
      {"comma", "0,5", {}, "x = 0,5: must be a finite number"},
      {"hexadecimal", "0x10", {}, "x = 0x10: must be a finite number"},
      {"word", "fast", {}, "x = fast: must be a finite number"},
  }));
  DYNAMIC_SECTION(c.name) {
    const std::array rows{setting::number("x", "", "1", c.range, "of something")};
    CHECK_THROWS_WITH(Settings(rows, {{"x", c.text}}).number("x"), c.message);
  }
}

TEST_CASE("settings: refused switches, lists and choices say what is allowed", "[controllers]") {
  CHECK_THROWS_WITH(with("quick", "yes").flag("quick"), "quick = yes: must be true or false");
  CHECK_THROWS_WITH(with("quick", "True").flag("quick"), "quick = True: must be true or false");
  CHECK_THROWS_WITH(with("points", "1 2 x").numbers("points"),
                    "points = x: must be finite numbers separated by spaces");
  CHECK_THROWS_WITH(with("points", "1, 2").numbers("points"),
                    "points = 1,: must be finite numbers separated by spaces");
  CHECK_THROWS_WITH(with("points", "1 nan").numbers("points"),
                    "points = nan: must be finite numbers separated by spaces");
  CHECK_THROWS_WITH(with("color", "Red").choice_index("color"),
                    "color = Red: must be one of red, green");
  CHECK_THROWS_WITH(with("count", "2.5").integer("count"),
                    "count = 2.5: must be an integer in [1, 5]");
  CHECK_THROWS_WITH(with("count", "6").integer("count"), "count = 6: must be in [1, 5]");
}

namespace {

constexpr double kTimestep = 0.002;

/// Returns the settings by default, and with each switch inverted.
std::vector<Texts> switched(const ControllerKind& kind) {
  std::vector<Texts> all{{}};
  for (const SettingInfo& row : kind.settings) {
    if (row.type != SettingInfo::Type::Flag) continue;
    const bool is_on = std::string_view(row.default_value) == "true";
    all.push_back({{row.name, is_on ? "false" : "true"}});
  }
  return all;
}

/// Configurations of a controller that between them use all it can be set to. Those that cannot be
/// made without settings, or whose modes need several, are listed.
std::vector<Texts> configurations(const ControllerKind& of_kind) {
  const std::string& kind = of_kind.name;
  const std::string poses =
      "waypoint,theta_1,phi_1,s_1,theta_2,phi_2,s_2,h\n0,0,0,0,0,0,0,0\n1,0.1,0,0,0,0,0,0\n";
  const std::string branches = "branch,x,y,z,radius\na,0,0,0,0.1\na,0,0,0.6,0.1\n";
  if (kind == "tendril.follow")
    return {{{"waypoints", "0 0 0  0 0 0.3"}},
            {{"arcs", "0 0.3"}},
            {{"target", "t"}},
            {{"poses", poses}},
            {{"centerline", branches}, {"branch", "a"}, {"path_end", "0 0 0.4"}}};
  if (kind == "tendril.steer")
    return {{{"waypoints", "0 0 0  0 0 0.6"}},
            {{"arcs", "0 0.6"}},
            {{"centerline", branches}, {"branch", "a"}}};
  if (kind == "tendril.whole_body")
    return {{{"waypoints", "0 0 0  0 0 0.6"}},
            {{"arcs", "0 0.6"}},
            {{"target", "t"}},
            {{"centerline", branches}, {"branch", "a"}, {"path_end", "0 0 0.4"}}};
  if (kind == "tendril.push") return {{{"block", "block"}, {"target", "t"}}};
  if (kind == "tendril.pull") return {{{"end", "plug"}, {"target", "t"}}};
  if (kind == "tendril.coil") return {{{"post", "post"}, {"winding", "3"}, {"press", "0.01 0 0"}}};
  if (kind == "tendril.contact_plan") {
    const auto plan = test::elastic_cases().front();
    return {{{"plan", contact_plan_text({.base = {},
                                         .body_radius = 0.01,
                                         .arcs = plan.plan(),
                                         .contacts = plan.contacts,
                                         .scene = plan.scene})}},
            {{"target", "t"}}};
  }
  if (kind == "tendril.snake")
    return {{{"gait", "rolling"}},
            {{"schedule", "0 rolling 1 10 helix 0.2"}},
            {{"goals", "1 0"}},
            {{"target", "t"}},
            {{"gait", "helix"}, {"pole_radius", "0.05"}, {"heights", "0.1"}},
            {{"ground_path", "0 0 1 0"}},
            {{"gait", "serpenoid"}, {"target", "t"}, {"avoidance", "true"}},
            {{"mode", "path"}, {"waypoints", "1 0 0  2 0 0"}},
            {{"mode", "path"}, {"target", "t"}},
            {{"mode", "path"}, {"waypoints", "0.5 0 0 0.9 0 0"}, {"fold", "0.1"}}};
  return switched(of_kind);
}

/// Makes a controller of some robot that suits it. Returns false for another kind of robot, which
/// has a separate test.
bool make(const ControllerKind& kind, const Settings& settings, TestScene& scene) {
  const bool is_elastic = kind.name == "tendril.contact_plan";
  const bool is_carried = kind.name == "tendril.whole_body";
  const std::size_t sections = is_elastic ? 3 : kind.name == "tendril.coil" ? 6 : 2;
  const double length = is_elastic ? 0.4 : 0.1;
  const ContinuumRobot arm(
      std::vector<SectionParameters>(sections, {.length = length, .bend_angle_limit = 6.0}),
      {.feed_limit = is_carried ? 0.0 : 1.2});
  if (is_carried) scene.chain = SerialChain({ChainJoint()}, Eigen::Isometry3d::Identity());
  scene.measured = scene.standing = Obstacles({sphere_at({0.3, 0.0, 0.1}, 0.03)});
  scene.moving_count = kind.name == "tendril.push" || kind.name == "tendril.pull" ? 1 : 0;
  scene.target = {2.0, 0.0, 0.0};
  scene.post = {.name = "geom post", .kind = Solid::Kind::Capsule, .size = {0.03, 0.3, 0.0}};
  scene.post.X_BO.translation() = Eigen::Vector3d(0.0, 0.05, 0.65);
  scene.post.X_BO.linear() =
      Eigen::Quaterniond::FromTwoVectors(Eigen::Vector3d::UnitZ(), Eigen::Vector3d::UnitX())
          .toRotationMatrix();
  const MobileSpeedLimits speeds;
  if (const auto* make_arm = kind.make.of<ArmContext>()) {
    (*make_arm)({.robot = arm,
                 .settings = settings,
                 .timestep = kTimestep,
                 .feed_force_limit = 30.0,
                 .guide_length = is_elastic ? 1.2 : 0.0,
                 .guide_clearance = is_elastic ? 0.0005 : 0.0,
                 .body_radius = 0.01,
                 .bending_stiffness = 0.05,
                 .scene = scene});
  } else if (const auto* make_snake = kind.make.of<SnakeContext>()) {
    const std::vector<double> lengths(17, 0.06);
    (*make_snake)({.link_lengths = lengths,
                   .joint_limit = 1.5,
                   .radius = 0.025,
                   .is_free = settings.text("mode") != "path",
                   .settings = settings,
                   .timestep = kTimestep,
                   .feed_limit = settings.has("fold") ? 0.0 : 1.0,
                   .scene = scene});
  } else if (const auto* make_mobile = kind.make.of<MobileContext>()) {
    const MobileRobot robot(youbot());
    (*make_mobile)({.robot = robot,
                    .limits = speeds,
                    .capsules = {},
                    .settings = settings,
                    .timestep = kTimestep,
                    .scene = scene});
  } else if (const auto* make_platform = kind.make.of<PlatformContext>()) {
    const MobileContinuum robot{.arm = arm};
    (*make_platform)({.robot = robot,
                      .limits = speeds,
                      .platform_length = 0.4,
                      .platform_width = 0.3,
                      .settings = settings,
                      .timestep = kTimestep,
                      .arm_radius = 0.01,
                      .scene = scene});
  } else {
    return false;
  }
  return true;
}

}  // namespace

// A setting without a row throws when it is read (above), so this is: what is read is what is
// documented. The names of things in the scene are read by its query.
TEST_CASE("settings: every row of every controller is read", "[controllers]") {
  for (const ControllerKind& kind : built_in_controllers()) {
    CAPTURE(kind.name);
    std::set<std::string_view> reads;
    TestScene scene;
    bool is_made = true;
    for (const Texts& texts : configurations(kind)) {
      const Settings settings(kind.settings, texts);
      if (kind.name == "tendril.contact_plan" && settings.has("target"))
        REQUIRE_THROWS_WITH(make(kind, settings, scene), Catch::StartsWith("target"));
      else
        REQUIRE_NOTHROW(is_made = make(kind, settings, scene));
      reads.insert(settings.reads().begin(), settings.reads().end());
    }
    for (const SettingInfo& row : kind.settings) {
      if (!is_made) break;
      CAPTURE(row.name);
      CHECK((reads.contains(row.name) || scene.asked.contains(row.name)));
    }
  }
}

TEST_CASE("settings: a question about the scene names a row of its type", "[controllers]") {
  using Type = SettingInfo::Type;
  const std::array rows{setting::geom_name("post", "", "of something"),
                        setting::number("plan", "", "1", {}, "of something")};
  const Settings settings(rows, {{"post", " pole "}});
  CHECK(settings.scene_name("post", Type::GeomName) == "pole");
  CHECK(settings.reads().contains("post"));
  CHECK_THROWS_AS(settings.scene_name("post", Type::BodyName), std::logic_error);
  CHECK_THROWS_AS(settings.scene_name("plan", Type::GeomName), std::logic_error);
}

TEST_CASE("settings: rows are whole, their defaults are values in range, their names are unique",
          "[controllers]") {
  using Type = SettingInfo::Type;
  for (const ControllerKind& kind : built_in_controllers()) {
    std::vector<SettingInfo> rows = joined({kind.make.common_settings(), kind.settings});
    std::set<std::string_view> names;
    const Settings settings(rows);
    for (const SettingInfo& row : rows) {
      CAPTURE(kind.name, row.name);
      CHECK(names.insert(row.name).second);
      CHECK(std::string_view(row.meaning).size() > 5);
      const bool has_default = !default_text(row).empty();
      if (row.type == Type::Number && has_default) CHECK_NOTHROW(settings.number(row.name));
      if (row.type == Type::Integer) CHECK_NOTHROW(settings.integer(row.name));
      if (row.type == Type::Flag) CHECK_NOTHROW(settings.flag(row.name));
      if (row.type == Type::Choice) CHECK(has_default);
    }
  }
}
