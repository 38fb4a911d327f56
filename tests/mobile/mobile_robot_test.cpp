#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/mobile/kinematics.hpp"
#include "tendril/mobile/robot.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;

TEST_CASE("mobile robot: bad parameters are refused by name", "[mobile]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    const char* text;
    std::function<void(MobileRobotParameters&)> spoil;
  };
  const std::vector<Case> cases = {
      {"link count = 0, must be in [2, 32]", [](auto& p) { p.links.clear(); }},
      {"link count = 1, must be in [2, 32]", [](auto& p) { p.links.resize(1); }},
      {"link count = 33, must be in [2, 32]",
       [](auto& p) { p.links.assign(33, ArmLink{.length = 0.1}); }},
      {"arm link 2: length = 0 m, must be > 0", [](auto& p) { p.links[1].length = 0.0; }},
      {"arm link 3: length = nan m, must be > 0", [=](auto& p) { p.links[2].length = nan; }},
      {"arm link 1: min = 1 rad, must be <= max = -1 rad",
       [](auto& p) { p.links[0].limits = {.min = 1.0, .max = -1.0}; }},
      {"yaw joint: min = 2 rad, must be <= max = 1 rad",
       [](auto& p) { p.yaw = {.min = 2.0, .max = 1.0}; }},
      {"roll joint: max = nan rad, must be in [-4 pi, 4 pi]", [=](auto& p) { p.roll.max = nan; }},
      {"arm link 1: max = inf rad, must be in [-4 pi, 4 pi]",
       [](auto& p) { p.links[0].limits.max = std::numeric_limits<double>::infinity(); }},
      {"shoulder_offset = -0.1 m, must be >= 0", [](auto& p) { p.shoulder_offset = -0.1; }},
      {"shoulder_height = nan m, must be finite", [=](auto& p) { p.shoulder_height = nan; }},
      {"mount_x = nan m, must be finite", [=](auto& p) { p.mount_x = nan; }},
      {"tool_tilt = 2 rad, must be in [-pi/2, pi/2]", [](auto& p) { p.tool_tilt = 2.0; }},
      {"platform_width = 0 m, must be > 0", [](auto& p) { p.platform_width = 0.0; }},
      {"priorities count = 2, must be 0 or the number of links",
       [](auto& p) {
         p.priorities = {1.0, 1.0};
       }},
      {"priorities = 0, must be in (0, 1000]",
       [](auto& p) {
         p.priorities = {1.0, 0.0, 1.0};
       }},
      {"priorities = -1, must be in (0, 1000]",
       [](auto& p) {
         p.priorities = {1.0, -1.0, 1.0};
       }},
      {"priorities = nan, must be in (0, 1000]",
       [=](auto& p) {
         p.priorities = {nan, 1.0, 1.0};
       }},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.text) {
      MobileRobotParameters parameters = youbot();
      c.spoil(parameters);
      CHECK_THROWS_WITH(MobileRobot(parameters), Catch::Contains(c.text));
      CHECK_THROWS_AS(MobileRobot(parameters), ModelError);
    }
  }
}

TEST_CASE("mobile robot: the youBot at zero is upright", "[mobile]") {
  const MobileRobot robot(youbot());
  const std::array<double, 5> zero{};
  const Eigen::Isometry3d X = tool_pose(robot, {}, zero);
  // Public dimensions: 0.143 + 0.024 + 0.033 forward; the arm's 0.5075 on a shoulder at 0.245.
  CHECK((X.translation() - Eigen::Vector3d(0.2, 0.0, 0.7525)).norm() < kAlgebraTolerance);
  CHECK((X.linear().col(0) - Eigen::Vector3d::UnitZ()).norm() < kAlgebraTolerance);
}

TEST_CASE("mobile robot: the example pose of the reference meets its target", "[mobile]") {
  const MobileRobot robot(youbot());
  const PlatformPose base{.x = -0.038, .y = -0.629, .heading = 0.0};
  const std::array<double, 5> joints = {-45.0 * kDegree, 83.4 * kDegree, -1.9 * kDegree,
                                        -11.5 * kDegree, 60.0 * kDegree};
  const ToolTarget target =
      tool_target({0.5, -1.0, 0.357}, 60.0 * kDegree, 20.0 * kDegree, -45.0 * kDegree);
  const Eigen::Isometry3d X = tool_pose(robot, base, joints);
  constexpr double kPrintedPosition = 1.5e-3, kPrintedAngle = 2e-3;  // rounded to mm and 0.1 deg
  CHECK((X.translation() - target.X_WG.translation()).norm() < kPrintedPosition);
  CHECK(rotation_angle(X.linear(), target.X_WG.linear()) < kPrintedAngle);
}

TEST_CASE("mobile robot: forward kinematics is the product of its joints' transforms", "[mobile]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  MobileRobotParameters parameters = youbot();
  parameters.mount_y = random.uniform(-0.1, 0.1);
  parameters.tool_tilt = random.uniform(-0.3, 0.3);
  const int extra = random.integer(0, 3);
  for (int i = 0; i < extra; ++i) parameters.links.push_back({.length = 0.1});
  const MobileRobot robot(parameters);
  const RandomPose pose = random_pose(random, robot);
  const Eigen::Isometry3d expected = tool_pose_by_product(robot, pose.base, pose.joints);
  CHECK(tool_pose(robot, pose.base, pose.joints).isApprox(expected, kAlgebraTolerance));

  std::vector<Eigen::Isometry3d> frames(static_cast<std::size_t>(frame_count(robot)));
  mobile_frames(robot, pose.base, pose.joints, frames);
  CHECK(frames.back().isApprox(expected, kAlgebraTolerance));
  const std::size_t last = frames.size() - 2;
  const Eigen::Vector3d end =
      frames[last] * Eigen::Vector3d(0.0, 0.0, robot.parameters().links.back().length);
  CHECK((end - expected.translation()).norm() < kAlgebraTolerance);
  for (std::size_t i = 2; i < last; ++i) {
    const Eigen::Isometry3d next = frames[i] *
                                   Eigen::Translation3d(0.0, 0.0, parameters.links[i - 2].length) *
                                   Eigen::AngleAxisd(pose.joints[i], Eigen::Vector3d::UnitY());
    CHECK(frames[i + 1].isApprox(next, kAlgebraTolerance));
  }
  for (const Eigen::Isometry3d& frame : frames)
    CHECK(std::abs(frame.linear().determinant() - 1.0) < kAlgebraTolerance);
}

TEST_CASE("mobile robot: the angles of an orientation mean azimuth, elevation and roll",
          "[mobile]") {
  Random random(3);
  for (int k = 0; k < 50; ++k) {
    const double roll = random.angle(), pitch = random.angle(), yaw = random.angle();
    const Eigen::Matrix3d expected = (Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()) *
                                      Eigen::AngleAxisd(-pitch, Eigen::Vector3d::UnitY()) *
                                      Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX()))
                                         .toRotationMatrix();
    CHECK(tool_orientation(roll, pitch, yaw).isApprox(expected, kAlgebraTolerance));
    const double angle = random.uniform(0.0, 3.1);
    const Eigen::Matrix3d rotated =
        expected * Eigen::AngleAxisd(angle, random.unit_vector()).toRotationMatrix();
    CHECK(std::abs(rotation_angle(expected, rotated) - angle) < kAlgebraTolerance);
  }
}

TEST_CASE("mobile robot: the angles of an orientation bring it back", "[mobile]") {
  SplitMix64 random(11);
  for (int k = 0; k < 200; ++k) {
    const double roll = random.uniform(-3.1, 3.1), yaw = random.uniform(-3.1, 3.1);
    const double pitch =
        k % 4 == 0 ? (k % 8 == 0 ? 0.5 : -0.5) * std::numbers::pi : random.uniform(-1.57, 1.57);
    CAPTURE(roll, pitch, yaw);
    const Eigen::Matrix3d R = tool_orientation(roll, pitch, yaw);
    const Eigen::Vector3d angles = tool_angles(R);
    CHECK(rotation_angle(R, tool_orientation(angles[0], angles[1], angles[2])) < 1e-9);
    if (k % 4 != 0) CHECK((angles - Eigen::Vector3d(roll, pitch, yaw)).norm() < 1e-9);
  }
  // Past the vertical the same orientation has other angles.
  const Eigen::Matrix3d over = tool_orientation(0.3, 2.0, 0.4);
  const Eigen::Vector3d angles = tool_angles(over);
  CHECK(std::abs(angles[1]) < 0.5 * std::numbers::pi);
  CHECK(rotation_angle(over, tool_orientation(angles[0], angles[1], angles[2])) < 1e-9);
}
