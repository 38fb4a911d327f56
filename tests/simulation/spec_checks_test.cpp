// Angles and keyframes of a scene as they are written.

#include "simulation/scene/spec_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "simulation/engine/angle_units.hpp"
#include "simulation/scene/scene.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril::simulation;
using Catch::Contains;
using tendril::test::TemporaryFolder;

namespace {

std::vector<std::string> notices(const std::string& head, const std::string& body,
                                 const std::string& tail = "") {
  const TemporaryFolder folder;
  Scene scene = load_scene(folder.write(
      "scene.xml",
      fmt::format("<mujoco>{}<worldbody>{}</worldbody>{}</mujoco>", head, body, tail)));
  return scene.notices;
}

std::string swing(const std::string& attributes) {
  return fmt::format(R"(<body name="arm" {}><joint name="j"/><geom size="0.1"/></body>)",
                     attributes);
}

}  // namespace

TEST_CASE("angles: those of another unit than the compiler's are reported", "[scene]") {
  const std::string radian = R"(<compiler angle="radian"/>)";
  const auto in_radian = notices(radian, swing(R"(euler="0 90 0")"));
  REQUIRE(in_radian.size() == 1);
  CHECK_THAT(in_radian[0], Contains("body arm: euler = 0 90 0 in rad, more than a turn"));
  const auto in_degrees = notices("", swing(R"(axisangle="0 0 1 1.5708")"));
  REQUIRE(in_degrees.size() == 1);
  CHECK_THAT(in_degrees[0], Contains("axisangle = 1.5708 in degrees, parts of pi"));
  CHECK(notices(radian, swing(R"(euler="0 1.5708 0")")).empty());
  CHECK(notices("", swing(R"(euler="0 90 2.5")")).empty());
}

TEST_CASE("angles: parts of pi look like radians, round numbers do not", "[scene]") {
  const auto look = [](std::vector<double> angles) { return look_like_radians(angles); };
  CHECK(look({0.0, 1.5708, 0.0}));
  CHECK(look({0.785, -3.14159}));
  CHECK(look({6.2832}));
  for (const double round : {0.5, 1.0, 2.0, 2.5, 5.5, 10.0, 45.0, 90.0, 0.01})
    CHECK(!look({round}));
  CHECK(!look({0.0, 0.0}));
  CHECK(!look({1.5708, 90.0}));
}

TEST_CASE("keyframes: other counts than the model's are reported, and refused as a start",
          "[scene]") {
  const TemporaryFolder folder;
  folder.write(
      "arm.toml",
      "kind = \"continuum\"\n[[section]]\nconstant_length = 0.2\nbend_limit = 2\nlinks = 4\n");
  const Scene scene = load_scene(folder.write("scene.xml", R"(<mujoco>
<option integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<asset><model name="robot" file="arm.toml"/></asset><worldbody>
<attach model="robot" body="base" prefix="A_"/>
<body pos="1 0 0"><freejoint/><geom size="0.1"/></body></worldbody>
<keyframe><key name="short" qpos="1 0 0 1 0 0 0"/><key name="none" time="1"/></keyframe></mujoco>)"));
  REQUIRE(scene.unlike_keyframes.size() == 1);
  CHECK_THAT(scene.unlike_keyframes.at("short"),
             Contains(fmt::format("qpos has 7 numbers, the model {}", scene.model->nq)));
  CHECK(std::any_of(scene.notices.begin(), scene.notices.end(), [](const std::string& line) {
    return line.find("keyframe short") != line.npos;
  }));
}
