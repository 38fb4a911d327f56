// Geoms of a scene as obstacles; the engine's own distances are the oracle.

#include "plugin/scene_obstacles.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tendril/model_error.hpp"
#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Isometry3d;
using Eigen::Vector3d;

namespace {

constexpr StraightBody kBody{.radius = 0.008, .length = 0.2};  // [m], of test_scenes.hpp
constexpr double kMargin = 0.002;                              // [m]
const SceneName kAll{"obstacles", ""};
constexpr double kDistanceTolerance = 2e-6;  // [m], of the engine's own search

/// One geom of every kind that can be an obstacle, about an arm along x; a small sphere to measure
/// with.
const char* const kGeoms = R"(
    <geom name="floor" type="plane" size="1 1 1" pos="0 0 -0.2" euler="5 -8 0"/>
    <geom name="sphere" type="sphere" size="0.03" pos="0.1 0.15 0.05"/>
    <geom name="capsule" type="capsule" size="0.01 0.05" pos="0.1 -0.1 0.1" euler="20 40 0"/>
    <geom name="cylinder" type="cylinder" size="0.02 0.04" pos="0.2 0.1 -0.05" euler="50 10 0"/>
    <geom name="box" type="box" size="0.02 0.03 0.04" pos="0.2 -0.1 -0.05" euler="10 20 30"/>
    <body name="carrier" mocap="true" pos="0.15 0 0.15" quat="0.9 0.3 0.1 0.2">
      <geom name="wedge" type="mesh" mesh="wedge" pos="0.01 0.02 0"/>
    </body>
    <body name="swing" pos="0.05 0.05 0.2"><joint type="hinge" axis="0 1 0"/>
      <geom name="pendulum" type="box" size="0.01 0.02 0.03" pos="0.05 0 0"/>
    </body>
    <geom name="ghost" type="box" size="0.3 0.3 0.3" pos="0 0 1" contype="0" conaffinity="0"/>
    <body name="probe" mocap="true"><geom name="probe" type="sphere" size="0.001" contype="0" conaffinity="0"/></body>
    <body name="target" mocap="true" pos="0.1 0 0.04"/>)";

std::string scene(const std::string& geoms, const std::string& assets = "") {
  return R"(<mujoco model="obstacles">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="arm" file="arm.toml"/>)" +
         assets + R"(
    <mesh name="wedge" vertex="0 0 0  0.05 0 0  0 0.04 0  0 0 0.06  0.02 0.02 0.03"/>
  </asset>
  <worldbody>
    <frame pos="0 0.01 0.02" euler="0 90 15"><attach model="arm" body="base" prefix="A_"/></frame>)" +
         geoms + "</worldbody></mujoco>";
}

ModelPtr load(const std::string& settings = "", const std::string& geoms = kGeoms) {
  load_tendril();
  return load_scene_text(scene(geoms), {{"arm.toml", reach_arm(settings)}});
}

int base_of(const ModelPtr& m) { return mj_name2id(m.get(), mjOBJ_BODY, "A_base"); }

std::string refusal(const std::string& settings, const std::string& geoms = kGeoms) {
  const ModelPtr model = load("", geoms);
  try {
    SceneObstacles(model.get(), base_of(model), {"obstacles", settings}, kBody, kMargin);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("scene obstacles: distances are those of the engine, wherever things have moved",
          "[plugin]") {
  const ModelPtr model = load();
  const DataPtr data = make_data(model);
  SceneObstacles scene_obstacles(model.get(), base_of(model), kAll, kBody, kMargin);
  const Obstacles& obstacles = scene_obstacles.obstacles();
  REQUIRE(obstacles.count() == 7);
  CHECK(scene_obstacles.moving_count() == 2);
  const int probe = mj_name2id(model.get(), mjOBJ_GEOM, "probe");
  const int probe_mocap = model->body_mocapid[model->geom_bodyid[probe]];
  const int carrier = model->body_mocapid[mj_name2id(model.get(), mjOBJ_BODY, "carrier")];
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    data->qpos[model->jnt_qposadr[model->njnt - 1]] = random.uniform(-1.0, 1.0);
    for (int k = 0; k < 3; ++k) {
      data->mocap_pos[3 * carrier + k] += random.uniform(-0.01, 0.01);
      data->mocap_pos[3 * probe_mocap + k] = random.uniform(-0.15, 0.25);
    }
    mj_kinematics(model.get(), data.get());
    AllocationCounter counter;
    scene_obstacles.refresh(data.get());
    REQUIRE(counter.count() == 0);
    const Eigen::Map<const Vector3d> p_WB(data->xpos + 3 * base_of(model)),
        p_WP(data->geom_xpos + 3 * probe);
    const Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> R_WB(data->xmat +
                                                                              9 * base_of(model));
    const Vector3d p_BP = R_WB.transpose() * (p_WP - p_WB);
    BodyArc point;
    point.start = p_BP;
    for (int o = 0; o < obstacles.count(); ++o) {
      const int geom = scene_obstacles.geom(o);
      CAPTURE(mj_id2name(model.get(), mjOBJ_GEOM, geom));
      const double expected =
          mj_geomDistance(model.get(), data.get(), geom, probe, 10.0, nullptr) + 0.001;
      if (expected < 0.002) continue;  // inside, the engine's penetration is not exact
      CHECK(obstacles.nearest_of(o, std::span(&point, 1)).distance ==
            Approx(expected).margin(kDistanceTolerance));
    }
  }
}

TEST_CASE("scene obstacles: names choose geoms and bodies", "[plugin]") {
  const ModelPtr model = load();
  const SceneObstacles some(model.get(), base_of(model), {"obstacles", " box carrier\tghost "},
                            kBody, kMargin);
  CHECK(some.obstacles().count() == 3);
  CHECK(some.moving_count() == 1);
  CHECK(std::string(mj_id2name(model.get(), mjOBJ_GEOM, some.geom(0))) == "wedge");
}

TEST_CASE("scene obstacles: what cannot be one is refused by name", "[plugin]") {
  CHECK(refusal("nothing") ==
        "obstacles = nothing: must be a geom or a body of the scene; there is none");
  CHECK(refusal("A_base") == "obstacles = A_base: is a part of the arm itself");
  CHECK(refusal("probe").empty());  // a geom by its name, even if nothing can touch it
  CHECK(refusal("target") == "obstacles = target: the body has no geom that the arm can touch");
  CHECK(refusal("", R"(<geom name="egg" type="ellipsoid" size="0.1 0.2 0.3" pos="1 0 0"/>
                       <body name="target" mocap="true"/>)")
            .empty());
}

TEST_CASE("scene obstacles: the straight arm has room where it leaves a geom at its base",
          "[plugin]") {
  const ModelPtr model = load("", R"(
    <geom name="mount" type="box" size="0.05 0.1 0.1"/>
    <geom name="wall" type="plane" size="1 1 1" euler="0 90 15"/>
    <geom name="hose" type="box" size="0.4 0.05 0.05"/>
    <body name="target" mocap="true"/>)");
  const SceneObstacles obstacles(model.get(), base_of(model), kAll, kBody, kMargin);
  CHECK(obstacles.left_out() == "geom hose");
  REQUIRE(obstacles.obstacles().count() == 2);
  REQUIRE(obstacles.solids().size() == 2);
  const BodyArc straight{.length = kBody.length};
  BodyArc back = straight;
  back.curvature = 4.0 / back.length;  // into mount and wall
  const auto clearance = [&](int i, const BodyArc& arc) {
    return obstacles.obstacles().nearest_of(i, std::span(&arc, 1)).distance - kBody.radius;
  };
  for (const int i : {0, 1}) {
    CAPTURE(SceneObstacles::name_of(model.get(), obstacles.geom(i)));
    CHECK(clearance(i, straight) >= kMargin - 1e-6);
    CHECK(clearance(i, back) < 0.0);
  }
}

TEST_CASE("scene obstacles: a mesh that is not closed is refused in one line", "[plugin]") {
  load_tendril();
  // Visual meshes have no hull: the mesh itself counts.
  const std::string open =
      scene(R"(<geom name="sheet" type="mesh" mesh="open" contype="0"
      conaffinity="0" pos="0.3 0 0"/><body name="target" mocap="true"/>)",
            R"(<mesh name="open" inertia="shell" vertex="0 0 0  0.05 0 0  0 0.04 0  0 0 0.06"
      face="0 2 1  0 1 3  1 2 3"/>)");
  const ModelPtr model = load_scene_text(open, {{"arm.toml", reach_arm()}});
  REQUIRE(model->mesh_graphadr[model->geom_dataid[mj_name2id(model.get(), mjOBJ_GEOM, "sheet")]] <
          0);
  CHECK_THROWS_WITH(
      SceneObstacles(model.get(), base_of(model), {"obstacles", "sheet"}, kBody, kMargin),
      Catch::Contains("obstacles: geom sheet: ") && Catch::Contains("the mesh is not closed"));
}

TEST_CASE("plugin: with avoidance a copy continues bit for bit while an obstacle moves",
          "[plugin]") {
  const std::string geoms = R"(<geom type="cylinder" size="0.01 0.1" pos="0.06 0.04 0"/>
    <body name="visitor" mocap="true" pos="0.05 -0.1 0"><geom type="sphere" size="0.015"/></body>
    <body name="target" mocap="true" pos="0.1 0.04 0.03"/>)";
  const ModelPtr model = load("avoidance = true\nrate_limit = 2\n", geoms);
  const int visitor = model->body_mocapid[mj_name2id(model.get(), mjOBJ_BODY, "visitor")];
  const auto go_on = [&](const DataPtr& data, int from, int to) {
    for (int k = from; k < to; ++k) {
      data->mocap_pos[3 * visitor + 1] = -0.1 + 0.0002 * k;
      mj_step(model.get(), data.get());
    }
  };
  const DataPtr data = make_data(model), restored = make_data(model);
  go_on(data, 0, 150);
  const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
  go_on(restored, 0, 77);
  mj_setState(model.get(), restored.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  go_on(data, 150, 350);
  go_on(copy, 150, 350);
  go_on(restored, 150, 350);
  CHECK(same_bits(full_state(model, data), full_state(model, copy)));
  CHECK(same_bits(full_state(model, data), full_state(model, restored)));
  CHECK(data->ncon == 0);
  AllocationCounter counter;
  go_on(data, 350, 360);
  CHECK(counter.count() == 0);
}

TEST_CASE("scene obstacles: as plain solids they are the same geoms in the same places",
          "[plugin]") {
  const ModelPtr model = load();
  const SceneObstacles obstacles(model.get(), base_of(model), kAll, kBody, kMargin);
  const std::vector<Solid> solids = scene_solids(model.get(), base_of(model), kAll);
  REQUIRE(static_cast<int>(solids.size()) == obstacles.obstacles().count());
  for (int i = 0; i < obstacles.obstacles().count(); ++i) {
    const std::string name = SceneObstacles::name_of(model.get(), obstacles.geom(i));
    CAPTURE(name);
    const auto same = std::find_if(solids.begin(), solids.end(),
                                   [&](const Solid& solid) { return solid.name == name; });
    REQUIRE(same != solids.end());
    CHECK(same->X_BO.isApprox(obstacles.obstacles().pose(i), 1e-9));
    CHECK((same->kind == Solid::Kind::Hull) == !same->triangles.empty());
  }
  CHECK(scene_solids(model.get(), base_of(model), {"obstacles", "box capsule"}).size() == 2);
  CHECK_THROWS_WITH(scene_solids(model.get(), base_of(model), {"obstacles", "nowhere"}),
                    Catch::Contains("obstacles = nowhere: must be a geom or a body of the scene"));
}
