#include "controllers/arm/push_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <utility>

#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Texts = Settings::Texts;

namespace {

constexpr double kTimestep = 0.01;
constexpr double kTable = 0.42;                        // height of the plane, base frame [m]
constexpr double kBlock = 0.02, kBody = 0.008;         // radii [m]
constexpr double kTolerance = 0.005;                   // of the controller [m]
constexpr double kClearance = 0.015, kSlack = 2.1e-3;  // of the controller [m]

/// An arm without physics over a table with a smooth disk, which gives way to the tip: a disk that
/// is not pushed through its center slips to the side.
struct Pushing {
  explicit Pushing(const Vector2d& block, const Vector2d& target, Texts texts = {})
      : disk(block),
        robot({{.length = 0.12}, {.length = 0.12}, {.length = 0.12}}, {.feed_limit = 0.2}),
        settings(PushController::settings(), with_block(std::move(texts))),
        controller({.robot = robot,
                    .settings = settings,
                    .timestep = kTimestep,
                    .body_radius = kBody,
                    .scene = with_disk(scene, block)}),
        arm(robot, kTimestep),
        run(controller, robot) {
    arm.measurement.has_target = true;
    arm.measurement.X_BG.translation() << target, kTable;
    arm.measurement.obstacles = &scene.measured;
  }
  static Texts with_block(Texts texts) {
    texts.emplace_back("block", "block");
    return texts;
  }
  static TestScene& with_disk(TestScene& scene, const Vector2d& at) {
    scene.measured = Obstacles({sphere_at({at.x(), at.y(), kTable}, kBlock)});
    scene.moving_count = 1;
    return scene;
  }
  [[nodiscard]] Vector2d tip() const { return arm.measurement.X_BE.translation().head<2>(); }
  [[nodiscard]] double gap() const {
    return (Vector3d(disk.x(), disk.y(), kTable) - arm.measurement.X_BE.translation()).norm() -
           kBlock - kBody;
  }
  [[nodiscard]] double error() const {
    return (disk - arm.measurement.X_BG.translation().head<2>()).norm();
  }
  [[nodiscard]] ControllerStatus status() const { return run.report.status; }
  [[nodiscard]] double pushes() const {
    return run.report.own[index_of(PushController::kQuantities, "pushes")];
  }
  void step() {
    if (slides && gap() < 0.0) disk -= gap() * (disk - tip()).normalized();
    Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
    X_BO.translation() << disk, kTable;
    scene.measured.set_pose(0, X_BO);
    run.step(arm);
  }
  /// Steps until the status is another one than Working.
  void run_for(double time) {
    for (double t = 0.0; t < time; t += kTimestep) {
      step();
      if (status() != ControllerStatus::Working) return;
    }
  }

  Vector2d disk;
  ContinuumRobot robot;
  Settings settings;
  TestScene scene;
  PushController controller;
  KinematicArm arm;
  ControllerRun run;
  bool slides = true;
};

Vector2d anywhere(Random& random) {
  return {random.uniform(-0.07, 0.07), random.uniform(-0.07, 0.07)};
}

}  // namespace

TEST_CASE("push: the block comes to its place from anywhere, and stays there", "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const Vector2d block = anywhere(random), target = anywhere(random);
  Pushing pushing(block, target);
  pushing.run_for(60.0);
  CHECK(pushing.status() == ControllerStatus::Finished);
  CHECK(pushing.error() <= kTolerance);
  CHECK(pushing.run.report.progress == 1.0);
  const Vector2d there = pushing.disk;
  for (int i = 0; i < 300; ++i) pushing.step();
  CHECK(pushing.disk == there);
  CHECK(pushing.gap() > 0.0);
}

TEST_CASE("push: the tip comes up behind the block without touching it", "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  Vector2d block = anywhere(random);
  if (block.norm() < 0.04) block *= 0.04 / block.norm();  // the arm begins over the origin
  Pushing pushing(block, {0.0, 0.0});
  double least = std::numeric_limits<double>::infinity();
  while (pushing.pushes() < 1.0 || least == std::numeric_limits<double>::infinity()) {
    pushing.step();
    if (pushing.pushes() < 1.0) least = std::min(least, pushing.gap());
    REQUIRE(pushing.arm.measurement.time < 60.0);
  }
  CHECK(least > kClearance - kSlack);
  const Vector2d way = -block.normalized(), to_block = (block - pushing.tip()).normalized();
  CHECK(way.dot(to_block) > 0.99);
}

TEST_CASE("push: a block that is pushed away is fetched again", "[controllers]") {
  Pushing pushing({0.05, 0.03}, {-0.03, 0.0});
  pushing.run_for(60.0);
  REQUIRE(pushing.status() == ControllerStatus::Finished);
  pushing.disk = {0.02, -0.06};
  pushing.step();
  CHECK(pushing.status() == ControllerStatus::Working);
  pushing.run_for(60.0);
  CHECK(pushing.status() == ControllerStatus::Finished);
  CHECK(pushing.error() <= kTolerance);
}

TEST_CASE("push: a block that does not move gives the status no progress", "[controllers]") {
  Pushing pushing({0.05, 0.03}, {-0.03, 0.0}, {{"push_time", "12"}});
  pushing.slides = false;
  pushing.run_for(11.9);
  CHECK(pushing.status() == ControllerStatus::Working);
  pushing.run_for(1.0);
  CHECK(pushing.status() == ControllerStatus::NoProgress);
  pushing.slides = true;
  for (int i = 0; i < 6000 && pushing.status() != ControllerStatus::Finished; ++i) pushing.step();
  CHECK(pushing.status() == ControllerStatus::Finished);
}

TEST_CASE("push: a target that is not finite changes nothing", "[controllers]") {
  Pushing pushing({0.05, 0.03}, {-0.03, 0.0});
  pushing.run_for(2.0);
  const Eigen::Isometry3d X_BG = pushing.arm.measurement.X_BG;
  pushing.arm.measurement.X_BG.translation().x() = std::numeric_limits<double>::quiet_NaN();
  pushing.step();
  CHECK(pushing.status() == ControllerStatus::InvalidTarget);
  pushing.arm.measurement.X_BG = X_BG;
  pushing.step();
  pushing.run_for(60.0);
  CHECK(pushing.status() == ControllerStatus::Finished);
}

TEST_CASE("push: the block must be one geom that moves", "[controllers]") {
  const ContinuumRobot robot({{.length = 0.12}});
  const Settings settings(PushController::settings(), {{"block", "table"}});
  TestScene scene;
  scene.measured = Obstacles({sphere_at({0.0, 0.0, kTable}, kBlock)});
  const auto make = [&] {
    return PushController(
        {.robot = robot, .settings = settings, .timestep = kTimestep, .scene = scene});
  };
  CHECK_THROWS_WITH(make(), "block = table: must be one geom of the scene, of a body that moves");
  scene.moving_count = 1;
  CHECK_NOTHROW(make());
  scene.measured = {};
  CHECK_THROWS_AS(make(), ModelError);
}

TEST_CASE("push: allocates nothing in a step", "[controllers]") {
  Pushing pushing({0.05, 0.03}, {-0.03, 0.0});
  while (pushing.pushes() < 1.0) pushing.step();
  AllocationCounter counter;
  pushing.controller.update(pushing.arm.measurement, pushing.run.memory, pushing.run.next,
                            pushing.run.command, pushing.run.report);
  CHECK(counter.count() == 0);
}
