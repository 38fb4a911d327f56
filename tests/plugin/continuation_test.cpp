// Saving, copying, restoring and batching: the plugin must continue as if nothing had happened.

#include <mujoco/mjbatch.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>

#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril::test;

namespace {

/// Moves the target on a circle, as a user would; a function of the step alone.
void move_target(const ModelPtr& model, mjData* data, int k) {
  const int body = mj_name2id(model.get(), mjOBJ_BODY, "target");
  mjtNum* p = data->mocap_pos + 3 * model->body_mocapid[body];
  const double a = 0.004 * k;
  p[1] = 0.3 + 0.02 * std::sin(a);
  p[2] = 0.04 + 0.01 * std::cos(a);
}

/// Two scenes continue in step, bitwise identical.
void check_same_future(const ModelPtr& model, const DataPtr& a, const DataPtr& b, int first,
                       int steps) {
  REQUIRE(same_bits(full_state(model, a), full_state(model, b)));
  int differ_at = -1;
  for (int k = first; k < first + steps && differ_at < 0; ++k) {
    move_target(model, a.get(), k);
    move_target(model, b.get(), k);
    mj_step(model.get(), a.get());
    mj_step(model.get(), b.get());
    if (!same_bits(full_state(model, a), full_state(model, b))) differ_at = k;
  }
  CHECK(differ_at == -1);
}

DataPtr run_into_contact(const ModelPtr& model) {
  DataPtr data = make_data(model);
  for (int k = 0; k < kStepsToContact; ++k) {
    move_target(model, data.get(), k);
    mj_step(model.get(), data.get());
  }
  const int post = mj_name2id(model.get(), mjOBJ_GEOM, "post");
  const bool touches = std::any_of(
      data->contact, data->contact + data->ncon,
      [&](const mjContact& c) { return (c.geom[0] == post || c.geom[1] == post) && c.dist < 0.0; });
  REQUIRE(touches);
  return data;
}

}  // namespace

TEST_CASE("plugin: two arms under different prefixes each do their own task", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = make_data(model);
  step(model, data, 1200);
  CHECK(sensor(model, data, "R_status")[0] == 0.0);
  CHECK(sensor(model, data, "R_tip_error")[0] < 1e-4);
  CHECK(sensor(model, data, "F_status")[0] == 1.0);  // finished
  CHECK(sensor(model, data, "F_progress")[0] == Approx(1.0));

  // Another target moves one arm only.
  const DataPtr other = make_data(model);
  other->mocap_pos[2] = 0.02;
  step(model, other, 1200);
  CHECK(sensor(model, other, "R_measured") != sensor(model, data, "R_measured"));
  // The contact solver treats both arms together: its rounding is all they share.
  const auto command = sensor(model, data, "F_command"),
             other_command = sensor(model, other, "F_command");
  for (std::size_t i = 0; i < command.size(); ++i)
    CHECK(other_command[i] == Approx(command[i]).margin(1e-9));
}

TEST_CASE("plugin: a copy continues bit for bit out of contact", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = run_into_contact(model);
  SECTION("a new mjData") {
    const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
    check_same_future(model, data, copy, kStepsToContact, 300);
  }
  SECTION("an mjData with another past") {
    const DataPtr copy = make_data(model);
    step(model, copy, 123);
    mj_copyData(copy.get(), model.get(), data.get());
    check_same_future(model, data, copy, kStepsToContact, 300);
  }
}

TEST_CASE("plugin: a restored state continues bit for bit in another mjData", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = run_into_contact(model);
  const DataPtr other = make_data(model);
  step(model, other, 77);
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  check_same_future(model, data, other, kStepsToContact, 300);
}

TEST_CASE("plugin: an mjData with the plugin_data of another one continues bit for bit",
          "[plugin]") {
  // What unpickling in Python leaves: everything is that of another mjData, perhaps of another
  // process.
  const ModelPtr model = load_two_arms();
  DataPtr data = run_into_contact(model);
  const DataPtr other = make_data(model), reference = make_data(model);
  step(model, other, 77);
  for (mjData* to : {other.get(), reference.get()})
    mj_setState(model.get(), to, full_state(model, data).data(), mjSTATE_INTEGRATION);
  const std::span<uintptr_t> numbers(other->plugin_data, static_cast<std::size_t>(model->nplugin));
  SECTION("one that lives") {
    std::copy_n(data->plugin_data, numbers.size(), numbers.begin());
    check_same_future(model, data, other, kStepsToContact, 300);
    CHECK(numbers[0] != data->plugin_data[0]);
  }
  SECTION("one that is gone") {
    std::copy_n(data->plugin_data, numbers.size(), numbers.begin());
    data.reset();
    check_same_future(model, reference, other, kStepsToContact, 300);
  }
  SECTION("an address, or a number that was never given") {
    numbers[0] = reinterpret_cast<uintptr_t>(model.get());
    numbers[1] = 123456;
    check_same_future(model, reference, other, kStepsToContact, 300);
  }
  SECTION("its sensors keep their values until it has computed") {
    const std::vector<mjtNum> before(data->sensordata, data->sensordata + model->nsensordata);
    std::copy(before.begin(), before.end(), other->sensordata);
    std::copy_n(data->plugin_data, numbers.size(), numbers.begin());
    mj_sensorVel(model.get(), other.get());
    for (int i = 0; i < model->nsensor; ++i) {
      if (model->sensor_type[i] != mjSENS_PLUGIN) continue;
      const int at = model->sensor_adr[i];
      // Of the bits: unknown values are NaN.
      CHECK(std::bit_cast<std::uint64_t>(other->sensordata[at]) ==
            std::bit_cast<std::uint64_t>(before[static_cast<std::size_t>(at)]));
    }
  }
  SECTION("and starts over by a reset, which leaves the other one alone") {
    std::copy_n(data->plugin_data, numbers.size(), numbers.begin());
    mj_resetData(model.get(), other.get());
    check_same_future(model, other, make_data(model), 0, kStepsToContact);
    const DataPtr same = run_into_contact(model);
    check_same_future(model, data, same, kStepsToContact, 100);
  }
  SECTION("and is copied") {
    std::copy_n(data->plugin_data, numbers.size(), numbers.begin());
    const DataPtr copy(mj_copyData(nullptr, model.get(), other.get()));
    check_same_future(model, data, copy, kStepsToContact, 300);
  }
}

TEST_CASE("plugin: what is destroyed is destroyed once", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = run_into_contact(model), other = make_data(model);
  const mjpPlugin* const plugin = mjp_getPluginAtSlot(model->plugin[0]);
  std::copy_n(data->plugin_data, model->nplugin, other->plugin_data);
  plugin->destroy(other.get(), 0);
  plugin->destroy(other.get(), 0);
  const DataPtr same = run_into_contact(model);
  check_same_future(model, data, same, kStepsToContact, 100);
}

TEST_CASE("plugin: a model saved as MJB and loaded gives the same motion", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const std::string file =
      (std::filesystem::temp_directory_path() / "tendril_plugin_test.mjb").string();
  mj_saveModel(model.get(), file.c_str(), nullptr, 0);
  const ModelPtr loaded(mj_loadModel(file.c_str(), nullptr));
  std::filesystem::remove(file);
  REQUIRE(loaded);
  const DataPtr a = make_data(model), b = make_data(loaded);
  step(model, a, kStepsToContact);
  step(loaded, b, kStepsToContact);
  CHECK(same_bits(full_state(model, a), full_state(loaded, b)));
}

TEST_CASE("plugin: step1 and step2 are one step", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr a = make_data(model), b = make_data(model);
  step(model, a, kStepsToContact);
  for (int k = 0; k < kStepsToContact; ++k) {
    mj_step1(model.get(), b.get());
    mj_step2(model.get(), b.get());
  }
  CHECK(same_bits(full_state(model, a), full_state(model, b)));
}

TEST_CASE("plugin: mj_forward moves no plugin state and changes no future", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = run_into_contact(model), again = run_into_contact(model);
  const std::vector<mjtNum> before(data->plugin_state, data->plugin_state + model->npluginstate);
  mj_forward(model.get(), data.get());
  mj_forward(model.get(), data.get());
  CHECK(same_bits(before, {data->plugin_state, data->plugin_state + model->npluginstate}));
  // The solver's warm start is refined by a forward pass, and ctrl is already the next one: set
  // both back and what is left is the plugin.
  std::copy_n(again->qacc_warmstart, model->nv, data->qacc_warmstart);
  std::copy_n(again->ctrl, model->nu, data->ctrl);
  check_same_future(model, data, again, kStepsToContact, 100);
}

TEST_CASE("plugin: a reset starts over", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = run_into_contact(model), fresh = make_data(model);
  mj_resetData(model.get(), data.get());
  check_same_future(model, data, fresh, 0, kStepsToContact);
}

TEST_CASE("plugin: a batch on two threads without own mjData equals serial runs bit for bit",
          "[plugin]") {
  const ModelPtr model = load_two_arms();
  constexpr int kSimulations = 5, kChunks = 10, kChunk = 60;
  const auto start = [&](mjtNum* target, int i) {
    target[0] = 0.1;
    target[1] = 0.3 + 0.01 * i;
    target[2] = 0.04 - 0.008 * i;
  };

  std::array<char, 500> error{};
  mjBatchConfig config;
  mjb_defaultConfig(&config);
  config.nthread = 2;
  config.persistent = 0;
  const std::unique_ptr<mjBatch, void (*)(mjBatch*)> batch(
      mjb_makeBatch(model.get(), kSimulations, &config, error.data(), error.size()),
      mjb_deleteBatch);
  INFO(error.data());
  REQUIRE(batch);
  REQUIRE(mjb_nthread(batch.get()) == 2);
  REQUIRE(mjb_persistent(batch.get()) == 0);
  const auto row = static_cast<std::size_t>(mjb_nstate(batch.get()));
  mjtNum* targets = mjb_stateComponent(batch.get(), mjSTATE_MOCAP_POS, nullptr);
  for (int i = 0; i < kSimulations; ++i) start(targets + static_cast<std::size_t>(i) * row, i);
  // In chunks, so that the threads change between simulations.
  for (int c = 0; c < kChunks; ++c)
    REQUIRE(mjb_step(batch.get(), nullptr, 0, kChunk, mjSTAGE_NONE) == 0);

  for (int i = 0; i < kSimulations; ++i) {
    CAPTURE(i);
    const DataPtr data = make_data(model);
    start(data->mocap_pos, i);
    step(model, data, kChunks * kChunk);
    const mjtNum* state = mjb_state(batch.get()) + static_cast<std::size_t>(i) * row;
    CHECK(same_bits(full_state(model, data), {state, state + row}));
  }
}

TEST_CASE("plugin: a step allocates nothing", "[plugin]") {
  const ModelPtr model = load_two_arms();
  const DataPtr data = make_data(model);
  step(model, data, 50);
  AllocationCounter counter;
  step(model, data, 1000);
  CHECK(counter.count() == 0);
}
