#include "controllers/mobile/trajectory_generator.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kTimestep = 0.004;
constexpr double kRounding = 1e-9;

Eigen::VectorXd random_configuration(Random& random, const MobileRobot& robot) {
  Eigen::VectorXd x(configuration_size(robot));
  x.head<3>() << random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.angle();
  for (int j = 0; j < robot.joint_count(); ++j)
    x[kPlatformSize + j] = random.uniform(robot.joint_limits(j).min, robot.joint_limits(j).max);
  return x;
}

}  // namespace

TEST_CASE("a motion from rest goes straight, meets its goal exactly and remains there",
          "[controllers]") {
  const MobileRobot robot(youbot());
  TrajectoryGenerator motion(robot, {}, 1.0, kTimestep);
  Random random(1);
  for (int i = 0; i < 30; ++i) {
    const Eigen::VectorXd start = random_configuration(random, robot);
    const Eigen::VectorXd goal = random_configuration(random, robot);
    const Eigen::VectorXd still = Eigen::VectorXd::Zero(start.size());
    Eigen::VectorXd x = start, v = still;
    const Eigen::VectorXd along = (goal - start).normalized();
    int steps = 0;
    for (; steps < 5000 && ((goal - x).norm() > kRounding || v.norm() > kRounding); ++steps) {
      motion.step(goal, still, x, v);
      const Eigen::VectorXd off = (x - start) - along.dot(x - start) * along;
      CHECK(off.norm() < 1e-7);
    }
    CHECK(steps < 5000);
    // Not slower than half the pace that the slowest coordinate needs at its limit.
    const double fastest = motion.speed_ratio(goal - start);
    CHECK(steps * kTimestep < 2.0 * fastest + 2.0);
    motion.step(goal, still, x, v);
    CHECK((x - goal).norm() < kRounding);
  }
}

TEST_CASE("speeds, accelerations and joint limits hold however the goal jumps", "[controllers]") {
  const MobileRobot robot(youbot());
  const MobileSpeedLimits limits;
  Random random(2);
  for (const double share : {1.0, 0.4}) {
    TrajectoryGenerator motion(robot, limits, share, kTimestep);
    Eigen::VectorXd x = random_configuration(random, robot), v = Eigen::VectorXd::Zero(x.size());
    Eigen::VectorXd goal = x, rate = v;
    double fastest = 0.0;
    for (int i = 0; i < 6000; ++i) {
      if (random.uniform(0.0, 1.0) < 0.01) {
        goal = random_configuration(random, robot);
        for (Eigen::Index k = 0; k < rate.size(); ++k) rate[k] = random.uniform(-0.5, 0.5);
      }
      const bool braking = i % 1000 > 900;
      const Eigen::VectorXd before = v, here = x;
      if (braking) {
        motion.brake(x, v);
      } else {
        motion.step(goal, rate, x, v);
      }
      CHECK(v.head<2>().norm() <= share * limits.platform_speed + kRounding);
      CHECK(std::abs(v[2]) <= share * limits.turn_speed + kRounding);
      CHECK(v.tail(5).cwiseAbs().maxCoeff() <= share * limits.joint_speed + kRounding);
      const Eigen::VectorXd a = (v - before) / kTimestep;
      CHECK(a.head<2>().norm() <= share * limits.platform_acceleration + kRounding);
      CHECK(std::abs(a[2]) <= share * limits.turn_acceleration + kRounding);
      CHECK(a.tail(5).cwiseAbs().maxCoeff() <= share * limits.joint_acceleration + 1e-6);
      CHECK((x - here - kTimestep * v).norm() < kRounding);
      CHECK(within_limits(robot, joints_of(x), kRounding));
      fastest = std::max(fastest, motion.speed_ratio(v));
    }
    CHECK(fastest > 0.9);
  }
}

TEST_CASE("braking ends where it was foreseen", "[controllers]") {
  const MobileRobot robot(youbot());
  TrajectoryGenerator motion(robot, {}, 1.0, kTimestep);
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const Eigen::VectorXd goal = random_configuration(random, robot);
    const Eigen::VectorXd still = Eigen::VectorXd::Zero(goal.size());
    Eigen::VectorXd x = Eigen::VectorXd::Zero(goal.size()), v = still, stop(goal.size());
    for (int k = 0; k < 100; ++k) motion.step(goal, still, x, v);
    motion.stop_point(x, v, stop);
    for (int k = 0; k < 1000 && v.norm() > 0.0; ++k) motion.brake(x, v);
    CHECK(v.norm() == 0.0);
    CHECK((x - stop).cwiseAbs().maxCoeff() < 1e-3);  // braking takes whole steps
  }
}

TEST_CASE("a goal that moves steadily is followed without lag", "[controllers]") {
  const MobileRobot robot(youbot());
  TrajectoryGenerator motion(robot, {}, 1.0, kTimestep);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(8), v = x, goal = x, rate = x;
  rate << 0.2, -0.1, 0.3, 0.1, -0.2, 0.1, 0.05, -0.1;
  const AllocationCounter counter;
  for (int i = 0; i < 500; ++i) {
    motion.step(goal, rate, x, v);
    goal += kTimestep * rate;
  }
  CHECK(counter.count() == 0);
  CHECK((x - goal).norm() < 1e-6);
}
