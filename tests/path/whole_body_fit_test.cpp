#include "tendril/path/whole_body_fit.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

/// A damped iteration run until it rests.
constexpr double kRests = 1e-6;  // [m]

Isometry3d random_pose(Random& random, double size) {
  Isometry3d X = Isometry3d::Identity();
  X.translation() = random.uniform(0.0, size) * random.unit_vector();
  X.linear() = Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
  return X;
}

SerialChain random_chain(Random& random, int joints) {
  std::vector<ChainJoint> all;
  for (int j = 0; j < joints; ++j) {
    all.push_back({.X_PJ = random_pose(random, 0.3),
                   .axis = random.unit_vector(),
                   .is_slide = random.integer(0, 3) == 0,
                   .zero = random.uniform(-0.5, 0.5)});
  }
  return {all, random_pose(random, 0.1)};
}

VectorXd random_positions(Random& random, const SerialChain& chain, double size) {
  VectorXd q(chain.joint_count());
  for (int j = 0; j < q.size(); ++j) q[j] = random.uniform(-size, size);
  return q;
}

/// Product of exponentials: screws of all joints in their zero pose, in the root frame.
Isometry3d by_screws(const SerialChain& chain, const VectorXd& q) {
  Isometry3d X = Isometry3d::Identity(), at_zero = Isometry3d::Identity();
  for (int j = 0; j < chain.joint_count(); ++j) {
    const ChainJoint& joint = chain.joint(j);
    at_zero = at_zero * joint.X_PJ;
    const Vector3d axis = at_zero.linear() * joint.axis, point = at_zero.translation();
    const double moved = q[j] - joint.zero;
    if (joint.is_slide)
      X = X * Eigen::Translation3d(moved * axis);
    else
      X = X * Eigen::Translation3d(point) * Eigen::AngleAxisd(moved, axis) *
          Eigen::Translation3d(-point);
  }
  return X * at_zero * chain.end();
}

/// A robot arm of six hinges on which plain_robot() hangs; roomy in its limits.
SerialChain robot_arm(double limit = 3.0) {
  const auto joint = [&](const Vector3d& at, const Vector3d& axis) {
    ChainJoint j{.axis = axis, .min = -limit, .max = limit};
    j.X_PJ.translation() = at;
    return j;
  };
  const Vector3d y = Vector3d::UnitY(), z = Vector3d::UnitZ();
  Isometry3d X_end = Isometry3d::Identity();
  X_end.translation() = Vector3d(0, 0, 0.09);
  return {{joint({0, 0, 0.16}, z), joint({0, 0, 0}, y), joint({0, 0, 0.43}, y),
           joint({0, 0, 0.22}, z), joint({0, 0, 0.2}, y), joint({0, 0, 0}, z)},
          X_end};
}

VectorXd bent() {
  VectorXd q(6);
  q << 0.1, -0.6, 1.9, 0.2, 0.4, -0.1;
  return q;
}

struct Pose {
  VectorXd joints;
  std::vector<SectionState> states;
};

/// The body of a pose as a curve over arc length, straight before the base.
struct Body {
  const ContinuumRobot& robot;
  const SerialChain& chain;
  const Pose& pose;

  Vector3d operator()(double s) const {
    const Isometry3d X_RB = chain.pose(pose.joints);
    double start = 0.0;
    for (int i = 0; i < robot.section_count(); ++i) {
      const double length =
          robot.section(i).length() + pose.states[static_cast<std::size_t>(i)].extension;
      if (s <= start + length || i == robot.section_count() - 1)
        return X_RB * backbone_pose(robot, pose.states, {}, i, (s - start) / length).translation();
      start += length;
    }
    return Vector3d::Zero();
  }
};

}  // namespace

TEST_CASE("serial chain: poses are those of products of exponentials", "[path]") {
  Random random(11);
  for (int trial = 0; trial < 50; ++trial) {
    const SerialChain chain = random_chain(random, random.integer(1, 8));
    const VectorXd q = random_positions(random, chain, 2.0);
    CHECK((chain.pose(q).matrix() - by_screws(chain, q).matrix()).norm() < 1e-12);
  }
  CHECK(SerialChain().pose(VectorXd(0)).matrix().isIdentity());
  CHECK_THROWS_AS(SerialChain(std::vector<ChainJoint>(17), Isometry3d::Identity()), ModelError);
}

TEST_CASE("serial chain: axes and anchors are those about which the end moves", "[path]") {
  Random random(12);
  constexpr double kStep = 1e-6;
  for (int trial = 0; trial < 20; ++trial) {
    const SerialChain chain = random_chain(random, 5);
    const VectorXd q = random_positions(random, chain, 1.0);
    Eigen::Matrix3Xd axes(3, 5), anchors(3, 5);
    const Vector3d p = chain.pose(q, axes, anchors).translation();
    for (int j = 0; j < 5; ++j) {
      VectorXd more = q, less = q;
      more[j] += kStep;
      less[j] -= kStep;
      const Vector3d moved =
          (chain.pose(more).translation() - chain.pose(less).translation()) / (2 * kStep);
      const Vector3d axis = axes.col(j);
      const Vector3d said = chain.joint(j).is_slide ? axis : axis.cross(p - anchors.col(j));
      CHECK((moved - said).norm() < 1e-8);
    }
  }
}

TEST_CASE("whole body: a curve that is a body of this robot is followed exactly", "[path]") {
  const ContinuumRobot robot = plain_robot();
  const SerialChain chain = robot_arm();
  Random random(13);
  for (int trial = 0; trial < 20; ++trial) {
    Pose goal{bent(), {}};
    for (int i = 0; i < robot.section_count(); ++i)
      goal.states.push_back({.theta = random.uniform(0.2, 1.2), .phi = random.angle()});
    Pose pose = goal;
    for (double& q : pose.joints) q += random.uniform(-0.1, 0.1);
    for (SectionState& state : pose.states) state.theta += random.uniform(-0.1, 0.1);
    WholeBodyFit fit(robot, chain, {.iterations = 500, .damping = 1e-4});
    const Body body{robot, chain, goal};
    const double length = fit.length(goal.states);
    CHECK(length == Approx(0.3));
    CHECK(fit.follow(body, length, 0.0, pose.joints, pose.states) < kRests);
    CHECK(fit.deviation(body, length, 0.0, chain.pose(pose.joints), pose.states) < 10 * kRests);
  }
}

TEST_CASE("whole body: only the part past the entry is held to the curve", "[path]") {
  // A curve that turns at once where the tip begins: a body of constant curvature cannot have both
  // the straight part before and the bent one behind.
  const ContinuumRobot robot = one_arc_robot();
  const SerialChain chain = robot_arm();
  const Isometry3d X = chain.pose(bent());
  constexpr double kRadius = 0.1, kEntry = 0.1;
  const auto curve = [&](double s) -> Vector3d {
    const double past = std::max(0.0, s - kEntry) / kRadius;
    return X * Vector3d(kRadius * (1 - std::cos(past)), 0,
                        std::min(s, kEntry) + kRadius * std::sin(past));
  };
  const auto deviation = [&](double entry) {
    Pose pose{bent(), {robot.straight().begin(), robot.straight().end()}};
    WholeBodyFit fit(robot, chain, {.iterations = 500, .free_weight = 1e-3, .damping = 1e-4});
    CHECK(fit.follow(curve, kEntry + 0.05, entry, pose.joints, pose.states) < 1e-4);
    return fit.deviation(curve, kEntry + 0.05, kEntry, chain.pose(pose.joints), pose.states);
  };
  CHECK(deviation(kEntry) < 0.3 * deviation(0.0));
}

TEST_CASE("whole body: the tip goes to a target, and limits are kept", "[path]") {
  const ContinuumRobot robot = plain_robot();
  Random random(14);
  for (int trial = 0; trial < 20; ++trial) {
    const SerialChain chain = robot_arm();
    Pose pose{bent(), {robot.straight().begin(), robot.straight().end()}};
    const Vector3d tip = chain.pose(pose.joints) * tip_pose(robot, pose.states).translation();
    const Vector3d target = tip + 0.15 * random.unit_vector();
    WholeBodyFit fit(robot, chain, {.iterations = 300});
    CHECK(fit.reach(target, pose.joints, pose.states) < kRests);
    const Vector3d reached = chain.pose(pose.joints) * tip_pose(robot, pose.states).translation();
    CHECK((reached - target).norm() < kRests);
    CHECK(fit.tip_distance(target, pose.joints, pose.states) < kRests);
  }
  const SerialChain narrow = robot_arm(0.3);
  for (int trial = 0; trial < 20; ++trial) {
    Pose pose{VectorXd::Zero(6), {robot.straight().begin(), robot.straight().end()}};
    WholeBodyFit fit(robot, narrow, {.iterations = 50});
    (void)fit.reach(2.0 * random.unit_vector(), pose.joints, pose.states);
    CHECK(pose.joints.cwiseAbs().maxCoeff() <= 0.3);
    for (int i = 0; i < robot.section_count(); ++i)
      CHECK(pose.states[static_cast<std::size_t>(i)].theta <=
            robot.section(i).bend_angle_limit() + 1e-12);
  }
}

TEST_CASE("whole body: what displaces the sections is made up for", "[path]") {
  const ContinuumRobot robot = plain_robot();
  const SerialChain chain = robot_arm();
  Pose pose{bent(), {robot.straight().begin(), robot.straight().end()}};
  Eigen::Matrix3Xd displaced = Eigen::Matrix3Xd::Zero(3, 3);
  displaced.row(0) << 0.001, 0.002, 0.003;
  const Vector3d tip = chain.pose(pose.joints) * tip_pose(robot, pose.states).translation();
  WholeBodyFit fit(robot, chain, {.iterations = 300});
  fit.set_deflection(displaced);
  CHECK(fit.reach(tip, pose.joints, pose.states) < kRests);
  const Isometry3d X_RB = chain.pose(pose.joints);
  const Vector3d reached =
      X_RB * (tip_pose(robot, pose.states).translation() + displaced.rowwise().sum());
  CHECK((reached - tip).norm() < kRests);
}

TEST_CASE("whole body: a step takes nothing from the heap", "[path]") {
  const ContinuumRobot robot = plain_robot();
  const SerialChain chain = robot_arm();
  Pose pose{bent(), {robot.straight().begin(), robot.straight().end()}};
  WholeBodyFit fit(robot, chain);
  const auto line = [](double s) { return Vector3d(0.3, 0.0, 0.5 + s); };
  const AllocationCounter counter;
  (void)fit.follow(line, 0.4, 0.3, pose.joints, pose.states);
  (void)fit.reach(Vector3d(0.4, 0.1, 0.6), pose.joints, pose.states);
  (void)fit.deviation(line, 0.4, 0.3, chain.pose(pose.joints), pose.states);
  CHECK(counter.count() == 0);
}
