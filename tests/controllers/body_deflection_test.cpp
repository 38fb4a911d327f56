#include "controllers/arm/body_deflection.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "controllers/interface/arm_memory.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr int kSections = 6;

ContinuumRobot arm_of_six() {
  return ContinuumRobot(
      std::vector<SectionParameters>(kSections, {.length = 0.1, .bend_angle_limit = 2.0}));
}

/// Middles and ends of the sections for coordinates q.
std::vector<Vector3d> points(const ContinuumRobot& robot, const VectorXd& q) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, q, states);
  std::vector<Vector3d> all;
  for (int i = 0; i < kSections; ++i) {
    for (const double fraction : {0.5, 1.0})
      all.push_back(backbone_pose(robot, states, {}, i, fraction).translation());
  }
  return all;
}

}  // namespace

TEST_CASE("body deflection: the whole body comes back to where it was meant to be",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = arm_of_six();
  BodyDeflection deflection(robot);
  KinematicArm arm(robot, 0.002);
  VectorXd q(robot.coordinate_count());
  for (double& x : q) x = random.uniform(-0.2, 0.2);
  arm.move_to(q, {});
  // Each section sags downwards, the first by 4 mm and the next ones by less.
  const double azimuth = random.angle();
  const Vector3d down(std::cos(azimuth), std::sin(azimuth), 0.0);
  for (int i = 0; i < kSections; ++i) {
    arm.measurement.uneven_deflection.col(robot.coordinate_index(i)) =
        0.004 * (kSections - i) / kSections * down;
  }
  VectorXd compensated = q;
  AllocationCounter counter;
  deflection.compensate(arm.measurement, q, compensated);
  REQUIRE(counter.count() == 0);

  const std::vector<Vector3d> meant = points(robot, q), moved = points(robot, compensated);
  Vector3d sag = Vector3d::Zero();
  double sagged = 0.0, left = 0.0;
  for (int i = 0; i < kSections; ++i) {
    const Vector3d own = arm.measurement.uneven_deflection.col(robot.coordinate_index(i));
    for (int k = 0; k < 2; ++k) {
      const auto at = static_cast<std::size_t>(2 * i + k);
      const Vector3d d = sag + 0.5 * (k + 1) * own;
      // Along the body nothing can be compensated.
      const Vector3d along = (at + 1 < meant.size() ? Vector3d(meant[at + 1] - meant[at])
                                                    : Vector3d(meant[at] - meant[at - 1]))
                                 .normalized();
      const auto across = [&](const Vector3d& v) { return (v - along.dot(v) * along).norm(); };
      sagged = std::max(sagged, across(d));
      left = std::max(left, across(moved[at] + d - meant[at]));
    }
    sag += own;
  }
  CAPTURE(sagged, left);
  CHECK(left < 0.35 * sagged);
}

TEST_CASE("body deflection: of an arm that follows its commands no other bends are better",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = arm_of_six();
  BodyDeflection deflection(robot);
  KinematicArm arm(robot, 0.002);
  VectorXd plan(robot.coordinate_count());
  for (double& x : plan) x = random.uniform(-0.5, 0.5);
  std::vector<Vector3d> sag;  // of middles and ends
  Vector3d before = Vector3d::Zero();
  for (int i = 0; i < kSections; ++i) {
    const Vector3d own = 0.004 * Vector3d(random.uniform(-1, 1), random.uniform(-1, 1), 0.0);
    arm.measurement.uneven_deflection.col(robot.coordinate_index(i)) = own;
    sag.insert(sag.end(), {before + 0.5 * own, before + own});
    before += own;
  }
  VectorXd q = plan;
  for (int step = 0; step < 100; ++step) {
    arm.move_to(q, {});
    q = plan;
    deflection.compensate(arm.measurement, plan, q);
  }
  const auto cost = [&](const VectorXd& bends) {
    const std::vector<Vector3d> meant = points(robot, plan), there = points(robot, bends);
    double sum = 9e-6 * (bends - plan).squaredNorm();  // lambda = 3 mm
    for (std::size_t at = 0; at < meant.size(); ++at)
      sum += (meant[at] - there[at] - sag[at]).squaredNorm();
    return sum;
  };
  const double least = cost(q);
  CHECK(least < 0.5 * cost(plan));
  for (Eigen::Index k = 0; k < q.size(); ++k) {
    for (const double change : {-0.01, 0.01}) {
      VectorXd other = q;
      other[k] += change;
      CHECK(cost(other) > least);
    }
  }
}

TEST_CASE("body deflection: an arm that does not deflect is left as it is", "[controllers]") {
  const ContinuumRobot robot = arm_of_six();
  BodyDeflection deflection(robot);
  const KinematicArm arm(robot, 0.002);
  const VectorXd plan = VectorXd::Constant(robot.coordinate_count(), 0.1);
  VectorXd q = plan;
  deflection.compensate(arm.measurement, plan, q);
  CHECK(q == plan);
}
