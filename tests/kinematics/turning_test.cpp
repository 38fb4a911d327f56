#include "tendril/kinematics/turning.hpp"

#include <catch2/catch.hpp>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"
#include "tests/support/turning_robots.hpp"

using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

TEST_CASE("turning sections: the pose is the product (2.6) with phi alone", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_turning_robot(random, random.integer(1, 6));
  const std::vector<SectionState> own = random_states(random, robot);
  const BaseState base{random.uniform(0.0, 0.3), random.angle()};

  std::vector<SectionState> states = own;
  to_untwisted(robot, states);
  CHECK(distance(tip_pose(robot, states, base), oracle_turning_tip(robot, own, base)) <
        kAlgebraTolerance);

  to_own_frames(robot, states);
  for (std::size_t i = 0; i < own.size(); ++i) {
    CHECK(states[i].theta == own[i].theta);
    CHECK(std::abs(std::remainder(states[i].phi - own[i].phi, 2.0 * std::numbers::pi)) <
          kAlgebraTolerance);
  }
}

TEST_CASE("turning sections: a robot that bends only keeps its states", "[kinematics]") {
  Random random(1);
  const ContinuumRobot robot = random_robot(random, 4);
  const std::vector<SectionState> given = random_states(random, robot);
  std::vector<SectionState> states = given;
  to_untwisted(robot, states);
  to_own_frames(robot, states);
  for (std::size_t i = 0; i < given.size(); ++i) CHECK(states[i].phi == given[i].phi);
}

TEST_CASE("roll: the angle about z after the least rotation, and back", "[kinematics]") {
  Random random(2);
  for (int k = 0; k < 200; ++k) {
    const Vector3d z = k == 0   ? Vector3d::UnitZ()
                       : k == 1 ? Vector3d(0.0, 0.0, -1.0)
                                : random.unit_vector();
    const double roll = random.angle();
    const Matrix3d R = frame_with_roll(z, roll);
    CHECK((R.transpose() * R - Matrix3d::Identity()).cwiseAbs().maxCoeff() < kAlgebraTolerance);
    CHECK(R.determinant() == Approx(1.0));
    CHECK((R.col(2) - z).cwiseAbs().maxCoeff() < kAlgebraTolerance);
    CHECK(roll_angle(R) == Approx(roll).margin(1e-9));
    if (k < 2) continue;
    // By axis and angle: the rotation with the least angle.
    const Vector3d axis = Vector3d::UnitZ().cross(z);
    const Matrix3d least =
        AngleAxisd(std::atan2(axis.norm(), z.z()), axis.normalized()).toRotationMatrix();
    CHECK(
        (least * AngleAxisd(roll, Vector3d::UnitZ()).toRotationMatrix() - R).cwiseAbs().maxCoeff() <
        1e-9);
  }
}

TEST_CASE("roll: of an arm that bends in one plane it is the spin of its base", "[kinematics]") {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.1}}, {.spin = true});
  for (const double spin : {0.0, 0.4, -2.0}) {
    const std::vector<SectionState> states{{0.7, 1.1, 0.0}, {0.4, 1.1, 0.0}};
    CHECK(roll_angle(tip_pose(robot, states, {.spin = spin}).linear()) ==
          Approx(spin).margin(kAlgebraTolerance));
  }
}
