#include "tendril/avoidance/clutter.hpp"

#include <numbers>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kShortest = 0.15, kLongest = 0.55;                 // [m] a section
constexpr double kSmallest = 0.1, kLargest = 0.3;                   // [m] radius of a sphere
constexpr double kSpread = 1.2, kMiddle = 0.8, kClearOfBase = 0.2;  // [m]
constexpr int kDrawsPerScene = 200;  // of the witness, before the spheres are drawn again

Vector3d point_in_sphere(SplitMix64& random) {
  while (true) {
    const double x = random.uniform(-1.0, 1.0), y = random.uniform(-1.0, 1.0),
                 z = random.uniform(-1.0, 1.0);
    if (x * x + y * y + z * z <= 1.0) return {x, y, z};
  }
}

Obstacles random_spheres(int count, SplitMix64& random) {
  std::vector<Obstacle> spheres;
  while (static_cast<int>(spheres.size()) < count) {
    const double radius = random.uniform(kSmallest, kLargest);
    const Vector3d center = kSpread * point_in_sphere(random) + Vector3d(0.0, 0.0, kMiddle);
    if (center.norm() >= radius + kClearOfBase) spheres.push_back(sphere_at(center, radius));
  }
  return Obstacles(std::move(spheres));
}

}  // namespace

ContinuumRobot clutter_robot(int sections) {
  return ContinuumRobot(std::vector<SectionParameters>(static_cast<std::size_t>(sections),
                                                       {.length = kShortest,
                                                        .variable_length = kLongest - kShortest,
                                                        .bend_angle_limit = std::numbers::pi}));
}

ClutterProblem clutter_problem(const ContinuumRobot& robot, const ClutterClass& kind,
                               std::uint64_t index) {
  SplitMix64 random(SplitMix64(index).next() + static_cast<std::uint64_t>(kind.spheres) * 7919u);
  BodyArcs body(robot);
  ClutterProblem problem;
  problem.witness.resize(static_cast<std::size_t>(robot.section_count()));
  while (true) {
    problem.obstacles = random_spheres(kind.spheres, random);
    for (int i = 0; i < kDrawsPerScene; ++i) {
      random_states(robot, random, problem.witness);
      const Clearance least =
          body_clearance(body, problem.witness, {}, problem.obstacles, kind.body_radius);
      if (least.distance < 0.0) continue;
      problem.target.X_BG = tip_pose(robot, problem.witness);
      problem.target.task = TipTask::PositionAndDirection;
      return problem;
    }
  }
}

}  // namespace tendril
