// Meshes whose convex hull fills them are named when a scene is loaded.

#include "simulation/scene/filled_meshes.hpp"

#include <fmt/format.h>

#include <algorithm>
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

/// Notices about filled meshes of a scene with these assets and geoms.
std::vector<std::string> notices(const std::string& mesh, const std::string& geom) {
  const TemporaryFolder folder;
  folder.write("arm.toml", kArm);
  std::vector<std::string> lines =
      load_scene(folder.write("scene.xml", fmt::format(
                                               R"(<mujoco><option integrator="discrete"
cone="elliptic" impratio="10" iterations="100"/><asset><model name="robot" file="arm.toml"/>
<mesh name="m" {}/></asset><worldbody><attach model="robot" body="base" prefix="A_"/>
<body name="part" pos="1 0 0"><geom name="g" type="mesh" mesh="m" {}/></body></worldbody></mujoco>)",
                                               mesh, geom)))
          .notices;
  std::erase_if(lines, [](const std::string& line) {
    return line.find("[mesh-filled]") == std::string::npos;
  });
  return lines;
}

constexpr const char* kCorners =
    "vertex=\"0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1\" inertia=\"shell\" ";
constexpr const char* kSides = "0 2 1 1 2 3 0 1 4 1 5 4 2 6 3 3 6 7 0 4 2 2 4 6 1 3 5 3 7 5";
/// A wedge with a notch: a prism over the quadrilateral (0,0) (1,1) (0, 0.3) (-1, 1).
constexpr const char* kNotched =
    "vertex=\"0 0 0 1 1 0 0 .3 0 -1 1 0 0 0 1 1 1 1 0 .3 1 -1 1 1\" face=\"0 2 1 0 3 2 4 5 6 4 6 "
    "7 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7\"";

}  // namespace

TEST_CASE("filled mesh: a hollow or open mesh is named with the part of its hull that it encloses",
          "[scene]") {
  const auto notched = notices(kNotched, "");
  REQUIRE(notched.size() == 1);
  CHECK_THAT(notched[0], Contains("geom g: collides as the convex hull of its mesh 'm'") &&
                             Contains("encloses only 30 % of it"));
  const auto open = notices(fmt::format("{}face=\"{}\"", kCorners, kSides), "");
  REQUIRE(open.size() == 1);
  CHECK_THAT(open[0], Contains("encloses only 83 % of it"));  // five of six sides
}

TEST_CASE("filled mesh: one that is convex, or that no robot can touch, is not named", "[scene]") {
  CHECK(notices(fmt::format("{}face=\"{} 4 5 6 5 7 6\"", kCorners, kSides), "").empty());
  CHECK(notices(kCorners, "").empty());
  CHECK(notices(kNotched, "contype=\"0\" conaffinity=\"0\"").empty());
}
