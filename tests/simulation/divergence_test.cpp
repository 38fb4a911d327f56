#include "simulation/engine/divergence.hpp"

#include <catch2/catch.hpp>

#include "simulation/engine/engine_log.hpp"
#include "simulation/scene/scene.hpp"

using namespace tendril::simulation;

namespace {

ModelPtr model_of(const char* xml) {
  install_engine_log();
  char error[1000] = "";
  mjSpec* spec = mj_parseXMLString(xml, nullptr, error, sizeof error);
  INFO(error);
  REQUIRE(spec != nullptr);
  ModelPtr model(mj_compile(spec, nullptr));
  mj_deleteSpec(spec);
  REQUIRE(model);
  return model;
}

// Negative damping: the slide's speed grows by a factor of 1.5 in each step.
constexpr const char* kUnstable =
    R"(<mujoco><option timestep="0.01" gravity="0 0 0" integrator="Euler"><flag eulerdamp="disable"/></option>
  <worldbody><body name="calm"><joint name="calm" type="hinge"/><geom size="0.1"/></body>
    <body name="sled" pos="1 0 0"><joint name="runaway" type="slide"/><geom size="0.1" mass="1"/></body></worldbody>
  <actuator><general name="push" joint="runaway" biastype="affine" biasprm="0.001 0 50"/></actuator></mujoco>)";

}  // namespace

TEST_CASE("divergence: the first bad joint, its value, the step and the time are named",
          "[divergence]") {
  const ModelPtr model = model_of(kUnstable);
  disable_autoreset(*model);
  const DataPtr data = make_data(*model);
  const DivergenceMonitor monitor(*data);
  long step = 0;
  while (step < 500 && monitor.healthy(*model, *data)) {
    mj_step(model.get(), data.get());
    ++step;
  }
  REQUIRE(step < 500);
  CHECK(data->time == Approx(0.01 * static_cast<double>(step)));  // no reset in between
  const std::string reason = monitor.reason(*model, *data, step);
  CAPTURE(reason);
  CHECK_THAT(reason, Catch::StartsWith("diverged at step " + std::to_string(step)));
  CHECK_THAT(reason, Catch::Contains("joint 'runaway'") && Catch::Contains("m/s"));
  CHECK_THAT(reason, !Catch::Contains("\n"));
}

TEST_CASE("divergence: NaN in a state is found at once", "[divergence]") {
  const ModelPtr model = model_of(kUnstable);
  const DataPtr data = make_data(*model);
  const DivergenceMonitor monitor(*data);
  CHECK(monitor.healthy(*model, *data));
  data->qpos[1] = NAN;
  CHECK_FALSE(monitor.healthy(*model, *data));
  CHECK_THAT(monitor.reason(*model, *data, 7),
             Catch::Contains("step 7") && Catch::Contains("joint 'runaway': position = nan m"));
  data->qpos[1] = 0.0;
  data->ctrl[0] = INFINITY;
  CHECK_FALSE(monitor.healthy(*model, *data));
  CHECK_THAT(monitor.reason(*model, *data, 7), Catch::Contains("control 0"));
}

TEST_CASE("divergence: warnings from before the run are not its fault", "[divergence]") {
  const ModelPtr model = model_of(kUnstable);
  const DataPtr data = make_data(*model);
  data->warning[mjWARN_CONTACTFULL].number = 3;
  const DivergenceMonitor monitor(*data);
  CHECK(monitor.healthy(*model, *data));
  data->warning[mjWARN_CONTACTFULL].number = 4;
  CHECK_FALSE(monitor.healthy(*model, *data));
  CHECK_THAT(monitor.reason(*model, *data, 1), Catch::Contains("too many contacts"));
}

TEST_CASE("engine log: a fatal engine error comes back as text and the next call works",
          "[divergence]") {
  install_engine_log();
  CHECK(guarded([] { mju_error("broken %d", 7); }) == "broken 7");
  CHECK(guarded([] {}).empty());
  (void)take_engine_warnings();
  mju_warning("careful");
  CHECK(take_engine_warnings() == std::vector<std::string>{"careful"});
  CHECK(take_engine_warnings().empty());
}
