// KeyLog: what readers ask of the keys of a file.

#include "tendril/model/key_log.hpp"

#include <catch2/catch.hpp>

#include "tendril/model/robot_description.hpp"

using namespace tendril;

namespace {

constexpr const char* kTube = R"(
kind = "tube"
centerline = [[0, 0, 0.3], [0, 0, 0.5]]
inner_radius = 0.014
)";

}  // namespace

TEST_CASE("key log: has the default and the range that a reader passes", "[model]") {
  const KeyLog log("tube.toml");
  static_cast<void>(parse_model(kTube, "tube.toml"));
  static_cast<void>(
      parse_model("[[section]]\nconstant_length = 0.1\nbend_limit = 1\n", "arm.toml"));
  for (const KeyRecord& key : log.table("").keys) {
    CHECK(key.info.name != "section");  // another file
    if (key.info.name == "inner_radius") CHECK(key.default_text == "required");
    if (key.info.name != "wall_thickness") continue;
    CHECK(key.default_text == "0.003");
    CHECK(key.allowed == "> 0");
  }
  CHECK(log.table("").keys.size() == 11);
}

TEST_CASE("key log: the first default of a key counts, and a row's own before it", "[model]") {
  constexpr KeyInfo kRows[]{{"gain", "N/m", "of the servo"}, {"name", "", "of it", "none"}};
  KeyLog log("a.toml");
  log.know("part 1", kRows);
  log.note("part 1", "gain", "3", "> 0");
  log.note("part 2", "gain", "4", ">= 0");
  log.note("part 2", "name", "\"b\"", "");
  log.note("part 2", "other", "1", "");
  const KeyLog::Table& table = log.table("part");
  REQUIRE(table.keys.size() == 2);
  CHECK(table.keys[0].default_text == "3");
  CHECK(table.keys[0].allowed == "> 0");
  CHECK(table.keys[1].default_text == "none");
}

TEST_CASE("key log: exists only for its files and its lifetime", "[model]") {
  CHECK(KeyLog::of("a.toml") == nullptr);
  {
    const KeyLog log("a.toml");
    CHECK(KeyLog::of("a.toml") == &log);
    CHECK(KeyLog::of("b.toml") == nullptr);
  }
  CHECK(KeyLog::of("a.toml") == nullptr);
}
