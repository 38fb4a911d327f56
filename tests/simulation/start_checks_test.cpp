// Plausibility warnings about the state in which robots start.

#include "simulation/scene/start_checks.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "simulation/scene/scene.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril::simulation;
using Catch::Contains;
using tendril::test::TemporaryFolder;

namespace {

constexpr const char* kArm = R"(kind = "continuum"
[[section]]
constant_length = 0.2
bend_limit = 2
links = 4
mass = 0.05
)";

std::vector<std::string> warnings(const std::string& world, const std::string& option = "") {
  const TemporaryFolder folder;
  folder.write("arm.toml", kArm);
  const Scene scene = load_scene(folder.write(
      "scene.xml",
      fmt::format(R"(<mujoco><option integrator="discrete" cone="elliptic" impratio="10"
iterations="100" {}/><asset><model name="robot" file="arm.toml"/>
<mesh name="rock" vertex="-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1"/></asset>
<worldbody>{}</worldbody></mujoco>)",
                  option, world)));
  const DataPtr data = make_data(*scene.model);
  mj_forward(scene.model.get(), data.get());
  return start_warnings(*scene.model, *data);
}

constexpr const char* kAttached = R"(<attach model="robot" body="base" prefix="A_"/>)";
constexpr const char* kOnFreeBody =
    R"(<body name="hand"><freejoint/><geom size="0.02" mass="0.1"/>
<attach model="robot" body="base" prefix="A_"/></body>)";

}  // namespace

TEST_CASE("start: a robot inside something is reported with both names", "[scene]") {
  struct Case {
    std::string name, world;
    std::vector<std::string> words;
  };
  const auto c = GENERATE(values<Case>({
      {"geom",
       std::string(kAttached) +
           R"(<geom name="table" type="box" size="0.1 0.1 0.05" pos="0 0 0.1"/>)",
       {"robot A_base starts inside a geom of the scene", "A_s1_l", "geom 'table'"}},
      {"mesh", std::string(kAttached) + R"(<geom type="mesh" mesh="rock"/>)", {"convex hull"}},
      {"robots that cannot touch",
       std::string(kAttached) + R"(<attach model="robot" body="base" prefix="B_"/>)",
       {"robot A_base starts inside robot B_base", "there is no collision between the two"}},
  }));
  DYNAMIC_SECTION(c.name) {
    const auto lines = warnings(c.world);
    REQUIRE(lines.size() == 1);
    for (const std::string& word : c.words) CHECK_THAT(lines[0], Contains(word));
  }
}

TEST_CASE("start: robots that are next to things, and touch them, are not reported", "[scene]") {
  CHECK(warnings(kAttached).empty());
  CHECK(warnings(std::string(kAttached) + R"(<geom type="plane" size="1 1 1"/>)").empty());
  const auto on_floor = [](double depth) {
    return warnings(fmt::format(
        R"(<frame pos="0 0 {}">{}</frame><geom type="plane" size="1 1 1"/>)", -depth, kAttached));
  };
  CHECK(on_floor(0.005).empty());
  CHECK(on_floor(0.06).size() == 1);
  CHECK(warnings(std::string(kAttached) +
                 R"(<geom type="box" size="0.02 0.1 0.1" pos="0.028 0 0.1"/>)")
            .empty());
  CHECK(warnings(std::string(kAttached) +
                 R"(<frame pos="0.1 0 0"><attach model="robot" body="base" prefix="B_"/></frame>)")
            .empty());
}

TEST_CASE("end: robots that pass through each other are told", "[scene]") {
  const auto told = [](const std::string& self_collision, double distance) {
    const TemporaryFolder folder;
    folder.write("arm.toml", self_collision + kArm);
    const Scene scene = load_scene(folder.write(
        "scene.xml", fmt::format(R"(<mujoco><option integrator="discrete" cone="elliptic"
impratio="10" iterations="100"/><asset><model name="robot" file="arm.toml"/></asset><worldbody>
<attach model="robot" body="base" prefix="A_"/>
<frame pos="{} 0 0"><attach model="robot" body="base" prefix="B_"/></frame>
</worldbody></mujoco>)",
                                 distance)));
    const DataPtr data = make_data(*scene.model);
    mj_forward(scene.model.get(), data.get());
    return passing_robots(*scene.model, *data);
  };
  const auto lines = told("", 0.005);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("robots A_base and B_base pass through each other"));
  CHECK(told("", 0.1).empty());
  CHECK(told("self_collision = true\n", 0.005).empty());
}

TEST_CASE("start: a base falls if nothing carries it, and only then", "[scene]") {
  const auto lines = warnings(kOnFreeBody);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("robot A_base: its base falls: body 'hand' has a free joint"));
  CHECK(warnings(kOnFreeBody, R"(gravity="0 0 0")").empty());
  CHECK(warnings(std::string(kOnFreeBody) + R"(<geom type="plane" size="1 1 1" pos="0 0 -1"/>)")
            .empty());
}
