#include "controllers/arm/pull_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <utility>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Texts = Settings::Texts;

namespace {

constexpr double kTimestep = 0.005;
constexpr double kForce = 2.0;        // desired [N]
constexpr double kCable = 60.0;       // stiffness of the cable [N/m]
constexpr double kBody = 0.8;         // of a section [N m/rad]
constexpr double kServo = 4.0;        // of a section with its servo [N m/rad]
constexpr double kRelaxation = 0.1;   // of the arm to its equilibrium in a step
constexpr double kTolerance = 0.005;  // of the controller [m]

constexpr std::size_t kPullForce = index_of(PullController::kQuantities, "pull_force");
constexpr std::size_t kPlaceError = index_of(PullController::kQuantities, "place_error");
constexpr std::size_t kTaut = index_of(PullController::kQuantities, "taut");

/// An arm in equilibrium, whose tip holds the end of a cable: a spring that does not push, from an
/// anchor to the tip. Its bends differ from their commands by what the load does to them.
struct Pulling {
  explicit Pulling(double slack, Texts texts = {})
      : robot({{.length = 0.12}, {.length = 0.12}, {.length = 0.12}}),
        settings(PullController::settings(), with_end(std::move(texts))),
        springs(6, {.stiffness = kBody}),
        controller({.robot = robot,
                    .settings = settings,
                    .timestep = kTimestep,
                    .springs = springs,
                    .scene = with_sphere(scene)}),
        arm(robot, kTimestep),
        run(controller, robot) {
    place(2.0);
    const Vector3d far = tip();
    place(1.0);
    way = (far - tip()).normalized();
    anchor = tip() - 0.15 * way;
    length = 0.15 + slack;
    arm.measurement.has_target = true;
    arm.measurement.obstacles = &scene.measured;
    target(tip());
    for (int i = 0; i < 400; ++i) step();
  }
  static Texts with_end(Texts texts) {
    texts.emplace_back("end", "plug");
    return texts;
  }
  static TestScene& with_sphere(TestScene& scene) {
    scene.measured = Obstacles({sphere_at({0.0, 0.0, 0.0}, 0.01)});
    scene.moving_count = 1;
    return scene;
  }
  /// Bends the arm this many times as much as at the start.
  void place(double bend) {
    VectorXd q(6);
    q << 0.4, 0.1, 0.3, -0.1, 0.3, 0.1;
    arm.move_to(bend * q, {});
  }
  void target(const Vector3d& p) { arm.measurement.X_BG.translation() = p; }
  [[nodiscard]] Vector3d tip() const { return arm.measurement.X_BE.translation(); }
  [[nodiscard]] double tension() const {
    return held ? std::max(0.0, kCable * ((tip() - anchor).norm() - length)) : 0.0;
  }
  [[nodiscard]] ControllerStatus status() const { return run.report.status; }
  void step() {
    if (sliding > 0.0 && tension() > sliding) length = (tip() - anchor).norm() - sliding / kCable;
    const Vector3d load = tension() * (anchor - tip()).normalized();
    const VectorXd moment = arm.measurement.tip_jacobian.topLeftCorner(3, 6).transpose() * load;
    arm.measurement.moment = kBody * arm.measurement.q - moment;
    if (held) end = tip();
    Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
    X_BO.translation() = end;
    scene.measured.set_pose(0, X_BO);
    run.update(arm.measurement);
    run.advance();
    const VectorXd rest = run.command.q + moment / kServo;
    arm.move_to(arm.measurement.q + kRelaxation * (rest - arm.measurement.q), run.command.base);
    arm.pass_time();
    largest = std::max(largest, tension());
  }
  void steps(double time) {
    for (double t = 0.0; t < time; t += kTimestep) step();
  }

  ContinuumRobot robot;
  Settings settings;
  std::vector<BodySpring> springs;
  TestScene scene;
  PullController controller;
  KinematicArm arm;
  ControllerRun run;
  Vector3d anchor, end, way = Vector3d::UnitX();  ///< unit, in which the tip pulls
  double length = 0.0, sliding = 0.0, largest = 0.0;
  bool held = true;
};

}  // namespace

TEST_CASE("pull: a taut end is held with the force, however far the target is", "[controllers]") {
  const double far = GENERATE(0.08, 0.12);
  CAPTURE(far);
  Pulling pulling(0.01);
  pulling.target(pulling.tip() + far * pulling.way);
  pulling.steps(20.0);
  CHECK(pulling.tension() == Approx(kForce).epsilon(0.02));
  CHECK(pulling.run.report.own[kPullForce] == Approx(pulling.tension()).epsilon(0.02));
  CHECK(pulling.run.report.own[kTaut] == 1.0);
  CHECK(pulling.status() == ControllerStatus::Blocked);
  CHECK(pulling.largest < 1.2 * kForce);
}

TEST_CASE("pull: a target that a slack end reaches is reached", "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  Pulling pulling(0.1);
  const double far = random.uniform(0.0, 0.08), aside = random.uniform(-0.03, 0.03);
  pulling.target(pulling.tip() + far * pulling.way + aside * Vector3d::UnitY());
  pulling.steps(10.0);
  CHECK(pulling.status() == ControllerStatus::Finished);
  CHECK(pulling.run.report.own[kPlaceError] < kTolerance);
  CHECK(pulling.run.report.own[kTaut] == 0.0);
}

TEST_CASE("pull: an end that slides is pulled to the target with no more than the force",
          "[controllers]") {
  Pulling pulling(0.01);
  pulling.sliding = 1.8;
  pulling.target(pulling.tip() + 0.08 * pulling.way);
  pulling.steps(20.0);
  CHECK(pulling.status() == ControllerStatus::Finished);
  CHECK(pulling.run.report.own[kPlaceError] < kTolerance);
  CHECK(pulling.largest < 1.05 * kForce);
}

TEST_CASE("pull: an end that slips off gives the status no contact until it is held again",
          "[controllers]") {
  Pulling pulling(0.01);
  pulling.target(pulling.tip() + 0.1 * pulling.way);
  pulling.steps(8.0);
  REQUIRE(pulling.run.report.own[kTaut] == 1.0);
  pulling.held = false;
  pulling.end = pulling.anchor;
  pulling.step();
  CHECK(pulling.status() == ControllerStatus::NoContact);
  pulling.steps(1.0);
  CHECK(pulling.status() == ControllerStatus::NoContact);
  pulling.held = true;
  pulling.length = 0.5;
  pulling.steps(10.0);
  CHECK(pulling.status() == ControllerStatus::Finished);
}

TEST_CASE("pull: the tip moves at the given speed while it holds the end", "[controllers]") {
  Pulling pulling(0.2, {{"speed", "0.02"}});
  pulling.target(pulling.tip() + 0.06 * pulling.way);
  double fastest = 0.0;
  for (int i = 0; i < 400; ++i) {
    const Vector3d before = pulling.tip();
    pulling.step();
    fastest = std::max(fastest, (pulling.tip() - before).norm() / kTimestep);
  }
  CHECK(fastest < 0.025);
  CHECK(fastest > 0.015);
}

TEST_CASE("pull: a target that is not finite changes nothing", "[controllers]") {
  Pulling pulling(0.1);
  const Eigen::Isometry3d X_BG = pulling.arm.measurement.X_BG;
  pulling.arm.measurement.X_BG.translation().x() = std::numeric_limits<double>::quiet_NaN();
  pulling.step();
  CHECK(pulling.status() == ControllerStatus::InvalidTarget);
  pulling.arm.measurement.X_BG = X_BG;
  pulling.steps(2.0);
  CHECK(pulling.status() == ControllerStatus::Finished);
}

TEST_CASE("pull: the end must be one geom that moves", "[controllers]") {
  const ContinuumRobot robot({{.length = 0.12}});
  const Settings settings(PullController::settings(), {{"end", "wall"}});
  TestScene scene;
  scene.measured = Obstacles({sphere_at({0.0, 0.0, 0.1}, 0.01)});
  const auto make = [&] {
    return PullController(
        {.robot = robot, .settings = settings, .timestep = kTimestep, .scene = scene});
  };
  CHECK_THROWS_WITH(make(), "end = wall: must be one geom of the scene, of a body that moves");
  scene.moving_count = 1;
  CHECK_NOTHROW(make());
}

TEST_CASE("pull: allocates nothing in a step", "[controllers]") {
  Pulling pulling(0.01);
  pulling.target(pulling.tip() + 0.1 * pulling.way);
  pulling.steps(8.0);
  REQUIRE(pulling.run.report.own[kTaut] == 1.0);
  AllocationCounter counter;
  pulling.controller.update(pulling.arm.measurement, pulling.run.memory, pulling.run.next,
                            pulling.run.command, pulling.run.report);
  CHECK(counter.count() == 0);
}
