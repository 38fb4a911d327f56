#include "controllers/settings.hpp"

#include <catch2/catch.hpp>

#include "controllers/follow_controller.hpp"
#include "controllers/reach_controller.hpp"
#include "tendril/model_error.hpp"

using namespace tendril;

namespace {

constexpr const char* kColours[] = {"red", "green"};

using Texts = std::vector<std::pair<std::string, std::string>>;

Settings with(const char* name, const char* text) { return Settings(Texts{{name, text}}); }

}  // namespace

TEST_CASE("settings: what is not given has its default", "[controllers]") {
  const Settings settings;
  CHECK(settings.text("speed").empty());
  CHECK_FALSE(settings.has("speed"));
  CHECK(settings.number("speed", 0.5, {.low = 0.0}) == 0.5);
  CHECK(settings.boolean("quick", true));
  CHECK(settings.numbers("points").empty());
  CHECK(settings.choice("colour", kColours, 1) == 1);
}

TEST_CASE("settings: whole texts are read, with blanks around them", "[controllers]") {
  CHECK(with("speed", "2.5e-1").number("speed", 0.0, {}) == 0.25);
  CHECK(with("speed", " \t-3\n").number("speed", 0.0, {}) == -3.0);
  CHECK(with("quick", " false ").boolean("quick", true) == false);
  CHECK(with("points", " 1  2\n3\t-4 ").numbers("points") == std::vector<double>{1, 2, 3, -4});
  CHECK(with("colour", "green").choice("colour", kColours, 0) == 1);
  CHECK_FALSE(with("speed", "  ").has("speed"));
}

TEST_CASE("settings: the ends of a range belong to it unless it is open", "[controllers]") {
  CHECK(with("x", "0").number("x", 1.0, {.low = 0.0, .high = 2.0}) == 0.0);
  CHECK(with("x", "2").number("x", 1.0, {.low = 0.0, .high = 2.0}) == 2.0);
  CHECK_THROWS_AS(with("x", "0").number("x", 1.0, {.low = 0.0, .high = 2.0, .open_low = true}),
                  ModelError);
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
    CHECK_THROWS_WITH(with("x", c.text.c_str()).number("x", 1.0, c.range), c.message);
  }
}

TEST_CASE("settings: refused switches, lists and choices say what is allowed", "[controllers]") {
  CHECK_THROWS_WITH(with("quick", "yes").boolean("quick", true),
                    "quick = yes: must be true or false");
  CHECK_THROWS_WITH(with("quick", "True").boolean("quick", true),
                    "quick = True: must be true or false");
  CHECK_THROWS_WITH(with("points", "1 2 x").numbers("points"),
                    "points = x: must be finite numbers separated by spaces");
  CHECK_THROWS_WITH(with("points", "1, 2").numbers("points"),
                    "points = 1,: must be finite numbers separated by spaces");
  CHECK_THROWS_WITH(with("points", "1 nan").numbers("points"),
                    "points = nan: must be finite numbers separated by spaces");
  CHECK_THROWS_WITH(with("colour", "Red").choice("colour", kColours, 0),
                    "colour = Red: must be one of red, green");
}

TEST_CASE("settings: every default of the controllers' tables is what an absent setting means",
          "[controllers]") {
  // A controller made from the table's defaults as texts starts with the same memory and does the
  // same as one made from nothing; here: the texts are accepted.
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}}, {.feed_limit = 0.1});
  const auto texts = [](std::span<const SettingInfo> table) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const SettingInfo& info : table) {
      CHECK(std::string_view(info.meaning).size() > 0);
      if (*info.default_value) values.emplace_back(info.name, info.default_value);
    }
    return values;
  };
  const Settings reach(texts(ReachController::settings()));
  CHECK_NOTHROW(ReachController({robot, reach, 0.002, 30.0}));
  auto follow = texts(FollowController::settings());
  follow.emplace_back("waypoints", "0 0 0 0 0 0.5");
  const Settings follow_settings(follow);
  CHECK_NOTHROW(FollowController({robot, follow_settings, 0.002, 30.0}));
}
