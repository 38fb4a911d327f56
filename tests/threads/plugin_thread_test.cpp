// Data races show in the preset `tsan`. The engine is not instrumented.

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/plugin/test_scenes.hpp"
#include "tests/threads/at_once.hpp"

using namespace tendril::test;

namespace {

ModelPtr load_arms(std::string& error) {
  return try_load_scene(two_arm_scene(),
                        {{"reach.toml", reach_arm()}, {"follow.toml", follow_arm()}}, error);
}

/// The state of a simulation with its own target after some steps.
std::vector<mjtNum> future(const ModelPtr& model, int i) {
  const DataPtr data(mj_makeData(model.get()));
  data->mocap_pos[2] += 0.005 * i;
  step(model, data, 100);
  return full_state(model, data);
}

}  // namespace

TEST_CASE("threads: simulations of one model", "[threads]") {
  const ModelPtr model = load_two_arms();
  std::array<std::vector<mjtNum>, kThreads> together;
  at_once([&](int i) { together[static_cast<std::size_t>(i)] = future(model, i); });
  for (int i = 0; i < kThreads; ++i)
    CHECK(same_bits(together[static_cast<std::size_t>(i)], future(model, i)));
}

TEST_CASE("threads: a scene is loaded, run and freed on each", "[threads]") {
  load_tendril();
  std::array<std::vector<mjtNum>, kThreads> together;
  std::array<std::string, kThreads> errors;
  at_once([&](int i) {
    const auto k = static_cast<std::size_t>(i);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const ModelPtr model = load_arms(errors[k]);
      if (!model) return;
      together[k] = future(model, i);
    }
  });
  for (const std::string& error : errors) CHECK(error.empty());
  const ModelPtr model = load_two_arms();
  for (int i = 0; i < kThreads; ++i)
    CHECK(same_bits(together[static_cast<std::size_t>(i)], future(model, i)));
}
