#include "tendril/mobile/youbot_targets.hpp"

#include <cstddef>
#include <numbers>
#include <span>

#include "tendril/kinematics/random_states.hpp"

namespace tendril {
namespace {

constexpr double kDegree = std::numbers::pi / 180.0;
constexpr double kSquare = 1.0;         // half of the platform's square [m]
constexpr double kInsideLimits = 0.02;  // [rad]
constexpr double kLowestTool = 0.03;    // [m]

}  // namespace

const std::array<ListedToolTarget, 20>& listed_youbot_targets() noexcept {
  static constexpr std::array<ListedToolTarget, 20> kTargets = {{
      {0.5, -1.0, 0.357, 60, 20, -45},  {1.0, 0.0, 0.197, 45, 270, 45},
      {0.8, 0.3, 0.10, 0, -90, 0},      {0.6, -0.4, 0.20, 0, -60, -30},
      {1.2, 0.5, 0.30, 30, 0, 20},      {-0.7, 0.2, 0.25, -45, -30, 170},
      {0.0, 1.0, 0.40, 90, 30, 90},     {-0.5, -0.8, 0.15, 0, -90, -120},
      {0.4, 0.4, 0.50, 0, 45, 45},      {1.5, -1.0, 0.05, 20, -70, -35},
      {0.9, 0.0, 0.60, 0, 80, 0},       {0.3, -0.3, 0.35, -90, 10, -60},
      {2.0, 1.0, 0.22, 10, -20, 25},    {-1.0, 1.0, 0.28, 150, -45, 135},
      {0.7, 0.7, 0.12, -30, -80, 60},   {0.2, -1.2, 0.45, 0, 60, -80},
      {1.0, 1.0, 0.33, 120, -10, -150}, {-0.3, 0.6, 0.18, 60, -50, 100},
      {0.5, 0.0, 0.65, 0, 90, 0},       {1.1, -0.6, 0.08, -120, -75, -20},
  }};
  return kTargets;
}

ToolTarget tool_target(const ListedToolTarget& listed) noexcept {
  return tool_target({listed.x, listed.y, listed.z}, listed.roll_deg * kDegree,
                     listed.pitch_deg * kDegree, listed.yaw_deg * kDegree);
}

const std::array<double, 5>& youbot_start_joints() noexcept {
  static constexpr std::array<double, 5> kJoints = {0.0, 20.0 * kDegree, 60.0 * kDegree,
                                                    30.0 * kDegree, 0.0};
  return kJoints;
}

ToolTarget random_youbot_target(const MobileRobot& robot, std::uint64_t seed,
                                std::uint64_t index) noexcept {
  SplitMix64 random(SplitMix64(SplitMix64(seed).next() + index).next());
  std::array<double, MobileRobot::kMaxLinks + 2> storage{};
  const std::span joints(storage.data(), static_cast<std::size_t>(robot.joint_count()));
  ToolTarget target;
  do {
    const PlatformPose base{.x = random.uniform(-kSquare, kSquare),
                            .y = random.uniform(-kSquare, kSquare),
                            .heading = random.uniform(-std::numbers::pi, std::numbers::pi)};
    for (int j = 0; j < robot.joint_count(); ++j) {
      const JointLimits& limits = robot.joint_limits(j);
      joints[static_cast<std::size_t>(j)] =
          random.uniform(limits.min + kInsideLimits, limits.max - kInsideLimits);
    }
    target.X_WG = tool_pose(robot, base, joints);
  } while (target.X_WG.translation().z() < kLowestTool);
  return target;
}

}  // namespace tendril
