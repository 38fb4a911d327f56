#include "tendril/estimation/sensors.hpp"

#include <catch2/catch.hpp>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/elastic_arms.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr SensorKind kKinds[] = {SensorKind::TendonLength, SensorKind::Position,
                                 SensorKind::Direction,    SensorKind::Rotation,
                                 SensorKind::Curvature,    SensorKind::BaseForce,
                                 SensorKind::BaseMoment,   SensorKind::Coordinates};

/// One sensor of each kind at one place.
std::vector<Sensor> all_sensors(const BodyPlace& place) {
  std::vector<Sensor> sensors;
  for (const SensorKind kind : kKinds) sensors.push_back({kind, 1e-3, place});
  return sensors;
}

VectorXd reading(ArmSensors& sensors, int s, ElasticArm& arm, const VectorXd& x,
                 const ArmInput& input) {
  VectorXd value(sensors.reading_size(s));
  sensors.read(s, arm, x, input, value);
  return value;
}

}  // namespace

TEST_CASE("sensors: derivatives equal differences", "[estimation]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  Random random(seed);
  const bool guided = seed % 8 >= 4;
  ElasticArm arm = guided ? random_guided_arm(random, 1 + int(seed) % 4)
                          : random_elastic_arm(random, 1 + int(seed) % 4, seed % 16 < 8);
  const int last = arm.robot().section_count() - 1;
  arm.set_force_place({random.integer(0, last), random.uniform(0.0, 1.0)});
  const double fraction = seed % 3 == 0 ? 1.0 : random.uniform(0.0, 1.0);  // b moves the tip alone
  std::vector<Sensor> all = all_sensors({random.integer(0, last), fraction});
  if (guided) all.erase(all.begin());  // it has no tendons
  ArmSensors sensors(arm, all);
  const ArmInput input = random_input(random, arm);
  const VectorXd x = random_state(random, arm);
  for (int s = 0; s < sensors.count(); ++s) {
    CAPTURE(s);
    const int rows = sensors.row_count(s);
    Eigen::MatrixXd jacobian(sensors.largest_row_count(), x.size()), unused = jacobian;
    VectorXd residual(rows), plus(rows), minus(rows);
    const VectorXd value = reading(sensors, s, arm, x, input);
    sensors.residual(s, arm, x, input, value, residual, jacobian);
    CHECK(residual.norm() < 1e-12);  // exact at the state
    for (Eigen::Index k = 0; k < x.size(); ++k) {
      const double step = kDifferenceStep * (k < arm.scale().size() ? arm.scale()[k] : 1.0);
      VectorXd y = x;
      y[k] += step;
      sensors.residual(s, arm, y, input, value, plus, unused);
      y[k] -= 2.0 * step;
      sensors.residual(s, arm, y, input, value, minus, unused);
      const VectorXd expected = (minus - plus) / (2.0 * step);
      CHECK((jacobian.col(k).head(rows) - expected).norm() < 1e-6 * (1.0 + expected.norm()));
    }
  }
}

TEST_CASE("sensors: readings are those of the body", "[estimation]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 1 + int(seed) % 4);
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  for (CoordinateSpring& spring : parameters.springs) spring.stiffness *= 1e12;  // no deflection
  ElasticArm arm(robot, parameters);
  const BodyPlace place{random.integer(0, robot.section_count() - 1), random.uniform(0.1, 0.9)};
  ArmSensors sensors(arm, all_sensors(place));
  const ArmInput input = random_input(random, arm);
  const VectorXd x = random_state(random, arm);
  const std::vector<SectionState> states = states_of(robot, x);
  const auto pose = [&](double fraction) {
    return backbone_pose(robot, states, input.base, place.section, fraction);
  };
  const Isometry3d X = pose(place.fraction);
  CHECK((reading(sensors, 1, arm, x, input) - X.translation()).norm() < kAlgebraTolerance);
  CHECK((reading(sensors, 2, arm, x, input) - X.linear().col(2)).norm() < kAlgebraTolerance);
  CHECK((rotation_by(reading(sensors, 3, arm, x, input)) - X.linear()).norm() < 1e-9);

  // The curvature is the change of the tangent with the arc length, in the frame of the place.
  const SectionState& state = states[std::size_t(place.section)];
  const double ds = 1e-6, S = robot.section(place.section).length() + state.extension;
  const Vector3d bend =
      X.linear().transpose() *
      (pose(place.fraction + ds).linear() - pose(place.fraction - ds).linear()).col(2) /
      (2.0 * ds * S);
  CHECK((reading(sensors, 4, arm, x, input) - bend.head<2>()).norm() < 1e-6 * (1.0 + bend.norm()));

  // The base holds what gravity and the force do to the whole arm.
  Vector3d force = x.segment<3>(2 * arm.coordinate_count());
  Vector3d moment = oracle_tip_pose(robot, states, input.base).translation().cross(force);
  for (const ElasticArm::MassPoint& point : arm.masses()) {
    const Vector3d weight = point.mass * arm.parameters().gravity;
    const Vector3d p =
        backbone_pose(robot, states, input.base, point.place.section, point.place.fraction)
            .translation();
    force += weight;
    moment += p.cross(weight);
  }
  CHECK((reading(sensors, 5, arm, x, input) - force).norm() < kAlgebraTolerance);
  CHECK((reading(sensors, 6, arm, x, input) - moment).norm() < kAlgebraTolerance);
  CHECK(reading(sensors, 7, arm, x, input) == x.head(arm.coordinate_count()));
}

TEST_CASE("sensors: a stretched tendon is wound up farther", "[estimation]") {
  const ContinuumRobot robot({{.length = 0.1}});
  ElasticArm arm(robot, {.springs = {{1.0, 0.1, 0.0}, {1.0, 0.1, 0.0}},
                         .section_masses = {0.0},
                         .tendons = {{.base_distance = 0.01, .end_distance = 0.01}},
                         .tendon_compliances = {1e-4}});
  ArmSensors sensors(arm, {{SensorKind::TendonLength, 1e-4}});
  VectorXd x = VectorXd::Zero(arm.state_size());
  x[0] = 0.5;
  x[7] = -0.2;  // friction
  const ArmInput input{VectorXd::Constant(1, 5.0), VectorXd::Zero(2), {}};
  CHECK(reading(sensors, 0, arm, x, input)[0] == Approx(-0.01 * 0.5 - 1e-4 * 5.0 * 0.8));
}

TEST_CASE("sensors: errors name sensor, field, value and range", "[estimation]") {
  Random random(1);
  const ElasticArm arm = random_elastic_arm(random, 2);
  CHECK_THROWS_WITH(ArmSensors(arm, {{SensorKind::Position, 1e-3}, {SensorKind::Position, 0.0}}),
                    "sensor 2: deviation = 0, must be > 0");
  CHECK_THROWS_WITH(ArmSensors(arm, {{SensorKind::Curvature, 0.1, {2, 0.5}}}),
                    "sensor 1: place.section = 2, must be in [-1, 1]");
  CHECK_THROWS_WITH(ArmSensors(arm, {{SensorKind::Position, 1e-3, {0, 0.5}, -0.1}}),
                    "sensor 1: delay = -0.1 s, must be >= 0");
}
