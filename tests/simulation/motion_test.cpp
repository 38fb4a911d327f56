#include <Eigen/Geometry>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "simulation/experiment/motion_set.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"

using namespace tendril;
using namespace tendril::simulation;
using Eigen::Vector3d;

namespace {

constexpr double kAlgebraTolerance = 1e-12;    // rounding
constexpr double kDifferenceTolerance = 1e-6;  // central differences with a step of 1e-6 s

const Vector3d kHome(0.1, -0.2, 0.3);

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

constexpr const char* kTargetScene = R"(<mujoco><worldbody>
  <body name="target" mocap="true" pos="0.1 -0.2 0.3"/><body name="post" pos="1 0 0"/>
</worldbody></mujoco>)";

}  // namespace

TEST_CASE("motion: a Lissajous figure repeats after its period and remains within its amplitude",
          "[motion]") {
  Motion motion{.body = "target"};
  motion.amplitude = Vector3d(0.05, 0.02, 0.0);
  motion.frequency = Vector3d(0.5, 1.0, 3.0);
  motion.phase = Vector3d(0.3, 0.0, 1.0);
  for (double t = 0.0; t < 2.0; t += 0.037) {
    const Vector3d offset = motion.position(t, kHome) - kHome;
    CHECK((offset.array().abs() <= motion.amplitude.array() + kAlgebraTolerance).all());
    CHECK((motion.position(t + 2.0, kHome) - motion.position(t, kHome)).norm() <
          kAlgebraTolerance * 100);
  }
}

TEST_CASE("motion: before its start a figure is at its first point", "[motion]") {
  Motion motion{.body = "target"};
  motion.amplitude = motion.frequency = motion.phase = Vector3d::Ones();
  motion.start = 1.5;
  CHECK(motion.position(0.0, kHome) == motion.position(1.5, kHome));
  CHECK(motion.position(1.6, kHome) != motion.position(1.5, kHome));
}

TEST_CASE("motion: a circle keeps its radius, its plane and its speed", "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Circle, .center = Vector3d(1, 2, 3)};
  motion.radius = 0.06;
  motion.speed = GENERATE(0.1, -0.3);
  motion.normal = GENERATE(Vector3d(0, 0, 2), Vector3d(1, 0, 0), Vector3d(-1, 2, 0.5));
  motion.start_after = 0.5;
  constexpr double kStep = 1e-6;
  for (double t = 0.6; t < 5.0; t += 0.31) {
    const Vector3d arm = motion.position(t, kHome) - *motion.center;
    CHECK(arm.norm() == Approx(motion.radius).epsilon(kAlgebraTolerance));
    CHECK(std::abs(arm.dot(motion.normal)) < kAlgebraTolerance);
    const Vector3d velocity =
        (motion.position(t + kStep, kHome) - motion.position(t - kStep, kHome)) / (2 * kStep);
    CHECK(std::abs(velocity.norm() - std::abs(motion.speed)) < kDifferenceTolerance);
    CHECK(arm.cross(velocity).dot(motion.normal) * motion.speed > 0.0);
  }
  CHECK(motion.position(0.1, kHome) == motion.position(0.5, kHome));
}

TEST_CASE("motion: waypoints are met at their times, and segments stay between their ends",
          "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Waypoints};
  motion.interpolation = GENERATE(Interpolation::Smooth, Interpolation::Linear);
  motion.times = {1.0, 2.0, 4.0};
  motion.points = {{0, 0, 0}, {1, 2, 3}, {1, 0, -1}};
  for (std::size_t i = 0; i < motion.times.size(); ++i) {
    CHECK((motion.position(motion.times[i], kHome) - motion.points[i]).norm() < kAlgebraTolerance);
  }
  CHECK(motion.position(-5.0, kHome) == motion.points.front());
  CHECK(motion.position(50.0, kHome) == motion.points.back());
  CHECK((motion.position(1.5, kHome) - Vector3d(0.5, 1, 1.5)).norm() < kAlgebraTolerance);
  double before = -1.0;
  for (double t = 1.0; t <= 2.0; t += 0.01) {
    const double x = motion.position(t, kHome).x();
    CHECK(x >= before);
    before = x;
  }
}

TEST_CASE("motion: smooth segments rest at every waypoint", "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Waypoints};
  motion.times = {0.0, 1.0, 2.0};
  motion.points = {{0, 0, 0}, {1, 0, 0}, {0, 5, 0}};
  constexpr double kStep = 1e-4;
  for (const double t : motion.times) {
    CHECK((motion.position(t + kStep, kHome) - motion.position(t - kStep, kHome)).norm() / kStep <
          1e-5);
  }
}

TEST_CASE("motion: settings change fields and refuse what is no motion", "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Circle};
  motion.radius = 0.1;
  CHECK(motion.apply(parse_setting("motion.target.speed=0.25")));
  CHECK(motion.speed == 0.25);
  CHECK(motion.apply(parse_setting("motion.*.center=[1, 2, 3]")));
  CHECK(*motion.center == Vector3d(1, 2, 3));
  CHECK_FALSE(motion.apply(parse_setting("motion.other.speed=1")));
  CHECK_THROWS_WITH(motion.apply(parse_setting("motion.target.radius=-1")),
                    Catch::StartsWith("--set: motion.target.radius: -1: must be in (0, 1e6]"));
  CHECK_THROWS_AS(motion.apply(parse_setting("motion.target.speed=nan")), ModelError);
  CHECK_THROWS_AS(motion.apply(parse_setting("motion.target.color=1")), ModelError);
}

TEST_CASE("motion: a set moves mocap bodies, home is where the scene puts them", "[motion]") {
  const ModelPtr model = model_of(kTargetScene);
  const DataPtr data(mj_makeData(model.get()));
  Motion motion{.body = "target"};
  motion.amplitude = Vector3d(0.1, 0, 0);
  motion.frequency = Vector3d(0.25, 0, 0);
  const MotionSet motions(*model, std::span(&motion, 1));
  motions.apply(*data, 1.0);
  CHECK(data->mocap_pos[0] == Approx(0.2));
  CHECK(data->mocap_pos[1] == Approx(-0.2));
  CHECK(data->mocap_pos[2] == Approx(0.3));
}

TEST_CASE("motion: bodies that are missing, fixed or moved twice are refused", "[motion]") {
  const ModelPtr model = model_of(kTargetScene);
  const auto bind = [&](std::vector<Motion> motions) { return MotionSet(*model, motions); };
  CHECK_THROWS_WITH(bind({{.body = "targt"}}),
                    Catch::Contains("targt") && Catch::Contains("no such body"));
  CHECK_THROWS_WITH(bind({{.body = "post"}}), Catch::Contains("post") && Catch::Contains("mocap"));
  CHECK_THROWS_WITH(bind({{.body = "target"}, {.body = "target"}}), Catch::Contains("two motions"));
}

TEST_CASE("motion: an actuator is commanded values at their times", "[motion]") {
  const ModelPtr model = model_of(R"(<mujoco><worldbody>
    <body><joint name="j"/><geom size="0.1"/></body><body><joint name="k"/><geom size="0.1"/></body>
    </worldbody><actuator><motor name="first" joint="j"/><motor name="second" joint="k"/></actuator>
    </mujoco>)");
  const DataPtr data = make_data(*model);
  Motion motion{.body = "", .kind = MotionKind::Waypoints};
  motion.actuator = "second";
  motion.times = {1.0, 3.0};
  motion.values = {0.25, 1.0};
  motion.interpolation = GENERATE(Interpolation::Step, Interpolation::Linear);
  CHECK_FALSE(motion.problem());
  const MotionSet motions(*model, std::span(&motion, 1));
  const auto told = [&](double time) {
    motions.apply(*data, time);
    CHECK(data->ctrl[0] == 0.0);
    return data->ctrl[1];
  };
  CHECK(told(0.0) == 0.25);
  CHECK(told(2.0) == (motion.interpolation == Interpolation::Step ? 0.25 : 0.625));
  CHECK(told(3.0) == 1.0);
  CHECK(told(9.0) == 1.0);

  const auto bind = [&](std::vector<Motion> all) { return MotionSet(*model, all); };
  CHECK_THROWS_WITH(bind({motion, motion}), Catch::Contains("actuator = second: has two motions"));
  Motion wrong = motion;
  wrong.actuator = "third";
  CHECK_THROWS_WITH(bind({wrong}),
                    Catch::Contains("actuator = third") && Catch::Contains("first, second"));
  motion.values.pop_back();
  REQUIRE(motion.problem());
  CHECK(motion.problem()->field == "times");
}

TEST_CASE("motion: a body that turns with its circle shows the center the same side", "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Circle, .center = Vector3d(1, 2, 3)};
  motion.radius = 0.5;
  motion.speed = GENERATE(0.1, -0.3);
  motion.normal = Vector3d(0.2, -0.1, 2.0);
  motion.turns = true;
  const Eigen::Quaterniond home(Eigen::AngleAxisd(0.4, Vector3d(1, 2, 3).normalized()));
  const auto seen = [&](double t) -> Vector3d {
    return motion.orientation(t, home).inverse() * (motion.position(t, kHome) - *motion.center);
  };
  CHECK(motion.orientation(0.0, home).isApprox(home, kAlgebraTolerance));
  for (double t = 0.5; t < 40.0; t += 3.1) CHECK(seen(t).isApprox(seen(0.0), kAlgebraTolerance));
  motion.turns = false;
  CHECK(motion.orientation(7.0, home).isApprox(home, kAlgebraTolerance));
}

TEST_CASE("motion: orientations of waypoints are met at their times, between them they turn evenly",
          "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Waypoints};
  motion.times = {1.0, 3.0, 4.0};
  motion.points = {Vector3d::Zero(), Vector3d::UnitX(), Vector3d::UnitY()};
  const auto about_z = [](double angle) {
    return Eigen::Quaterniond(Eigen::AngleAxisd(angle, Vector3d::UnitZ()));
  };
  motion.orientations = {about_z(0.0), about_z(1.0), about_z(-0.5)};
  motion.interpolation = Interpolation::Linear;
  const Eigen::Quaterniond home = about_z(2.0);
  CHECK_FALSE(motion.problem());
  CHECK(motion.orientation(0.0, home).isApprox(about_z(0.0), kAlgebraTolerance));
  CHECK(motion.orientation(1.5, home).isApprox(about_z(0.25), kAlgebraTolerance));
  CHECK(motion.orientation(3.0, home).isApprox(about_z(1.0), kAlgebraTolerance));
  CHECK(motion.orientation(3.5, home).isApprox(about_z(0.25), kAlgebraTolerance));
  CHECK(motion.orientation(9.0, home).isApprox(about_z(-0.5), kAlgebraTolerance));
  motion.orientations.pop_back();
  const auto problem = motion.problem();
  REQUIRE(problem);
  CHECK(problem->field == "angles_deg");
  CHECK(problem->reason == "has 2 entries, must have as many as there are points, 3");
}

TEST_CASE("motion: steps stay at a point until the next one's time", "[motion]") {
  Motion motion{.body = "target", .kind = MotionKind::Waypoints};
  motion.times = {1.0, 3.0};
  motion.points = {Vector3d::Zero(), Vector3d::UnitX()};
  motion.interpolation = Interpolation::Step;
  CHECK(motion.position(0.0, kHome) == Vector3d::Zero());
  CHECK(motion.position(2.999, kHome) == Vector3d::Zero());
  CHECK(motion.position(3.0, kHome) == Vector3d::UnitX());
  CHECK(motion.position(5.0, kHome) == Vector3d::UnitX());
}

TEST_CASE("motion: a mocap body takes orientations only where a motion has them", "[motion]") {
  const ModelPtr model = model_of(R"(<mujoco><worldbody>
    <body name="target" mocap="true" pos="0.1 -0.2 0.3" euler="0 0 30"/>
  </worldbody></mujoco>)");
  const DataPtr data = make_data(*model);
  const Eigen::Quaterniond before(data->mocap_quat[0], data->mocap_quat[1], data->mocap_quat[2],
                                  data->mocap_quat[3]);
  Motion motion{.body = "target", .kind = MotionKind::Circle};
  motion.radius = 1.0;
  motion.speed = 0.5;
  MotionSet(*model, std::span(&motion, 1)).apply(*data, 2.0);
  CHECK(data->mocap_quat[3] == before.z());
  motion.turns = true;
  MotionSet(*model, std::span(&motion, 1)).apply(*data, 2.0);  // 1 m along a circle of 1 m: 1 rad
  const double angle = 2.0 * std::atan2(data->mocap_quat[3], data->mocap_quat[0]);
  CHECK(angle == Approx(std::numbers::pi / 6.0 + 1.0).epsilon(1e-12));
}
