// What an engine state says is not trusted: mj_setState, a damaged recording or another version's
// file may put anything into plugin_state. Sanitized builds show what would be read out of bounds.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "tests/plugin/test_scenes.hpp"
#include "tests/support/random_memory.hpp"

using namespace tendril::test;

namespace {

/// All controllers of the library, in all their modes.
const char* scene_file() { return GENERATE(from_range(kControllerScenes)); }

void draw(const ModelPtr& model, const DataPtr& data) {
  mjvScene scene;
  mjv_defaultScene(&scene);
  mjv_makeScene(model.get(), &scene, 500);
  mjvOption option;
  mjv_defaultOption(&option);
  mjvCamera camera;
  mjv_defaultFreeCamera(model.get(), &camera);
  mjv_updateScene(model.get(), data.get(), &option, nullptr, &camera, mjCAT_ALL, &scene);
  mjv_freeScene(&scene);
}

bool any_fault(const ModelPtr& model, const DataPtr& data) {
  for (int i = 0; i < model->nsensor; ++i) {
    const std::string name = mj_id2name(model.get(), mjOBJ_SENSOR, i);
    if (name.ends_with("status") && data->sensordata[model->sensor_adr[i]] == 5.0) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("plugin: numbers that no controller writes are a fault, whichever they are", "[plugin]") {
  const char* const file = scene_file();
  CAPTURE(file);
  const ModelPtr model = load_file(file);
  const DataPtr data = make_data(model);
  step(model, data, 5);
  const std::vector<mjtNum> good = full_state(model, data);
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  CAPTURE(bad);
  const mjtSize stride = 1 + model->npluginstate / 40;
  for (mjtSize i = 0; i < model->npluginstate; i += stride) {
    CAPTURE(i);
    mj_setState(model.get(), data.get(), good.data(), mjSTATE_INTEGRATION);
    data->plugin_state[i] = bad;
    draw(model, data);
    mj_step(model.get(), data.get());
    CHECK(any_fault(model, data));
    CHECK(std::isfinite(data->qacc[0]));
  }
  EngineWarnings::take();
}

TEST_CASE("plugin: a foreign state is a fault or is worked with, and does no harm", "[plugin]") {
  const char* const file = scene_file();
  CAPTURE(file);
  const ModelPtr model = load_file(file);
  const DataPtr data = make_data(model);
  step(model, data, 5);
  const std::vector<mjtNum> good = full_state(model, data);
  const std::span<double> memory(data->plugin_state, static_cast<std::size_t>(model->npluginstate));
  const unsigned seed = GENERATE(range(0u, 6u));
  Random random(seed);
  for (const double fraction : {0.002, 0.05, 1.0}) {
    mj_setState(model.get(), data.get(), good.data(), mjSTATE_INTEGRATION);
    if (seed % 2 == 0) {
      damage(random, memory, fraction);
    } else {  // finite numbers, large and small
      for (double& number : memory)
        if (random.uniform(0.0, 1.0) < fraction)
          number = random.integer(0, 1) == 0 ? random.integer(-2, 100000)
                                             : std::pow(10.0, random.uniform(-9.0, 9.0));
    }
    draw(model, data);
    step(model, data, 2);
    draw(model, data);
  }
  EngineWarnings::take();
}

TEST_CASE("plugin: a state is copied into data whose instance could not be made", "[plugin]") {
  // mj_copyData calls the plugin with whatever both sides have.
  const ModelPtr model = load_two_arms();
  const DataPtr good = make_data(model), empty = make_data(model);
  const auto instance = [&](const DataPtr& data) -> uintptr_t& { return data->plugin_data[0]; };
  const mjpPlugin* const plugin = mjp_getPluginAtSlot(model->plugin[0]);
  const uintptr_t kept = instance(empty);
  instance(empty) = 0;
  plugin->copy(empty.get(), model.get(), good.get(), 0);
  plugin->copy(good.get(), model.get(), empty.get(), 0);
  plugin->compute(model.get(), empty.get(), 0, mjPLUGIN_PASSIVE);
  plugin->advance(model.get(), empty.get(), 0);
  plugin->reset(model.get(), empty->plugin_state, nullptr, 0);
  CHECK(instance(empty) == 0);
  instance(empty) = kept;
}
