#include "controllers/arm/tip_load.hpp"

#include <Eigen/Eigenvalues>
#include <catch2/catch.hpp>
#include <vector>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tests/controllers/kinematic_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

constexpr double kLever = 0.05;               // of the point before the tip [m]
constexpr double kLeastMobilityShare = 0.05;  // of a direction, that the test asks of the arm
constexpr double kForceTolerance = 0.025;     // of |f|: the regularization of the weakest direction

Settings no_settings() { return Settings(std::span<const SettingInfo>{}, {}); }

/// The point that the tip holds, on its axis [m].
Vector3d held_point(const ContinuumRobot& robot, const VectorXd& q) {
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  from_coordinates(robot, q, states);
  return tip_pose(robot, states) * Vector3d(0.0, 0.0, kLever);
}

/// Its rates by central differences.
Eigen::Matrix3Xd rates(const ContinuumRobot& robot, const VectorXd& q) {
  constexpr double kStep = 1e-6;
  Eigen::Matrix3Xd J(3, q.size());
  for (Eigen::Index k = 0; k < q.size(); ++k) {
    VectorXd more = q, less = q;
    more[k] += kStep;
    less[k] -= kStep;
    J.col(k) = (held_point(robot, more) - held_point(robot, less)) / (2.0 * kStep);
  }
  return J;
}

/// A bent arm at rest or in motion, with a load on the point that its tip holds.
struct Loaded {
  explicit Loaded(unsigned seed)
      : random(seed),
        robot({{.length = 0.12}, {.length = 0.12, .variable_length = 0.05}, {.length = 0.12}}),
        settings(no_settings()),
        arm(robot, 0.002) {
    VectorXd q(robot.coordinate_count());
    for (Eigen::Index k = 0; k < q.size(); ++k) {
      const bool is_length = k == 4;
      q[k] = is_length ? random.uniform(0.0, 0.04) : random.uniform(-1.2, 1.2);
      springs.push_back(
          {.stiffness = is_length ? random.uniform(100.0, 300.0) : random.uniform(0.5, 2.0),
           .damping = random.uniform(0.0, 0.1),
           .rest = random.uniform(-0.01, 0.01)});
    }
    arm.move_to(q, {});
    J = rates(robot, q);
  }
  void load(const Vector3d& f) {
    ArmMeasurement& at = arm.measurement;
    for (Eigen::Index k = 0; k < at.q.size(); ++k) {
      const BodySpring& spring = springs[static_cast<std::size_t>(k)];
      at.q_rate[k] = random.uniform(-0.5, 0.5);
      at.gravity_moment[k] = random.uniform(-0.2, 0.2);
      at.moment[k] = spring.stiffness * (at.q[k] - spring.rest) + spring.damping * at.q_rate[k] -
                     at.gravity_moment[k] - J.col(k).dot(f);
    }
  }
  [[nodiscard]] TipLoad observer() const {
    return TipLoad({.robot = robot, .settings = settings, .timestep = 0.002, .springs = springs});
  }
  /// Least mobility of a direction, to the sum of all.
  [[nodiscard]] double least_mobility() const {
    Eigen::Matrix3d mobility = Eigen::Matrix3d::Zero();
    for (Eigen::Index k = 0; k < J.cols(); ++k)
      mobility += J.col(k) * J.col(k).transpose() / springs[static_cast<std::size_t>(k)].stiffness;
    return Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(mobility).eigenvalues()[0] /
           mobility.trace();
  }

  Random random;
  ContinuumRobot robot;
  Settings settings;
  std::vector<BodySpring> springs;
  KinematicArm arm;
  Eigen::Matrix3Xd J;
};

}  // namespace

TEST_CASE("tip load: a force on the held point is found from the moments", "[controllers]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Loaded loaded(seed);
  if (loaded.least_mobility() < kLeastMobilityShare) return;
  const Vector3d f(loaded.random.uniform(-3.0, 3.0), loaded.random.uniform(-3.0, 3.0),
                   loaded.random.uniform(-3.0, 3.0));
  loaded.load(f);
  const Vector3d p = held_point(loaded.robot, loaded.arm.measurement.q);
  const Vector3d found = loaded.observer().force(loaded.arm.measurement, p);
  CHECK((found - f).norm() < kForceTolerance * f.norm());
}

TEST_CASE("tip load: no load is no force", "[controllers]") {
  Loaded loaded(3);
  loaded.load(Vector3d::Zero());
  const Vector3d p = held_point(loaded.robot, loaded.arm.measurement.q);
  CHECK(loaded.observer().force(loaded.arm.measurement, p).norm() < 1e-9);
}

TEST_CASE("tip load: along a straight arm of constant length a force is not felt",
          "[controllers]") {
  const ContinuumRobot robot({{.length = 0.12}, {.length = 0.12}});
  const Settings settings = no_settings();
  const std::vector<BodySpring> springs(4, {.stiffness = 1.0});
  KinematicArm arm(robot, 0.002);
  const Vector3d p = arm.measurement.X_BE.translation(), f(0.5, 0.0, 2.0);
  for (Eigen::Index k = 0; k < 4; ++k)
    arm.measurement.moment[k] = -arm.measurement.tip_jacobian.col(k).head<3>().dot(f);
  const TipLoad observer(
      {.robot = robot, .settings = settings, .timestep = 0.002, .springs = springs});
  const Vector3d found = observer.force(arm.measurement, p);
  CHECK(found.x() == Approx(0.5).epsilon(kForceTolerance));
  CHECK(found.z() == Approx(0.0).margin(1e-9));
}

TEST_CASE("tip load: allocates nothing", "[controllers]") {
  Loaded loaded(5);
  loaded.load(Vector3d::UnitX());
  const TipLoad observer = loaded.observer();
  AllocationCounter counter;
  const Vector3d f =
      observer.force(loaded.arm.measurement, loaded.arm.measurement.X_BE.translation());
  CHECK(counter.count() == 0);
  CHECK(f.allFinite());
}
