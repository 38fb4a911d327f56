// A controller that fails must not take the program with it. Also: custom controllers bind to
// the engine through tendril::plugin_host, here inside this executable.

#include <mujoco/mjbatch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "plugin/controller_plugin.hpp"
#include "tests/plugin/test_scenes.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

/// Bends section 1 slowly, and fails when the target is more than 150 mm along the base axis.
class FailingController : public ArmController {
 public:
  enum class Failure { Exception, OtherException, NotFinite };

  static std::span<const SettingInfo> settings() {
    static constexpr SettingInfo kSettings[] = {
        setting::body_name("target", "target", "a mocap body"),
        setting::choice("failure", "exception other nan", "what happens")};
    return kSettings;
  }
  static constexpr Quantity kQuantities[] = {quantity::kProgress};

  explicit FailingController(const ArmContext& context)
      : failure_(context.settings.choice<Failure>("failure")), time_(memory_.number()) {
    context.scene.measure_target("target");
  }
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) override {
    const double time = time_(memory) + measurement.timestep;
    time_(next_memory) = time;
    command.q[0] = std::min(0.3, time);
    report.progress = time;
    if (measurement.X_BG.translation().z() < 0.15) return;
    if (failure_ == Failure::Exception) throw std::runtime_error("lost the way");
    if (failure_ == Failure::OtherException) throw 42;
    command.q_rate[1] = std::numeric_limits<double>::quiet_NaN();
  }

 private:
  Failure failure_;
  Slot<double> time_;
};

ModelPtr load_failing(const std::string& failure) {
  [[maybe_unused]] static const bool registered = [] {
    load_tendril();
    register_controller<FailingController>("test.failing");
    return true;
  }();
  return load_one_arm("kind = \"continuum\"\n" + small_sections() +
                      "[controller]\nplugin = \"test.failing\"\nfailure = \"" + failure + "\"\n");
}

constexpr double kGood = 0.1, kBad = 0.2;

void place_target(mjData* data, double x) { data->mocap_pos[0] = x; }

std::vector<mjtNum> controls(const ModelPtr& model, const DataPtr& data) {
  return {data->ctrl, data->ctrl + model->nu};
}

}  // namespace

TEST_CASE("plugin: a failing controller is reported once, and its arm held", "[plugin]") {
  struct Case {
    std::string failure, message;
  };
  const auto c = GENERATE(values<Case>({{"exception", "lost the way"},
                                        {"other", "unknown error"},
                                        {"nan", "the controller's command is not finite"}}));
  CAPTURE(c.failure);
  const ModelPtr model = load_failing(c.failure);
  const DataPtr data = make_data(model);
  EngineWarnings::take();
  step(model, data, 100);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  CHECK(EngineWarnings::take().empty());

  place_target(data.get(), kBad);
  const auto held = controls(model, data);
  step(model, data, 1);
  const double progress = data->plugin_state[0];
  step(model, data, 200);
  CHECK(sensor(model, data, "A_status")[0] == 5.0);
  CHECK(controls(model, data) == held);
  CHECK(data->plugin_state[0] == progress);
  CHECK(std::isfinite(sensor(model, data, "A_command")[0]));
  const auto warnings = EngineWarnings::take();
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("test.failing, instance 'A_controller': " + c.message));

  // The fault lasts, also with a good target, until a reset.
  place_target(data.get(), kGood);
  step(model, data, 10);
  CHECK(sensor(model, data, "A_status")[0] == 5.0);
  mj_resetData(model.get(), data.get());
  step(model, data, 10);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
}

TEST_CASE("plugin: a fault is part of the state", "[plugin]") {
  const ModelPtr model = load_failing("exception");
  const DataPtr data = make_data(model), other = make_data(model);
  step(model, data, 100);
  const auto good = full_state(model, data);
  place_target(data.get(), kBad);
  step(model, data, 10);
  place_target(data.get(), kGood);
  const auto bad = full_state(model, data);

  mj_setState(model.get(), other.get(), bad.data(), mjSTATE_INTEGRATION);
  step(model, other, 1);
  CHECK(sensor(model, other, "A_status")[0] == 5.0);

  mj_setState(model.get(), data.get(), good.data(), mjSTATE_INTEGRATION);
  step(model, data, 1);
  CHECK(sensor(model, data, "A_status")[0] == 0.0);
  EngineWarnings::take();
}

TEST_CASE("plugin: in a batch a fault remains in its simulation", "[plugin]") {
  const ModelPtr model = load_failing("exception");
  mjBatchConfig config;
  mjb_defaultConfig(&config);
  config.nthread = 2;
  config.persistent = 0;
  const std::unique_ptr<mjBatch, void (*)(mjBatch*)> batch(
      mjb_makeBatch(model.get(), 4, &config, nullptr, 0), mjb_deleteBatch);
  REQUIRE(batch);
  const auto row = static_cast<std::size_t>(mjb_nstate(batch.get()));
  mjtNum* targets = mjb_stateComponent(batch.get(), mjSTATE_MOCAP_POS, nullptr);
  mjtNum* memories = mjb_stateComponent(batch.get(), mjSTATE_PLUGIN, nullptr);
  targets[row] = targets[3 * row] = kBad;
  CHECK(mjb_step(batch.get(), nullptr, 0, 20, mjSTAGE_NONE) == 0);
  targets[row] = targets[3 * row] = kGood;
  CHECK(mjb_step(batch.get(), nullptr, 0, 20, mjSTAGE_NONE) == 0);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(memories[i * row] == Approx(i % 2 ? 0.0 : 40 * 0.002));
  }
  EngineWarnings::take();
}
