#include "controllers/mobile/base_placement_controller.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/controllers/test_report.hpp"
#include "tests/controllers/test_scene.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kStep = 0.002;      // [s]
constexpr double kRounding = 1e-12;  // of speeds and accelerations
constexpr double kLength = 0.2, kWidth = 0.6, kHeight = 0.1;
constexpr double kRadius = 0.01;  // of the arm [m]

/// Three sections of 0.2 m that point forwards, 0.4 m over the floor.
MobileContinuum robot() {
  const SectionParameters section{.length = 0.2, .bend_angle_limit = 1.7};
  MobileContinuum robot{.arm = ContinuumRobot({section, section, section})};
  robot.X_PB.translation() = Eigen::Vector3d(0.1, 0.0, 0.4);
  robot.X_PB.linear() << 0, 0, 1, 0, 1, 0, -1, 0, 0;
  return robot;
}

/// The controller, a platform whose servos are perfect, and an arm that always reaches if it can.
class Drive {
 public:
  using Values = std::vector<std::pair<std::string, std::string>>;
  explicit Drive(Values settings = {}, const Obstacles* obstacles = nullptr)
      : robot_(robot()),
        settings_(BasePlacementController::settings(), std::move(settings)),
        controller_({.robot = robot_,
                     .limits = limits_,
                     .platform_length = kLength,
                     .platform_width = kWidth,
                     .settings = settings_,
                     .timestep = kStep,
                     .platform_height = kHeight,
                     .arm_radius = kRadius,
                     .scene = seen(obstacles)}),
        arm_(robot_),
        memory_(static_cast<std::size_t>(controller_.memory_size())) {
    controller_.reset(memory_);
    measurement_.timestep = kStep;
    measurement_.has_target = true;
    measurement_.obstacles = obstacles;
  }

  SceneQuery& seen(const Obstacles* obstacles) {
    if (obstacles != nullptr) scene_.measured = *obstacles;
    return scene_;
  }

  void place_target(double x, double y, double z) {
    measurement_.X_WG.translation() = Eigen::Vector3d(x, y, z);
  }

  /// One step; checks that the command keeps the limits and is its own rate's integral.
  TestReport step() {
    const PlatformRule stay{.frozen = true};
    const TipTarget target{.X_BG = measurement_.X_WG};
    if (count_++ % 10 == 0 && is_finite(target)) {  // on the way the tip does not matter
      const MobileContinuumResult reached =
          arm_.solve(target, measurement_.base, robot_.arm.straight(), stay);
      if (!reached.states.empty())
        measurement_.X_WE =
            arm_base_pose(robot_, measurement_.base) * tip_pose(robot_.arm, reached.states);
    }
    std::vector<double> next = memory_;
    MobileCommand command(0);
    TestReport report(BasePlacementController::kQuantities);
    controller_.update(measurement_, memory_, next, command, report);
    const PlatformPose &v = command.base_rate, &before = measurement_.base_velocity;
    CHECK(std::hypot(v.x, v.y) <= limits_.platform_speed + kRounding);
    CHECK(std::abs(v.heading) <= limits_.turn_speed + kRounding);
    CHECK(std::hypot(v.x - before.x, v.y - before.y) <=
          limits_.platform_acceleration * kStep + kRounding);
    CHECK(std::abs(v.heading - before.heading) <= limits_.turn_acceleration * kStep + kRounding);
    CHECK(command.base.x == Approx(measurement_.base.x + kStep * v.x).margin(kRounding));
    CHECK(command.base.y == Approx(measurement_.base.y + kStep * v.y).margin(kRounding));
    memory_ = next;
    measurement_.base = command.base;
    measurement_.base_velocity = v;
    measurement_.time += kStep;
    return report;
  }
  TestReport run(double duration) {
    TestReport report(BasePlacementController::kQuantities);
    for (int k = 0; k < std::lround(duration / kStep); ++k) report = step();
    return report;
  }

  MobileMeasurement measurement_{0};
  TestScene scene_;
  MobileSpeedLimits limits_{};
  MobileContinuum robot_;
  Settings settings_;
  BasePlacementController controller_;
  MobileContinuumSolver arm_;
  std::vector<double> memory_;
  int count_ = 0;
};

std::string refusal(const std::string& name, const std::string& value) {
  try {
    const Drive drive(Drive::Values{{name, value}});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("carry: the platform does not move where the arm reaches from", "[control]") {
  Drive drive;
  drive.place_target(0.5, 0.1, 0.5);
  const TestReport report = drive.run(3.0);
  CHECK(report.status == ControllerStatus::Finished);
  CHECK(report["targets_reached"] == 1);
  CHECK(report["base_travel"] == 0.0);
  CHECK(drive.measurement_.base.x == 0.0);
}

TEST_CASE("carry: a far target is come to, at rest there and then the error is reported",
          "[control]") {
  Drive drive;
  drive.place_target(2.0, -1.0, 0.5);
  TestReport report = drive.run(5.0);
  CHECK(report.status == ControllerStatus::Finished);
  CHECK(report["targets_reached"] == 1);
  CHECK(report.tip_error < 1e-4);
  CHECK(drive.measurement_.base_velocity.x == 0.0);
  CHECK(report["base_travel"] > 1.0);
  report = drive.run(2.5);
  CHECK(report["settled_error"] == Approx(report.tip_error).margin(1e-12));
  // An arm that then slips off is reported as well: the error is not that of the arrivals alone.
  drive.robot_.X_PB.translation().z() += 2.0;
  drive.arm_ = MobileContinuumSolver(drive.robot_);
  report = drive.run(0.1);
  CHECK(report["settled_error"] > 1.0);
}

TEST_CASE("carry: the platform comes to a target that moves, and backs away from it", "[control]") {
  Drive drive(Drive::Values{{"nearest", "0.5"}, {"reserve", "0.05"}});
  const auto distance = [&] {
    const Eigen::Isometry3d X_WB = arm_base_pose(drive.robot_, drive.measurement_.base);
    return (X_WB.translation() - drive.measurement_.X_WG.translation()).norm();
  };
  for (double x = 0.7; x < 1.5; x += 0.2 * kStep) {
    drive.place_target(x, 0.0, 0.4);
    static_cast<void>(drive.step());
  }
  drive.run(1.0);
  CHECK(distance() <= 0.6);
  CHECK(distance() >= 0.5 - 1e-9);
  const double far = drive.measurement_.base.x;
  for (double x = 1.5; x > 1.0; x -= 0.2 * kStep) {
    drive.place_target(x, 0.0, 0.4);
    static_cast<void>(drive.step());
  }
  const TestReport report = drive.run(1.0);
  CHECK(drive.measurement_.base.x < far - 0.3);
  CHECK(distance() >= 0.5 - 1e-9);
  CHECK(report.status == ControllerStatus::Finished);
}

TEST_CASE("carry: the platform never touches what it is to keep out of", "[control]") {
  // A wall across the way, 0.5 m off and 0.1 m thick.
  Drive drive(Drive::Values{{"keep_out", "0.55 0 0.1 4 0"}});
  const FloorPlan wall(kLength, kWidth, {{.x = 0.55, .y = 0.0, .length = 0.1, .width = 4.0}});
  drive.place_target(1.8, 0.0, 0.4);
  TestReport report(BasePlacementController::kQuantities);
  for (int k = 0; k < 3000; ++k) {
    report = drive.step();
    REQUIRE(wall.allows(drive.measurement_.base));
  }
  CHECK(report.status == ControllerStatus::NotReached);
  CHECK(report["ik_status"] == static_cast<double>(MobileStatus::BaseBlocked));
  CHECK(report["targets_reached"] == 0);
  CHECK(drive.measurement_.base_velocity.x == 0.0);
  // What can be reached over the wall is.
  drive.place_target(0.8, 0.0, 0.5);
  report = drive.run(4.0);
  CAPTURE(report.tip_error, report["ik_status"], drive.measurement_.base.x);
  CHECK(report.status == ControllerStatus::Finished);
}

TEST_CASE("carry: among obstacles the platform goes around a wall and stops where the arm is free",
          "[control]") {
  // A wall 0.8 m off that ends at y = 0.4, and a post behind it. Platform and straight arm,
  // sampled.
  const auto boxed = [](const Eigen::Vector3d& p, const Eigen::Vector3d& half) {
    return Obstacle{box(half), Eigen::Isometry3d(Eigen::Translation3d(p))};
  };
  Obstacles obstacles(
      {boxed({1.0, -1.8, 0.5}, {0.05, 2.2, 0.5}), boxed({2.2, 0.2, 0.4}, {0.1, 0.1, 0.4})});
  for (const Eigen::Vector3d& target :
       {Eigen::Vector3d(1.9, -0.3, 0.4), Eigen::Vector3d(1.4, -1.0, 0.5)}) {
    CAPTURE(target.transpose());
    Drive drive(Drive::Values{{"avoidance", "true"}}, &obstacles);
    drive.place_target(target.x(), target.y(), target.z());
    TestReport report(BasePlacementController::kQuantities);
    double least = 1.0;
    for (int k = 0; k < 15000 && report.status != ControllerStatus::Finished; ++k) {
      report = drive.step();
      if (k % 10 != 0) continue;
      const PlatformPose& base = drive.measurement_.base;
      const Eigen::Isometry3d X_WP = Eigen::Translation3d(base.x, base.y, 0.0) *
                                     Eigen::AngleAxisd(base.heading, Eigen::Vector3d::UnitZ());
      for (int i = 0; i <= 20; ++i) {
        const double s = i / 20.0;
        for (const double side : {-0.5, 0.5}) {
          const Eigen::Vector3d across =
              X_WP * Eigen::Vector3d(side * kLength, (s - 0.5) * kWidth, 0.05);
          least = std::min(least, obstacles.nearest(across).distance);
        }
        const Eigen::Vector3d along = X_WP * Eigen::Vector3d(0.1 + 0.6 * s, 0.0, 0.4);
        least = std::min(least, obstacles.nearest(along).distance - kRadius);
      }
    }
    CHECK(report.status == ControllerStatus::Finished);
    CHECK(report["base_travel"] > 1.2);
    CHECK(least > 0.01);
  }
}

TEST_CASE("carry: among obstacles a target in a closed box is reported, and nothing is allocated",
          "[control]") {
  std::vector<Obstacle> walls;
  for (int axis = 0; axis < 3; ++axis) {
    for (const double side : {-0.1, 0.1}) {
      Eigen::Vector3d p(1.5, 0.0, 0.4), half(0.11, 0.11, 0.11);
      p[axis] += side;
      half[axis] = 0.01;
      walls.push_back({box(half), Eigen::Isometry3d(Eigen::Translation3d(p))});
    }
  }
  const Obstacles obstacles(walls);
  Drive drive(Drive::Values{{"avoidance", "true"}}, &obstacles);
  drive.place_target(1.5, 0.0, 0.4);
  CHECK(drive.run(4.0).status == ControllerStatus::NotReached);
  CHECK(drive.run(0.1)["base_travel"] == 0.0);
  std::vector<double> next = drive.memory_;
  MobileCommand command(0);
  TestReport report(BasePlacementController::kQuantities);
  const AllocationCounter counter;
  drive.controller_.update(drive.measurement_, drive.memory_, next, command, report);
  CHECK(counter.count() == 0);
}

TEST_CASE("carry: a target that is no number makes the platform brake", "[control]") {
  Drive drive;
  drive.place_target(3.0, 0.0, 0.4);
  drive.run(1.0);
  CHECK(drive.measurement_.base_velocity.x > 0.5);
  drive.place_target(std::numeric_limits<double>::quiet_NaN(), 0.0, 0.4);
  const TestReport report = drive.run(2.0);
  CHECK(report.status == ControllerStatus::InvalidTarget);
  CHECK(std::hypot(drive.measurement_.base_velocity.x, drive.measurement_.base_velocity.y) < 1e-9);
  // The same target again is gone to again.
  drive.place_target(3.0, 0.0, 0.4);
  CHECK(drive.run(5.0).status == ControllerStatus::Finished);
}

TEST_CASE("carry: a step depends on its arguments only and allocates nothing", "[control]") {
  Drive drive;
  drive.place_target(1.5, 0.4, 0.5);
  drive.run(0.2);
  drive.place_target(1.6, 0.4, 0.5);
  const std::vector<double> memory = drive.memory_;
  std::vector<double> first = memory, second = memory;
  MobileCommand command(0);
  TestReport report(BasePlacementController::kQuantities);
  {
    const AllocationCounter counter;
    drive.controller_.update(drive.measurement_, memory, first, command, report);
    CHECK(counter.count() == 0);
  }
  drive.controller_.update(drive.measurement_, memory, second, command, report);
  CHECK(first == second);
}

TEST_CASE("carry: bad settings are refused", "[control]") {
  using Catch::Contains;
  CHECK_THAT(refusal("reserve", "1"), Contains("reserve = 1"));
  CHECK_THAT(refusal("keep_out", "1 2 3"), Contains("keep_out: must be x, y, length"));
  CHECK_THAT(refusal("keep_out", "0 0 -1 1 0"), !Contains("accepted"));
  CHECK_THAT(refusal("task", "pose"), Contains("task = pose"));
  CHECK_THAT(refusal("nearest", "nan"), Contains("nearest = nan"));
  CHECK_THROWS_WITH(Drive(Drive::Values{{"avoidance", "true"}, {"keep_out", "1 0 1 1 0"}}),
                    Contains("keep_out: must be empty with avoidance"));
  CHECK_THAT(refusal("tolerance", "0"), Contains("tolerance = 0"));
}
