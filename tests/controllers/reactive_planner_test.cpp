#include "controllers/arm/reactive_planner.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "controllers/arm/reach_controller.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Isometry3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr double kTimestep = 0.002;
constexpr double kBodyRadius = 0.008, kMargin = 0.006;  // [m]
constexpr double kReachTolerance = 2e-6;                // [m]
constexpr double kPathTolerance = 2e-4;  // [m], of the checks on a path and of the sampling here

ContinuumRobot four_sections() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 1.745};
  return ContinuumRobot({section, section, section, section});
}

Obstacle placed(Shape shape, const Vector3d& p) {
  Obstacle obstacle{std::move(shape)};
  obstacle.X_BO.translation() = p;
  return obstacle;
}

Obstacle post(double x, double z) {  // along y
  Obstacle obstacle = placed(cylinder(0.14, 0.012), {x, 0.0, z});
  obstacle.X_BO.linear() =
      Eigen::AngleAxisd(0.5 * 3.141592653589793, Vector3d::UnitX()).toRotationMatrix();
  return obstacle;
}

/// A sphere that may move, then posts, a beam, boxes and a floor; the straight arm is free.
std::vector<Obstacle> clutter() {
  return {sphere_at({-0.2, 0.0, 0.2}, 0.02),
          post(0.05, 0.14),
          post(-0.07, 0.16),
          post(0.045, 0.27),
          post(-0.13, 0.27),
          capsule_between({0.16, 0.09, 0.22}, {0.04, 0.09, 0.34}, 0.01),
          placed(box({0.03, 0.1, 0.03}), {0.17, -0.06, 0.25}),
          placed(box({0.04, 0.08, 0.02}), {-0.06, -0.08, 0.38}),
          sphere_at({0.0, -0.1, 0.2}, 0.025),
          half_space_at({0.0, -0.16, 0.0}, {0.0, 1.0, 0.0})};
}

/// Least distance of the arm's surface from the obstacles: 25 points a section, each by itself.
double sampled_clearance(const ContinuumRobot& robot, const VectorXd& q,
                         const Obstacles& obstacles) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, q, states);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int k = 0; k <= 24; ++k) {
      const Vector3d p = backbone_pose(robot, states, {}, i, k / 24.0).translation();
      least = std::min(least, obstacles.nearest(p).distance);
    }
  }
  return least - kBodyRadius;
}

/// An arm without physics among obstacles, under tendril.reach with avoidance.
struct Scene {
  explicit Scene(std::vector<Obstacle> list, int moving = 1,
                 std::vector<std::pair<std::string, std::string>> more = {},
                 const ContinuumRobot& avoiding_robot = four_sections())
      : robot(avoiding_robot),
        obstacles(std::move(list)),
        controller(make(moving, std::move(more))),
        arm(robot, kTimestep),
        run(controller, robot) {
    arm.measurement.obstacles = &obstacles;
  }
  ReachController make(int moving, std::vector<std::pair<std::string, std::string>> more) const {
    more.insert(more.end(), {{"avoidance", "true"},
                             {"obstacle_margin", std::to_string(kMargin)},
                             {"rate_limit", "1.5"}});
    const Settings settings(ReachController::settings(), more);
    TestScene scene;
    scene.measured = obstacles;
    scene.moving_count = moving;
    return ReachController({.robot = robot,
                            .settings = settings,
                            .timestep = kTimestep,
                            .body_radius = kBodyRadius,
                            .scene = scene});
  }
  [[nodiscard]] double clearance() const {
    return sampled_clearance(robot, arm.measurement.q, obstacles);
  }
  void place_sphere(const Vector3d& p) {
    Isometry3d X = Isometry3d::Identity();
    X.translation() = p;
    obstacles.set_pose(0, X);
  }

  ContinuumRobot robot;
  Obstacles obstacles;
  ReachController controller;
  KinematicArm arm;
  ControllerRun run;
};

}  // namespace

TEST_CASE("avoidance: the arm goes from target to target and its body keeps off all the way",
          "[controllers]") {
  Scene scene(clutter());
  const std::vector<Vector3d> targets{
      {0.0, 0.10, 0.33}, {-0.03, -0.08, 0.33}, {-0.1, -0.04, 0.30}, {0.05, -0.03, 0.33}};
  VectorXd last = scene.arm.measurement.q;
  for (const Vector3d& target : targets) {
    CAPTURE(target.transpose());
    scene.arm.move_target(target);
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 1000; ++i) {
      scene.run.step(scene.arm);
      if (i % 5 == 0) least = std::min(least, scene.clearance());
      REQUIRE(largest_change(scene.robot, scene.run.command.plan, last, 0.05) <=
              1.5 * kTimestep * (1.0 + 1e-9));
      last = scene.run.command.plan;
    }
    CHECK(least >= ReactivePlanner::kPathMargin * kMargin - kPathTolerance);
    CHECK(scene.run.report.status == ControllerStatus::Working);
    CHECK(scene.run.report.tip_error < kReachTolerance);
  }
}

TEST_CASE("avoidance: a section that bends in one plane does so on the whole way",
          "[controllers]") {
  const int section = GENERATE(0, 1, 2, 3);
  const BendPlane plane = GENERATE(BendPlane::XZ, BendPlane::YZ);
  CAPTURE(section, static_cast<int>(plane));
  std::vector<SectionParameters> sections(4, four_sections().section(0).parameters());
  sections[static_cast<std::size_t>(section)].bend_plane = plane;
  Scene scene(clutter(), 1, {}, ContinuumRobot(sections));
  const int across = 2 * section + (plane == BendPlane::XZ ? 1 : 0);
  for (const Vector3d& target : {Vector3d(0.0, 0.10, 0.33), Vector3d(-0.03, -0.08, 0.33)}) {
    CAPTURE(target.transpose());
    scene.arm.move_target(target);
    for (int i = 0; i < 1500; ++i) {
      scene.run.step(scene.arm);
      REQUIRE(std::abs(scene.run.command.plan[across]) < 1e-12);
      if (i % 5 == 0)
        REQUIRE(scene.clearance() >= ReactivePlanner::kPathMargin * kMargin - kPathTolerance);
    }
    CHECK(scene.run.report.status == ControllerStatus::Working);
    CHECK(scene.run.report.tip_error < kReachTolerance);
  }
}

TEST_CASE("avoidance: where no free line leads, a search finds the way, and the body keeps off",
          "[controllers]") {
  for (const Vector3d& target : {Vector3d(0.11, 0.012, 0.243), Vector3d(0.094, 0.082, 0.226)}) {
    CAPTURE(target.transpose());
    Scene scene(clutter());
    scene.arm.move_target(target);
    double least = std::numeric_limits<double>::infinity();
    bool waited = false;
    for (int i = 0; i < 4000; ++i) {
      scene.run.step(scene.arm);
      waited = waited || (scene.run.report.tip_error > 0.1 && scene.run.report.progress == 0.0);
      if (i % 5 == 0) least = std::min(least, scene.clearance());
    }
    CHECK(waited);
    CHECK(least >= ReactivePlanner::kGuardMargin * kMargin - kPathTolerance);
    CHECK(scene.run.report.status == ControllerStatus::Working);
    CHECK(scene.run.report.tip_error < kReachTolerance);
  }
}

TEST_CASE("avoidance: the same targets without it lead the arm through obstacles",
          "[controllers]") {
  Scene scene(clutter());
  const std::vector<std::pair<std::string, std::string>> texts{{"rate_limit", "1.5"}};
  const Settings settings(ReachController::settings(), texts);
  ReachController plain(
      {scene.robot, settings, kTimestep, std::numeric_limits<double>::infinity()});
  ControllerRun run(plain, scene.robot);
  double least = std::numeric_limits<double>::infinity();
  for (const Vector3d& target : {Vector3d(0.0, 0.10, 0.33), Vector3d(-0.03, -0.08, 0.33)}) {
    scene.arm.move_target(target);
    for (int i = 0; i < 1000; ++i) {
      run.step(scene.arm);
      least = std::min(least, scene.clearance());
    }
  }
  CHECK(least < -0.005);
}

TEST_CASE("avoidance: the arm backs away from a sphere that comes, and its tip does not move",
          "[controllers]") {
  Scene scene(clutter());
  const Vector3d target(0.05, -0.03, 0.33);
  scene.arm.move_target(target);
  for (int i = 0; i < 800; ++i) scene.run.step(scene.arm);
  const VectorXd before = scene.arm.measurement.q;
  std::vector<SectionState> states(scene.robot.straight().begin(), scene.robot.straight().end());
  from_coordinates(scene.robot, before, states);
  const Vector3d middle = backbone_pose(scene.robot, states, {}, 1, 0.5).translation();
  // 0.1 m/s towards the middle of the arm, until it is where the arm was.
  const Vector3d from = middle + Vector3d(0.0, 0.12, 0.0), to = middle + Vector3d(0.0, 0.025, 0.0);
  double least = std::numeric_limits<double>::infinity(), largest_error = 0.0;
  for (int i = 0; i < 800; ++i) {
    const double share = std::min(1.0, 0.1 * kTimestep * i / (to - from).norm());
    scene.place_sphere(from + share * (to - from));
    scene.run.step(scene.arm);
    least = std::min(least, scene.clearance());
    if (i > 50) largest_error = std::max(largest_error, scene.run.report.tip_error);
  }
  CHECK(sampled_clearance(scene.robot, before, scene.obstacles) < 0.0);  // it would have been hit
  CHECK(least > 0.5 * kMargin);
  CHECK(scene.clearance() >= kMargin - kPathTolerance);
  CHECK(largest_error < 0.005);
  CHECK(scene.run.report.tip_error < kReachTolerance);
}

TEST_CASE("avoidance: a target inside an obstacle is reported, and the tip stops before it",
          "[controllers]") {
  Scene scene({sphere_at({0.1, 0.0, 0.3}, 0.05)}, 0);
  scene.arm.move_target({0.08, 0.0, 0.3});
  for (int i = 0; i < 800; ++i) scene.run.step(scene.arm);
  CHECK(scene.run.report.status == ControllerStatus::NotReached);
  CHECK(scene.clearance() >= kMargin - kPathTolerance);
  const Vector3d tip = scene.arm.measurement.X_BE.translation();
  CHECK((tip - Vector3d(0.1, 0.0, 0.3)).norm() ==
        Approx(0.05 + kBodyRadius + kMargin).margin(kPathTolerance));
  CHECK(scene.run.report.tip_error == Approx(0.03 + kBodyRadius + kMargin).margin(1e-3));
}

TEST_CASE("avoidance: behind a wall without an opening the arm waits", "[controllers]") {
  Scene scene({placed(box({1.0, 1.0, 0.005}), {0.0, 0.0, 0.42})}, 0);
  scene.arm.move_target({0.0, 0.02, 0.45});
  for (int i = 0; i < 300; ++i) {
    scene.run.step(scene.arm);
    REQUIRE(scene.clearance() > 0.0);
  }
  CHECK(scene.run.report.status == ControllerStatus::NotReached);
}

TEST_CASE("avoidance: the memory is everything that it knows, and a step allocates nothing",
          "[controllers]") {
  Scene one(clutter()), other(clutter());
  other.arm.move_target({0.0, 0.1, 0.33});
  for (int i = 0; i < 60; ++i) other.run.step(other.arm);  // another past
  one.arm.move_target({-0.03, -0.08, 0.33});
  one.place_sphere({0.1, 0.15, 0.2});
  for (int i = 0; i < 40; ++i) one.run.step(one.arm);
  other.run.memory = one.run.memory;
  for (int i = 0; i < 200; ++i) {
    one.place_sphere({0.1 - 0.0002 * i, 0.15, 0.2});
    if (i == 50) one.arm.move_target({0.0, 0.1, 0.33});
    AllocationCounter counter;
    one.run.update(one.arm.measurement);
    REQUIRE(counter.count() == 0);
    other.run.update(one.arm.measurement);
    REQUIRE(one.run.command.q == other.run.command.q);
    REQUIRE(one.run.next == other.run.next);
    one.run.update(one.arm.measurement);  // again: the same
    REQUIRE(one.run.next == other.run.next);
    other.run.advance();
    one.run.advance();
    one.arm.move_to(one.run.command.q, one.run.command.base);
    one.arm.pass_time();
  }
}

TEST_CASE("avoidance: refused settings name what is wrong", "[controllers]") {
  CHECK_THROWS_WITH(Scene(clutter(), 1, {{"solver", "fabrikx"}}),
                    Catch::Contains("solver = fabrikx: must be auto with avoidance"));
  CHECK_THROWS_WITH(Scene(clutter(), 1, {{"obstacle_margin", "-1"}}),
                    Catch::Contains("obstacle_margin = -1: must be in [0, 1]"));
  CHECK_THROWS_WITH(Scene({sphere_at({0, 0, 0}, 0.05)}, 0),
                    Catch::Contains("the arm's base is nearer to an obstacle"));
  CHECK_THROWS_WITH(
      Scene({sphere_at({0, 0, 0.2}, 0.03)}, 0),
      Catch::Contains("the straight arm, from which it starts, overlaps an obstacle by 38 mm"));
}
