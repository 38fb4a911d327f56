#include "apps/host/metrics.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "apps/host/scene.hpp"
#include "tendril/model_error.hpp"

using namespace tendril;
using namespace tendril::host;

namespace {

// A ball of 2 kg, called a robot by its body's name, resting on the floor at 10 m/s^2; a second
// ball that is no robot.
constexpr const char* kBallScene =
    R"(<mujoco><option gravity="0 0 -10" timestep="0.002" integrator="discrete"/>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body name="arm_base" pos="0 0 0.1"><freejoint/><geom size="0.1" mass="2"/></body>
    <body name="stone" pos="1 0 0.1"><freejoint/><geom size="0.1" mass="7"/></body>
  </worldbody>
  <sensor><user name="a_tip_error" dim="1"/><user name="b_tip_error" dim="1"/><user name="pair" dim="2"/>
    <user name="progress" dim="1"/></sensor></mujoco>)";

constexpr double kRestTolerance = 1e-3;  // what is left of the settling after 2 s

ModelPtr model_of(const char* xml) {
  char error[1000] = "";
  mjSpec* spec = mj_parseXMLString(xml, nullptr, error, sizeof error);
  INFO(error);
  REQUIRE(spec != nullptr);
  ModelPtr model(mj_compile(spec, nullptr));
  mj_deleteSpec(spec);
  REQUIRE(model);
  return model;
}

double value_of(const Metrics& metrics, const std::string& name) {
  for (int i = 0; i < metrics.count(); ++i) {
    if (metrics.metric(i).name == name) return metrics.value(i);
  }
  FAIL("no metric " << name);
  return 0.0;
}

}  // namespace

TEST_CASE("metrics: every documented name is read, others are refused", "[metrics]") {
  for (const char* name :
       {"tip_error_end", "tip_error_rms", "angle_error_mean", "progress_end", "wall_force_max",
        "wall_force_single_max", "penetration_max", "solver_iterations_mean", "status_max",
        "engine_iterations_max", "contact_count_max", "speed_max", "rest_speed", "settle_time",
        "real_time_factor", "step_time_mean", "step_time_p999", "sensor:A_feed:rms",
        "sensor:with:colon:min"}) {
    CAPTURE(name);
    CHECK(parse_metric(name).name == name);
  }
  CHECK(parse_metric("wall_force_single_max").signal == Signal::WallForceSingle);
  CHECK(parse_metric("sensor:with:colon:min").sensor == "with:colon");
  for (const char* name : {"", "tip_error", "tip_error_median", "tip_eror_max", "_max",
                           "sensor:", "sensor::max", "sensor:x", "sensor:x:median"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH(parse_metric(name), Catch::Contains("must be (tip_error|"));
  }
}

TEST_CASE("metrics: the wall carries the weight of a resting robot and of nothing else",
          "[metrics]") {
  const ModelPtr model = model_of(kBallScene);
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  metrics.add_defaults();
  for (int i = 0; i < 1000; ++i) {
    const double time = data->time;
    mj_step(model.get(), data.get());
    metrics.sample(*model, *data, time);
  }
  CHECK(value_of(metrics, "wall_force_end") == Approx(20.0).epsilon(kRestTolerance));
  CHECK(value_of(metrics, "wall_force_single_max") <= value_of(metrics, "wall_force_max") + 1e-9);
  CHECK(value_of(metrics, "contact_count_max") == 1.0);
  CHECK(value_of(metrics, "rest_speed") < kRestTolerance);
  const double deepest = value_of(metrics, "penetration_max");
  CHECK((deepest > 0.0 && deepest < 0.01));
}

TEST_CASE("metrics: statistics of a sensor follow their definitions", "[metrics]") {
  const ModelPtr model = model_of(kBallScene);
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  for (const char* name : {"tip_error_end", "tip_error_max", "tip_error_min", "tip_error_mean",
                           "tip_error_rms", "sensor:pair:max", "progress_min"}) {
    metrics.add(parse_metric(name));
  }
  const int late = metrics.add(parse_metric("tip_error_max"), {.after = 2.0, .before = 2.5});
  const int never = metrics.add(parse_metric("tip_error_max"), {.after = 100.0});
  // Two robots: the worse of both counts, 3 2 1 0 against 0.5.
  for (int i = 0; i < 4; ++i) {
    data->sensordata[0] = 3.0 - i;
    data->sensordata[1] = 0.5;
    data->sensordata[2] = 3.0;
    data->sensordata[3] = -4.0;
    data->sensordata[4] = 0.25 * i;
    metrics.sample(*model, *data, i);
  }
  CHECK(value_of(metrics, "tip_error_end") == 0.5);
  CHECK(metrics.value(1) == 3.0);
  CHECK(value_of(metrics, "tip_error_min") == 0.5);
  CHECK(value_of(metrics, "tip_error_mean") == Approx((3 + 2 + 1 + 0.5) / 4));
  CHECK(value_of(metrics, "tip_error_rms") == Approx(std::sqrt((9 + 4 + 1 + 0.25) / 4)));
  CHECK(value_of(metrics, "sensor:pair:max") == Approx(5.0));
  CHECK(value_of(metrics, "progress_min") == 0.0);
  CHECK(metrics.value(late) == 1.0);
  CHECK(std::isnan(metrics.value(never)));
}

TEST_CASE("metrics: settling begins after the last time above the threshold", "[metrics]") {
  const ModelPtr model = model_of(kBallScene);
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  const int settled = metrics.add(parse_metric("settle_time"), {}, 0.1);
  const int from_one = metrics.add(parse_metric("settle_time"), {.after = 1.0}, 0.1);
  const int unsettled = metrics.add(parse_metric("settle_time"), {}, 0.001);
  const double errors[] = {1.0, 0.05, 0.2, 0.1, 0.02};
  for (int i = 0; i < 5; ++i) {
    data->sensordata[0] = errors[i];
    metrics.sample(*model, *data, 0.5 * i);
  }
  CHECK(metrics.value(settled) == 1.5);
  CHECK(metrics.value(from_one) == 0.5);  // counted from the window's start
  CHECK(std::isinf(metrics.value(unsettled)));
}

TEST_CASE("metrics: what the scene lacks is said, and left out of the defaults", "[metrics]") {
  const ModelPtr model = model_of(
      "<mujoco><worldbody><body name=\"b\"><joint/><geom size=\"1\"/></body></worldbody></mujoco>");
  Metrics metrics(*model);
  CHECK_THROWS_WITH(metrics.add(parse_metric("tip_error_end")),
                    Catch::Contains("ends with 'tip_error'"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("wall_force_max")), Catch::Contains("no robot"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("sensor:x:max")), Catch::Contains("no sensor 'x'"));
  metrics.add_defaults();
  CHECK(metrics.count() == 4);  // speed_max, rest_speed, engine_iterations_max and _mean
}
