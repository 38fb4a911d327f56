#include "rendering/shadow_volume.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "rendering/offscreen.hpp"
#include "simulation/scene/scene.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::Random;
using tendril::test::TemporaryFolder;

namespace {

constexpr const char* kScene = R"(<mujoco><statistic center="0 0 0" extent="10"/>
  <option gravity="0 0 0"/><worldbody>
  <light name="sun" type="directional" dir="0.3 0.4 -0.9"/>
  <light name="lamp" type="spot" pos="0 0 3" dir="0 0 -1"/>
  <geom name="floor" type="plane" size="0 0 1"/>
  <geom name="post" type="cylinder" pos="0.5 0.2 0.3" size="0.05 0.3"/>
  <geom name="unseen" type="sphere" size="9" group="4"/>
  <body name="ball" pos="0 0 0.5"><freejoint/><geom name="ball" type="box" size="0.1 0.2 0.05"/></body>
  </worldbody></mujoco>)";

struct Lit {
  mjvScene scene;
  mjrContext context;

  Lit(const mjModel& model, mjData& data, const ShadowVolume& volume) {
    mjv_defaultScene(&scene);
    mjv_makeScene(&model, &scene, 100);
    mjr_defaultContext(&context);
    mjvOption options = image_options();
    mjvCamera camera = image_camera(model);
    mjv_updateScene(&model, &data, &options, nullptr, &camera, mjCAT_ALL, &scene);
    volume.aim(model, scene, context);
  }
  ~Lit() { mjv_freeScene(&scene); }
  Lit(const Lit&) = delete;
  Lit& operator=(const Lit&) = delete;
};

}  // namespace

TEST_CASE(
    "shadow volume: directional lights have all that throws shadows in their map and before them",
    "[view]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const TemporaryFolder folder;
  const Scene scene = load_scene(folder.write("scene.xml", kScene));
  const mjModel& model = *scene.model;
  const DataPtr data = make_data(model);
  ShadowVolume volume;
  CHECK(volume.empty());
  const Eigen::Vector3d velocity = random.unit_vector();
  int grown = 0;
  double radius = 0.0;
  for (int step = 0; step < 50; ++step) {
    for (int i = 0; i < 3; ++i) data->qpos[i] = 0.05 * step * velocity[i];
    mj_forward(&model, data.get());
    volume.add(model, *data);
    grown += volume.radius() > radius ? 1 : 0;
    radius = volume.radius();
    const Lit lit(model, *data, volume);
    const mjvLight& sun = *std::find_if(  // the headlight throws no shadows
        lit.scene.lights, lit.scene.lights + lit.scene.nlight, [](const mjvLight& light) {
          return light.type == mjLIGHT_DIRECTIONAL && light.castshadow != 0;
        });
    REQUIRE(&sun != lit.scene.lights + lit.scene.nlight);
    const Eigen::Vector3d from(sun.pos[0], sun.pos[1], sun.pos[2]);
    const Eigen::Vector3d along = Eigen::Vector3d(sun.dir[0], sun.dir[1], sun.dir[2]).normalized();
    for (const char* const name : {"post", "ball"}) {
      const int geom = mj_name2id(&model, mjOBJ_GEOM, name);
      const Eigen::Vector3d center(data->geom_xpos + 3 * geom);
      const double away = (center - from).dot(along);
      CHECK(away > 0.0);
      CHECK((center - from - away * along).norm() <= lit.context.shadowClip);
    }
    // The unseen geom and the floor do not count.
    CHECK(lit.context.shadowClip < 5.0);
  }
  CHECK(grown >= 2);  // the body flies 2.5 m away
  CHECK(grown <= 12);
}

TEST_CASE("shadow volume: spots stay, and so does a map that the model wants far smaller",
          "[view]") {
  const TemporaryFolder folder;
  std::string text = kScene;
  const Scene scene = load_scene(folder.write("scene.xml", text));
  mjModel& model = *scene.model;
  const DataPtr data = make_data(model);
  mj_forward(&model, data.get());
  ShadowVolume volume;
  const Lit without(model, *data, volume);
  volume.add(model, *data);
  const Lit with(model, *data, volume);
  REQUIRE(without.scene.nlight == with.scene.nlight);
  for (int i = 0; i < with.scene.nlight; ++i) {
    const bool moved = !std::equal(with.scene.lights[i].pos, with.scene.lights[i].pos + 3,
                                   without.scene.lights[i].pos);
    CHECK(moved == (with.scene.lights[i].type == mjLIGHT_DIRECTIONAL &&
                    with.scene.lights[i].castshadow != 0));
  }
  CHECK(without.context.shadowClip == Approx(10.0 * model.vis.map.shadowclip));
  model.vis.map.shadowclip = 0.005F;
  const Lit small(model, *data, volume);
  CHECK(small.context.shadowClip == Approx(0.05));
}
