// plugin/README.md says what is so: its attribute tables and its minimal scene.

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "controllers/base_placement_controller.hpp"
#include "controllers/coil_controller.hpp"
#include "controllers/contact_plan_controller.hpp"
#include "controllers/follow_controller.hpp"
#include "controllers/mobile_reach_controller.hpp"
#include "controllers/reach_controller.hpp"
#include "controllers/snake_modes.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

std::string readme() {
  std::ifstream file("plugin/README.md");  // tests run in the source root
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

std::string code_block(const std::string& text, const std::string& language) {
  const std::string fence = "```" + language + "\n";
  const auto begin = text.find(fence);
  REQUIRE(begin != std::string::npos);
  const auto code = begin + fence.size();
  return text.substr(code, text.find("```", code) - code);
}

std::string section(const std::string& text, const std::string& heading) {
  const auto begin = text.find("\n" + heading + "\n");
  REQUIRE(begin != std::string::npos);
  const std::string level = heading.substr(0, heading.find(' ') + 1);
  return text.substr(begin, text.find("\n" + level, begin + heading.size()) - begin);
}

std::string row(const SettingInfo& info) {
  std::ostringstream out;
  out << "| `" << info.name << "` | " << info.unit << " | ";
  if (*info.default_value) out << '`' << info.default_value << '`';
  out << " | " << info.meaning << " |\n";
  return out.str();
}

}  // namespace

TEST_CASE("plugin README: has every setting with unit, default and meaning", "[plugin]") {
  const std::string text = readme();
  const std::string reach = section(text, "### `tendril.reach`");
  for (const SettingInfo& info : ReachController::settings())
    CHECK_THAT(reach, Catch::Contains(row(info)));
  const std::string follow = section(text, "### `tendril.follow`");
  for (const SettingInfo& info : FollowController::settings())
    CHECK_THAT(follow, Catch::Contains(row(info)));
  const std::string snake = section(text, "### `tendril.snake`");
  for (const SettingInfo& info : snake_settings()) CHECK_THAT(snake, Catch::Contains(row(info)));
  const std::string mobile = section(text, "### `tendril.mobile`");
  for (const SettingInfo& info : MobileReachController::settings())
    CHECK_THAT(mobile, Catch::Contains(row(info)));
  const std::string carry = section(text, "### `tendril.base_placement`");
  for (const SettingInfo& info : BasePlacementController::settings())
    CHECK_THAT(carry, Catch::Contains(row(info)));
  const std::string wind = section(text, "### `tendril.coil`");
  for (const SettingInfo& info : CoilController::settings())
    CHECK_THAT(wind, Catch::Contains(row(info)));
  const std::string wrap = section(text, "### `tendril.contact_plan`");
  for (const SettingInfo& info : ContactPlanController::settings())
    CHECK_THAT(wrap, Catch::Contains(row(info)));
}

TEST_CASE("plugin README: the minimal scene loads as written and reaches its target", "[plugin]") {
  load_tendril();
  const std::string text = readme();
  const ModelPtr model =
      load_scene_text(code_block(text, "xml"), {{"arm.toml", code_block(text, "toml")}});
  const DataPtr data = make_data(model);
  step(model, data, 1500);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  CHECK(sensor(model, data, "A_tip_error")[0] < 1e-4);
}
