#include "tendril/kinematics/forward_kinematics.hpp"

#include <catch2/catch.hpp>

#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

std::vector<SectionState> reference_states() {
  return {{60 * kDegree, 30 * kDegree, 0.0},
          {45 * kDegree, -110 * kDegree, 0.015},
          {20 * kDegree, 75 * kDegree, 0.030}};
}

}  // namespace

TEST_CASE("forward kinematics: reference pose of a three-section robot", "[kinematics]") {
  const Isometry3d X_BE = tip_pose(mixed_robot(), reference_states());
  const Vector3d p(58.865084112, 6.300401780, 120.289764488);
  Matrix3d R;
  R << 0.751590512, 0.078367623, 0.654958180,  //
      -0.180677319, 0.979402569, 0.090146073,  //
      -0.634403190, -0.186089021, 0.750268931;
  CHECK((X_BE.translation() / kMillimeter - p).cwiseAbs().maxCoeff() < 1e-8);
  CHECK((X_BE.linear() - R).cwiseAbs().maxCoeff() < kPrintedTolerance);
}

TEST_CASE("forward kinematics: reference pose with feed and spin", "[kinematics]") {
  const Isometry3d X_BE =
      tip_pose(mixed_robot(), reference_states(), {.feed = 0.012, .spin = 25 * kDegree});
  const Vector3d p(50.687219267, 30.587562719, 132.289764488);
  const Vector3d z(0.555496322, 0.358497375, 0.750268931);
  CHECK((X_BE.translation() / kMillimeter - p).cwiseAbs().maxCoeff() < 1e-8);
  CHECK((X_BE.linear().col(2) - z).cwiseAbs().maxCoeff() < kPrintedTolerance);
}

TEST_CASE("forward kinematics: equals the product of all sub-section matrices", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, random.integer(1, 8));
  const std::vector<SectionState> states = random_states(random, robot);
  const BaseState base{random.uniform(0.0, 0.3), random.angle()};
  CHECK(distance(tip_pose(robot, states, base), oracle_tip_pose(robot, states, base)) <
        kAlgebraTolerance);
}

TEST_CASE("forward kinematics: end poses, backbone points and the tip agree", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 4);
  const std::vector<SectionState> states = random_states(random, robot);
  const BaseState base{random.uniform(0.0, 0.3), random.angle()};
  CHECK(distance(backbone_pose(robot, states, base, 0, 0.0), base_pose(base)) < kAlgebraTolerance);
  Isometry3d end = base_pose(base);
  for (int i = 0; i < 4; ++i) {
    end = end * section_end_pose(robot.section(i), states[std::size_t(i)]);
    CHECK(distance(end, backbone_pose(robot, states, base, i, 1.0)) < kAlgebraTolerance);
    if (i < 3)
      CHECK(distance(end, backbone_pose(robot, states, base, i + 1, 0.0)) < kAlgebraTolerance);
  }
  CHECK(distance(end, tip_pose(robot, states, base)) < kAlgebraTolerance);
}

TEST_CASE("forward kinematics: sections in one plane stay in it", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 5);
  std::vector<SectionState> states = random_states(random, robot);
  const double phi = random.angle();
  for (SectionState& state : states) state.phi = phi;
  const Vector3d normal(-std::sin(phi), std::cos(phi), 0.0);
  const Isometry3d X_BE = tip_pose(robot, states);
  CHECK(std::abs(normal.dot(X_BE.translation())) < kAlgebraTolerance);
  CHECK((X_BE.linear() * normal - normal).norm() < kAlgebraTolerance);
}

TEST_CASE("forward kinematics: scale scales it", "[kinematics]") {
  const ContinuumRobot one{{.length = 0.1}, {.length = 0.05, .variable_length = 0.05}};
  const ContinuumRobot ten{{.length = 1.0}, {.length = 0.5, .variable_length = 0.5}};
  const std::vector<SectionState> states{{1.0, 0.4, 0.0}, {0.8, -2.0, 0.03}};
  const std::vector<SectionState> scaled{{1.0, 0.4, 0.0}, {0.8, -2.0, 0.3}};
  CHECK((tip_pose(one, states).translation() * 10 - tip_pose(ten, scaled).translation()).norm() <
        kAlgebraTolerance);
}
