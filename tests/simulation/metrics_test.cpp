#include "simulation/experiment/metrics.hpp"

#include <Eigen/Core>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"

using namespace tendril;
using namespace tendril::simulation;

namespace {

/// Declares a body to be the base of a robot.
std::string robot_tuple(const std::string& body, const std::string& prefix = "") {
  return "<custom><tuple name=\"" + prefix + "robot\"><element objtype=\"body\" objname=\"" + body +
         "\"/></tuple></custom>";
}

// A sphere of 2 kg, declared a robot, resting on the floor at 10 m/s^2; a second
// sphere that is no robot.
const std::string kSphereScene =
    "<mujoco>" + robot_tuple("arm_base", "A_") +
    R"(<option gravity="0 0 -10" timestep="0.002" integrator="discrete"/>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body name="arm_base" pos="0 0 0.1"><freejoint/><geom size="0.1" mass="2"/></body>
    <body name="stone" pos="1 0 0.1"><freejoint/><geom size="0.1" mass="7"/></body>
  </worldbody>
  <sensor><user name="a_tip_error" dim="1"/><user name="b_tip_error" dim="1"/><user name="pair" dim="2"/>
    <user name="progress" dim="1"/></sensor></mujoco>)";

constexpr double kRestTolerance = 1e-3;  // what is left of the settling after 2 s

ModelPtr model_of(const std::string& xml) {
  char error[1000] = "";
  mjSpec* spec = mj_parseXMLString(xml.c_str(), nullptr, error, sizeof error);
  INFO(error);
  REQUIRE(spec != nullptr);
  ModelPtr model(mj_compile(spec, nullptr));
  mj_deleteSpec(spec);
  REQUIRE(model);
  return model;
}

constexpr double kTurn = 2.0 * std::numbers::pi;

/// Spheres of radius 10 mm, each fixed to the one before, with their centers at these points of the
/// frame of a post: a cylinder of radius 50 mm and half length 0.1 m, which is askew.
std::string post_scene(const std::vector<Eigen::Vector3d>& centers) {
  std::string xml = "<mujoco>" + robot_tuple("arm_base") +
                    R"(<worldbody><body name="post_frame" pos="0.3 -0.2 0.1" euler="30 50 -20">
    <geom name="post" type="cylinder" size="0.05 0.1"/><geom name="box" type="box" size="1 1 1" pos="9 9 9"/>
    <body name="arm_base"><joint axis="0 0 1"/>)";
  Eigen::Vector3d last = Eigen::Vector3d::Zero();
  for (const Eigen::Vector3d& p : centers) {
    const Eigen::Vector3d step = p - last;
    last = p;
    std::ostringstream body;
    body.precision(17);
    body << "<body pos=\"" << step.x() << ' ' << step.y() << ' ' << step.z()
         << "\"><geom size=\"0.01\"/>";
    xml += body.str();
  }
  for (std::size_t i = 0; i < centers.size(); ++i) xml += "</body>";
  return xml + "</body></body></worldbody></mujoco>";
}

double sampled_once(const std::string& scene, const std::string& metric) {
  const ModelPtr model = model_of(scene);
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  metrics.add(parse_metric(metric));
  mj_forward(model.get(), data.get());
  metrics.sample(*model, *data, 0.0);
  return metrics.value(0);
}

Eigen::Vector3d on_circle(double radius, double angle, double z = 0.0) {
  return {radius * std::cos(angle), radius * std::sin(angle), z};
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
  for (const char* name : {"tip_error_end",
                           "tip_error_rms",
                           "angle_error_mean",
                           "progress_end",
                           "wall_force_max",
                           "wall_force_single_max",
                           "penetration_max",
                           "ik_iterations_mean",
                           "quantity_of_a_plugin_end",
                           "status_max",
                           "engine_iterations_max",
                           "contact_count_max",
                           "self_contact_count_max",
                           "limit_margin_min",
                           "speed_max",
                           "energy_end",
                           "actuator_energy:A_x:end",
                           "settle_time",
                           "real_time_factor",
                           "step_time_mean",
                           "step_time_p999",
                           "sensor:A_feed:rms",
                           "sensor:with:colon:min",
                           "winding:post:end",
                           "passing:box:min",
                           "contact_span:a:b:max"}) {
    CAPTURE(name);
    CHECK(parse_metric(name).name == name);
  }
  CHECK(parse_metric("wall_force_single_max").signal == "wall_force_single");
  CHECK(parse_metric("sensor:with:colon:min").object == "with:colon");
  for (const char* name : {"", "tip_error", "tip_error_median", "_max", "real_time_factor_max",
                           "sensor:", "sensor::max", "sensor:x", "sensor:x:median", "winding:max",
                           "winding::max", "winding_max", "contact_span:x:median"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH(parse_metric(name),
                      Catch::StartsWith("must be SIGNAL_(end|max|min|mean|rms)"));
  }
}

TEST_CASE("metrics: the error of a reading is its distance from the sensor", "[metrics]") {
  const ModelPtr model = model_of(R"(<mujoco><worldbody/><sensor><user name="s" dim="2"/>
      <user name="s_reading" dim="2"/><user name="t" dim="1"/></sensor></mujoco>)");
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  metrics.add(parse_metric("reading_error:s:max"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("reading_error:t:max")),
                    Catch::Contains("the scene has no sensor 't_reading'"));
  const double values[] = {1.0, 2.0, 4.0, -2.0};
  std::copy_n(values, 4, data->sensordata);
  metrics.sample(*model, *data, 0.0);
  CHECK(metrics.value(0) == Approx(5.0));
}

TEST_CASE("metrics: every signal of the table can be measured where its scene provides it",
          "[metrics]") {
  const ModelPtr model = model_of("<mujoco>" + robot_tuple("base") +
                                  R"(<worldbody><geom name="post" type="capsule" size=".1 1"/>
        <body name="base"><joint name="j" axis="0 0 1" range="-1 1"/><geom size="0.1"/></body></worldbody>
      <actuator><motor name="NAME" joint="j"/></actuator>
      <sensor><user name="NAME" dim="1"/><user name="NAME_reading" dim="1"/></sensor></mujoco>)");
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  for (const SignalInfo& signal : signal_table()) {
    CAPTURE(signal.name);
    CHECK(std::string(signal.meaning).size() > 5);
    std::string name = signal.name;
    if (signal.of == MetricOf::Sensor || signal.of == MetricOf::Actuator)
      name += ":NAME:max";
    else if (signal.of == MetricOf::Geom || signal.of == MetricOf::RoundGeom)
      name += ":post:max";
    else if (signal.of != MetricOf::Run)
      name += "_max";
    CHECK_NOTHROW(metrics.add(parse_metric(name)));
  }
  mj_forward(model.get(), data.get());
  metrics.sample(*model, *data, 0.0);
  for (int i = 0; i < metrics.count(); ++i) {
    CAPTURE(metrics.metric(i).name);
    CHECK(std::isnan(metrics.value(i)) == metrics.metric(i).of_run());
  }
}

TEST_CASE("metrics: the wall carries the weight of a resting robot and of nothing else",
          "[metrics]") {
  const ModelPtr model = model_of(kSphereScene);
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
  CHECK(value_of(metrics, "speed_end") < kRestTolerance);
  const double deepest = value_of(metrics, "penetration_max");
  CHECK((deepest > 0.0 && deepest < 0.01));
}

TEST_CASE("metrics: statistics of a sensor follow their definitions", "[metrics]") {
  const ModelPtr model = model_of(kSphereScene);
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

TEST_CASE("metrics: energy is the work of the robots' actuators on their ways, both ways",
          "[metrics]") {
  // A motor lifts a sled of 2 kg against 10 m/s^2 with 24 N from rest: 2 m/s^2 up. After 1 s it
  // lets the sled fall with 8 N: 6 m/s^2 down. A second sled, of no robot, is pushed alike.
  const ModelPtr model = model_of("<mujoco>" + robot_tuple("base") +
                                  R"(<option gravity="0 0 -10" timestep="1e-4"/><worldbody>
      <body name="base"><body><joint name="z" type="slide" axis="0 0 1"/><geom size="0.1" mass="2"/>
      </body></body>
      <body pos="1 0 0"><joint name="other" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body></worldbody>
    <actuator><motor name="lift" joint="z" gear="2 0 0 0 0 0"/><motor name="push" joint="other"/>
    </actuator></mujoco>)");
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  metrics.add_defaults();
  const int up = metrics.add(parse_metric("energy_end"), {.before = 1.0});
  metrics.add(parse_metric("actuator_energy:lift:max"));
  metrics.add(parse_metric("actuator_energy:push:end"));
  for (int i = 0; i < 15000; ++i) {
    const double time = data->time;
    data->ctrl[0] = i < 10000 ? 12.0 : 4.0;
    data->ctrl[1] = 3.0;
    mj_step(model.get(), data.get());
    metrics.sample(*model, *data, time);
  }
  // 24 N over 1 m; then from 2 m/s up for 1/3 s, 1/3 m, and down for 1/6 s, 1/12 m, with 8 N.
  constexpr double kStep = 5e-4;  // relative: of the sum over steps
  CHECK(metrics.value(up) == Approx(24.0).epsilon(kStep));
  CHECK(value_of(metrics, "energy_end") ==
        Approx(24.0 + 8.0 * (1.0 / 3 + 1.0 / 12)).epsilon(kStep));
  CHECK(value_of(metrics, "actuator_energy:lift:max") == value_of(metrics, "energy_end"));
  CHECK(value_of(metrics, "actuator_energy:push:end") ==
        Approx(3.0 * 0.5 * 3.0 * 1.5 * 1.5).epsilon(kStep));
}

TEST_CASE("metrics: settling begins after the last time above the threshold", "[metrics]") {
  const ModelPtr model = model_of(kSphereScene);
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
                    Catch::StartsWith("tip_error_end: "));
  CHECK_THROWS_WITH(metrics.add(parse_metric("wall_force_max")), Catch::Contains("no robot"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("sensor:x:max")), Catch::Contains("no sensor 'x'"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("winding:x:max")), Catch::Contains("no geom 'x'"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("energy_end")), Catch::Contains("no robot"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("actuator_energy:x:end")),
                    Catch::Contains("no actuator 'x'"));
  metrics.add_defaults();
  CHECK(metrics.count() == 4);  // speed_max and _end, engine_iterations_max and _mean
}

TEST_CASE("metrics: an old name is refused with the present one", "[metrics]") {
  const ModelPtr model = model_of(R"(<mujoco><worldbody><body name="b"><joint name="j"/>
    <geom size="1"/></body></worldbody>
    <sensor><jointpos name="A_measured_tip" joint="j"/>
    <jointpos name="A_speed_utilization" joint="j"/></sensor></mujoco>)");
  Metrics metrics(*model);
  CHECK_THROWS_WITH(metrics.add(parse_metric("sensor:A_seen_tip:max")),
                    Catch::Contains("A_seen_tip: is called A_measured_tip now"));
  CHECK_THROWS_WITH(metrics.add(parse_metric("speed_use_max")),
                    "speed_use_max: is called speed_utilization_max now");
  CHECK_THROWS_WITH(parse_metric("rest_speed"), "is called speed_end now");
}

TEST_CASE("metrics: a winding is the turn of the near part of the arm, with its sign",
          "[metrics]") {
  // A helix at 62 mm, nearer than the 70 mm at which the gap is a body's radius; its last half turn
  // is past the end of the post.
  const double turn = GENERATE(0.5, 2.0, 4.5, 9.0, -4.5);
  CAPTURE(turn);
  std::vector<Eigen::Vector3d> helix;
  constexpr int kSteps = 60;
  for (int i = 0; i <= kSteps; ++i) {
    const double share = static_cast<double>(i) / kSteps;
    helix.push_back(on_circle(0.062, 1.0 + share * turn, -0.08 + 0.16 * share));
  }
  CHECK(sampled_once(post_scene(helix), "winding:post:end") == Approx(turn).margin(1e-9));
  for (Eigen::Vector3d& p : helix) p.z() += 0.1;  // the half from z = 0.1 on is past the end
  CHECK(sampled_once(post_scene(helix), "winding:post:end") == Approx(turn / 2).margin(1e-9));
}

TEST_CASE("metrics: an arm that passes a post straight winds by the angle of its near part",
          "[metrics]") {
  // Along a line at distance d the part within 70 mm is seen from the axis under 2 acos(d / 70 mm).
  const double distance = GENERATE(0.055, 0.065, 0.0699, 0.0701, 0.2);
  CAPTURE(distance);
  std::vector<Eigen::Vector3d> line;
  for (int i = 0; i <= 40; ++i) line.emplace_back(distance, -0.4 + 0.02 * i, 0.0);
  const double expected = distance < 0.07 ? 2.0 * std::acos(distance / 0.07) : 0.0;
  CHECK(sampled_once(post_scene(line), "winding:post:max") == Approx(expected).margin(1e-9));
}

TEST_CASE("metrics: the whole of an arm passes a post on its left or on its right", "[metrics]") {
  const double distance = GENERATE(0.055, 0.2, -0.3);
  CAPTURE(distance);
  std::vector<Eigen::Vector3d> line;
  for (int i = 0; i <= 40; ++i) line.emplace_back(distance, -0.4 + 0.02 * i, 0.2);
  const double expected = 2.0 * std::atan(0.4 / distance);
  CHECK(sampled_once(post_scene(line), "passing:post:end") == Approx(expected).margin(1e-9));
}

TEST_CASE("metrics: contacts span a full turn less the widest gap between them", "[metrics]") {
  struct Case {
    std::vector<double> angles;  ///< of the touching spheres
    double span;
  };
  const Case c = GENERATE(values<Case>({{{}, 0.0},
                                        {{2.0}, 0.0},
                                        {{3.0, -3.0}, kTurn - 6.0},
                                        {{1.0, 1.0, 1.0}, 0.0},
                                        {{0.0, 1.0, 1.0}, 1.0},
                                        {{5.0, 0.5, 2.5, 4.0}, kTurn - 2.0},
                                        {{0.0, kTurn / 3, kTurn * 2 / 3}, kTurn * 2 / 3}}));
  std::vector<Eigen::Vector3d> centers{on_circle(0.5, 0.3)};  // one that does not touch
  for (const double angle : c.angles) centers.push_back(on_circle(0.0599, angle));
  CHECK(sampled_once(post_scene(centers), "contact_span:post:end") == Approx(c.span).margin(1e-6));
}

TEST_CASE("metrics: what is wound around must be round, and something must wind", "[metrics]") {
  const ModelPtr model = model_of(post_scene({{0.1, 0.0, 0.0}}));
  Metrics metrics(*model);
  CHECK_THROWS_WITH(metrics.add(parse_metric("winding:box:max")),
                    Catch::Contains("'box' must be a capsule or cylinder"));
  const ModelPtr no_robot = model_of(
      "<mujoco><worldbody><geom name=\"p\" type=\"capsule\" size=\".1 1\"/></worldbody></mujoco>");
  Metrics without(*no_robot);
  CHECK_THROWS_WITH(without.add(parse_metric("contact_span:p:max")), Catch::Contains("no robot"));
}

TEST_CASE("metrics: the margin is that of the joint nearest to an end of its range", "[metrics]") {
  const auto scene = [](const std::string& first, const std::string& second) {
    return "<mujoco>" + robot_tuple("base") +
           R"(<compiler angle="radian"/><worldbody><body name="base">
      <body><joint type="hinge" )" +
           first + R"(/><geom size="0.1" contype="0"/>
      <body pos="1 0 0"><joint type="slide" )" +
           second + R"(/><geom size="0.1" contype="0"/></body></body></body>
    <body><joint type="hinge" range="-0.01 0.01"/><geom size="0.1" contype="0"/></body>
    </worldbody></mujoco>)";
  };
  const std::string wide = "range=\"-1 2\"", narrow = "range=\"-0.4 0.3\"";
  // The joint of no robot does not count.
  CHECK(sampled_once(scene(wide, narrow), "limit_margin_min") == Approx(0.3));
  CHECK(sampled_once(scene(wide, ""), "limit_margin_min") == Approx(1.0));
  CHECK(sampled_once(scene("range=\"0.2 1\"", wide), "limit_margin_min") == Approx(-0.2));
  const ModelPtr free = model_of(scene("", ""));
  CHECK(Metrics(*free).problem(parse_metric("limit_margin_min")) ==
        "no robot of the scene has a joint with a range");
}

TEST_CASE("metrics: a robot is what is declared, not what is called one", "[metrics]") {
  const std::string body = R"(<worldbody><body name="table_base"><joint/><geom size="0.1"/></body>
      <body name="arm"><joint/><geom size="0.1"/></body></worldbody></mujoco>)";
  const ModelPtr undeclared = model_of("<mujoco>" + body);
  CHECK_THAT(Metrics(*undeclared).problem(parse_metric("contact_count_max")),
             Catch::StartsWith("the scene has no robot"));
  const ModelPtr declared = model_of("<mujoco>" + robot_tuple("arm") + body);
  CHECK(Metrics(*declared).problem(parse_metric("contact_count_max")).empty());
}

TEST_CASE("metrics: a quantity that is not known makes its statistics unknown", "[metrics]") {
  const ModelPtr model = model_of(kSphereScene);
  const DataPtr data = make_data(*model);
  Metrics metrics(*model);
  for (const char* name : {"tip_error_max", "tip_error_min", "tip_error_mean", "tip_error_rms"})
    metrics.add(parse_metric(name));
  const int end = metrics.add(parse_metric("tip_error_end"));
  for (const double error : {0.1, std::nan(""), 0.2}) {
    data->sensordata[0] = data->sensordata[1] = error;
    metrics.sample(*model, *data, 0.0);
  }
  for (int i = 0; i < 4; ++i) CHECK(std::isnan(metrics.value(i)));
  CHECK(metrics.value(end) == 0.2);
}

TEST_CASE("metrics: contacts of a robot with itself are none with its surroundings", "[metrics]") {
  // Two spheres of one robot overlap, or one of them overlaps the sphere of another robot.
  const auto scene = [](const std::string& x) {
    return "<mujoco>" + robot_tuple("A_base", "A_") + robot_tuple("B_base", "B_") + R"(<worldbody>
      <body name="A_base"><body><joint type="slide"/><geom size="0.1"/></body></body>
      <body name="B_base">
        <body pos=")" +
           x + R"( 0 0"><joint type="slide"/><geom size="0.1"/></body>
        <body pos="5.15 0 0"><joint type="slide"/><geom size="0.1"/></body></body>
      </worldbody></mujoco>)";
  };
  CHECK(sampled_once(scene("5"), "self_contact_count_max") == 1.0);
  CHECK(sampled_once(scene("5"), "contact_count_max") == 0.0);
  CHECK(sampled_once(scene("0.15"), "self_contact_count_max") == 0.0);  // two robots
}
