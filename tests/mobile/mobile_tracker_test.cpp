#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tendril/mobile/postures.hpp"
#include "tendril/mobile/tracker.hpp"
#include "tendril/model_error.hpp"
#include "tests/mobile/mobile_cases.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

Eigen::VectorXd configuration(const MobileRobot& robot, const RandomPose& pose) {
  Eigen::VectorXd x(configuration_size(robot));
  set_configuration(pose.base, pose.joints, x);
  return x;
}

}  // namespace

TEST_CASE("mobile tracker: the tool's Jacobian is the derivative of its pose", "[mobile]") {
  for (const MobileRobot& robot : {MobileRobot(youbot()), long_armed_robot(5)}) {
    Random random(1);
    std::vector<Eigen::Isometry3d> frames(static_cast<std::size_t>(frame_count(robot)));
    Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, configuration_size(robot));
    for (int i = 0; i < 20; ++i) {
      const Eigen::VectorXd x = configuration(robot, random_pose(random, robot));
      mobile_frames(robot, platform_of(x), joints_of(x), frames);
      tool_jacobian(robot, frames, J);
      for (Eigen::Index k = 0; k < x.size(); ++k) {
        constexpr double kStep = 1e-6;
        Eigen::VectorXd there = x, back = x;
        there[k] += kStep;
        back[k] -= kStep;
        const Eigen::Isometry3d a = tool_pose(robot, platform_of(back), joints_of(back));
        const Eigen::Isometry3d b = tool_pose(robot, platform_of(there), joints_of(there));
        const Vector3d velocity = (b.translation() - a.translation()) / (2.0 * kStep);
        const Eigen::Matrix3d W =
            (b.linear() - a.linear()) / (2.0 * kStep) *
            tool_pose(robot, platform_of(x), joints_of(x)).linear().transpose();
        CHECK((J.col(k).head<3>() - velocity).norm() < 1e-8);
        CHECK((J.col(k).tail<3>() - Vector3d(W(2, 1), W(0, 2), W(1, 0))).norm() < 1e-8);
      }
    }
  }
}

TEST_CASE("mobile tracker: a target that moves a little is met exactly by a little motion",
          "[mobile]") {
  for (const MobileRobot& robot : {MobileRobot(youbot()), long_armed_robot(5)}) {
    Random random(2);
    MobileTracker tracker(robot);
    int tried = 0;
    for (int i = 0; i < 200; ++i) {
      const RandomPose pose = random_pose(random, robot);
      Eigen::VectorXd x = configuration(robot, pose);
      Eigen::Isometry3d X_WG = tool_pose(robot, pose.base, pose.joints);
      const Vector3d axis = X_WG.linear().col(0);
      if (std::hypot(axis.x(), axis.y()) < 0.3) continue;  // near a vertical tool azimuths run away
      ++tried;
      constexpr double kShift = 1e-3, kTurn = 2e-3;
      X_WG.translation() += kShift * random.unit_vector();
      X_WG.linear() = Eigen::AngleAxisd(kTurn, random.unit_vector()) * X_WG.linear();
      const Eigen::VectorXd before = x;
      const MobileTracker::Result result = tracker.follow(X_WG, x);
      REQUIRE(result.converged);
      const Eigen::Isometry3d X_WE = tool_pose(robot, platform_of(x), joints_of(x));
      CHECK((X_WE.translation() - X_WG.translation()).norm() < 1e-7);
      CHECK(rotation_angle(X_WE.linear(), X_WG.linear()) < 1e-7);
      CHECK(within_limits(robot, joints_of(x)));
      CHECK((x - before).cwiseAbs().maxCoeff() < 0.1);
    }
    CHECK(tried > 100);
  }
}

TEST_CASE("mobile tracker: the more the platform weighs, the more of the motion the arm does",
          "[mobile]") {
  const MobileRobot robot(youbot());
  const std::vector<double> joints = {0.0, 0.5, 1.2, 0.4, 0.0};
  double last = std::numeric_limits<double>::infinity();
  for (const double weight : {0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0}) {
    CAPTURE(weight);
    MobileTracker tracker(robot, {.platform_weight = weight});
    Eigen::VectorXd x(configuration_size(robot));
    set_configuration({}, joints, x);
    Eigen::Isometry3d X_WG = tool_pose(robot, {}, joints);
    constexpr int kSteps = 40;
    constexpr double kStep = 0.001;  // [m] each, forward and down: in the arm's plane
    for (int i = 0; i < kSteps; ++i) {
      X_WG.translation() += Vector3d(kStep, 0.0, -kStep);
      REQUIRE(tracker.follow(X_WG, x).converged);
    }
    CHECK(x.head<2>().norm() < last);
    last = x.head<2>().norm();
  }
}

TEST_CASE("mobile tracker: it refuses options out of range and allocates nothing", "[mobile]") {
  const MobileRobot robot(youbot());
  CHECK_THROWS_AS(MobileTracker(robot, {.max_iterations = 0}), ModelError);
  CHECK_THROWS_AS(MobileTracker(robot, {.platform_weight = 0.0}), ModelError);
  CHECK_THROWS_AS(MobileTracker(robot, {.limit_zone = -1.0}), ModelError);
  MobileTracker tracker(robot);
  Eigen::VectorXd x = Eigen::VectorXd::Constant(8, 0.3);
  Eigen::Isometry3d far = Eigen::Isometry3d::Identity();
  far.translation().x() = std::numeric_limits<double>::quiet_NaN();
  const AllocationCounter counter;
  const bool converged = tracker.follow(far, x).converged;
  CHECK(counter.count() == 0);
  CHECK_FALSE(converged);
}

TEST_CASE("mobile postures: every listed posture meets the target inside the limits", "[mobile]") {
  for (const MobileRobot& robot : {MobileRobot(youbot()), long_armed_robot(4)}) {
    MobilePostures postures(robot);
    Random random(3);
    int both_elbows = 0;
    for (int t = 0; t < 10; ++t) {
      const RandomPose from = random_pose(random, robot), to = random_pose(random, robot);
      const ToolTarget target = target_of(robot, to);
      const Eigen::VectorXd start = configuration(robot, from);
      Eigen::VectorXd x(start.size());
      const int count = postures.begin(target, start);
      int found = 0, elbow_up = 0;
      for (int i = 0; i < count; ++i) {
        double cost = 0.0;
        if (!postures.at(i, x, cost)) continue;
        ++found;
        const Eigen::Isometry3d X_WE = tool_pose(robot, platform_of(x), joints_of(x));
        CHECK((X_WE.translation() - target.X_WG.translation()).norm() < 2e-4);
        CHECK(rotation_angle(X_WE.linear(), target.X_WG.linear()) < 2e-3);
        CHECK(within_limits(robot, joints_of(x), 1e-9));
        CHECK(cost >= 4.0 * std::hypot(x[0] - start[0], x[1] - start[1]) - 1e-9);
        elbow_up += x[5] > 0.0 ? 1 : 0;
      }
      CHECK(found > 0);
      both_elbows += elbow_up > 0 && elbow_up < found ? 1 : 0;
    }
    CHECK(both_elbows >= 5);
    Eigen::VectorXd start = Eigen::VectorXd::Zero(configuration_size(robot));
    ToolTarget under;
    under.X_WG.translation().z() = -1.0;
    CHECK(postures.begin(under, start) == 0);
  }
  CHECK_THROWS_AS(MobilePostures(MobileRobot(youbot()), {.headings = 0}), ModelError);
  CHECK_THROWS_AS(MobilePostures(MobileRobot(youbot()), {.distances = 0}), ModelError);
  CHECK_THROWS_AS(MobilePostures(MobileRobot(youbot()), {.platform_weight = -1.0}), ModelError);
}
