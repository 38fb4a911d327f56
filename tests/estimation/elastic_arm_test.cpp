#include "tendril/estimation/elastic_arm.hpp"

#include <catch2/catch.hpp>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/elastic_arms.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

Vector3d position(const ElasticArm& arm, const VectorXd& q, const BaseState& base,
                  const BodyPlace& place) {
  return backbone_pose(arm.robot(), states_of(arm.robot(), q), base, place.section, place.fraction)
      .translation();
}

/// The derivative of a function of q by central differences, a row per coordinate.
template <class Function>
Eigen::MatrixXd differences(const ElasticArm& arm, VectorXd q, const Function& function) {
  Eigen::MatrixXd rows(arm.coordinate_count(), VectorXd(function(q)).size());
  for (Eigen::Index k = 0; k < rows.rows(); ++k) {
    const double value = q[k];
    q[k] = value + kDifferenceStep;
    const VectorXd plus = function(q);
    q[k] = value - kDifferenceStep;
    rows.row(k) = (plus - VectorXd(function(q))).transpose() / (2.0 * kDifferenceStep);
    q[k] = value;
  }
  return rows;
}

ElasticArm plain_arm(double stiffness, Vector3d gravity = Vector3d::Zero()) {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 3.0};
  return ElasticArm(ContinuumRobot{section, section, section},
                    {.springs = std::vector<CoordinateSpring>(6, {stiffness, 0.1 * stiffness, 0.0}),
                     .section_masses = {0.03, 0.03, 0.03},
                     .gravity = gravity});
}

ArmInput no_input(const ElasticArm& arm) {
  return {VectorXd::Zero(arm.tendon_count()), VectorXd::Zero(arm.coordinate_count()), {}};
}

}  // namespace

TEST_CASE("elastic arm: moments are the gradient of the energy", "[estimation]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4);
  const Eigen::Index n = arm.coordinate_count();
  const ArmInput input = random_input(random, arm);
  const VectorXd x = random_state(random, arm);
  const Vector3d force = x.segment<3>(2 * n);
  const ElasticArmParameters& parameters = arm.parameters();
  // Work of the tensions, the weights, the force and the springs.
  const auto work = [&](const VectorXd& q) {
    VectorXd lengths(arm.tendon_count());
    arm.tendons().lengths(q, lengths);
    double sum = force.dot(position(arm, q, input.base, parameters.force_place));
    for (Eigen::Index t = 0; t < lengths.size(); ++t)
      sum -= input.tension[t] * (1.0 + x[2 * n + 3 + t]) * lengths[t];
    for (const ElasticArm::MassPoint& point : arm.masses())
      sum += point.mass * parameters.gravity.dot(position(arm, q, input.base, point.place));
    for (Eigen::Index k = 0; k < n; ++k) {
      const CoordinateSpring& spring = parameters.springs[std::size_t(k)];
      sum -= 0.5 * spring.stiffness * (q[k] - spring.rest) * (q[k] - spring.rest);
    }
    return VectorXd::Constant(1, sum);
  };
  const VectorXd expected = differences(arm, x.head(n), work).col(0);
  const VectorXd moment = arm.balance(x, input).moment;
  CHECK((moment - expected).norm() < 1e-7 * (1.0 + expected.norm()));
}

TEST_CASE("elastic arm: mass is that of the kinetic energy", "[estimation]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4);
  const Eigen::Index n = arm.coordinate_count();
  const ArmInput input = random_input(random, arm);
  const VectorXd x = random_state(random, arm), rate = x.segment(n, n);
  double energy = 0.0;
  for (const ElasticArm::MassPoint& point : arm.masses()) {
    const auto at = [&](double time) {
      return position(arm, x.head(n) + time * rate, input.base, point.place);
    };
    const Vector3d velocity = (at(kDifferenceStep) - at(-kDifferenceStep)) / (2 * kDifferenceStep);
    energy += 0.5 * point.mass * velocity.squaredNorm();
  }
  CHECK(0.5 * rate.dot(arm.balance(x, input).mass * rate) == Approx(energy).epsilon(1e-6));
}

TEST_CASE("elastic arm: the derivative of the balance equals differences", "[estimation]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4);
  arm.set_force_place({random.integer(0, arm.robot().section_count() - 1), 0.7});
  const Eigen::Index n = arm.coordinate_count();
  const ArmInput input = random_input(random, arm);
  const VectorXd x = random_state(random, arm);
  VectorXd y = x;
  const Eigen::MatrixXd expected = differences(arm, x.head(n), [&](const VectorXd& q) {
    y.head(n) = q;
    return arm.balance(y, input).moment;
  });
  const ElasticArm::Balance& balance = arm.linearize(x, input);
  CHECK((balance.by_q.transpose() - expected).norm() < 1e-5 * expected.norm());
  // Linear in force and friction, so one change of any size shows the derivative.
  const VectorXd moment = balance.moment, change = normal_vector(random, 3 + arm.tendon_count());
  const VectorXd added =
      balance.by_force * change.head<3>() + balance.by_friction * change.tail(arm.tendon_count());
  y = x;
  y.tail(change.size()) += change;
  CHECK((arm.balance(y, input).moment - moment - added).norm() < 1e-12 * (1.0 + added.norm()));
}

TEST_CASE("elastic arm: two points stand for the mass of a section", "[estimation]") {
  const auto bend = GENERATE(0.0, 0.5, 1.0, 1.5, 2.0);
  CAPTURE(bend);
  const Vector3d gravity(9.81, 0.0, -3.0);
  ElasticArm arm = plain_arm(1.0, gravity);
  const VectorXd q = (VectorXd(6) << bend, 0.0, 0.0, bend, -bend, 0.0).finished();
  const auto work = [&](const VectorXd& at) {  // of masses all along the body
    constexpr int kParts = 200;
    double sum = 0.0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < kParts; ++j)
        sum += 0.03 / kParts * gravity.dot(position(arm, at, {}, {i, (j + 0.5) / kParts}));
    return VectorXd::Constant(1, sum);
  };
  const VectorXd expected = differences(arm, q, work).col(0);
  VectorXd x = VectorXd::Zero(arm.state_size());
  x.head(6) = q;
  const VectorXd weight = arm.balance(x, no_input(arm)).moment + q;  // stiffness 1
  CHECK((weight - expected).norm() < 0.005 * expected.norm());
}

TEST_CASE("elastic arm: a small force bends it like hinges at the sections' middles",
          "[estimation]") {
  ElasticArm arm = plain_arm(0.5);
  VectorXd x = VectorXd::Zero(arm.state_size());
  x[12] = 0.01;  // along x [N]
  for (int i = 0; i < 2000; ++i) arm.advance(0.01, x, no_input(arm));
  double deflection = 0.0;  // virtual work: sum lever^2 / K
  for (const double lever : {0.25, 0.15, 0.05}) deflection += 0.01 * lever * lever / 0.5;
  CHECK(position(arm, x.head(6), {}, {2, 1.0}).x() == Approx(deflection).epsilon(1e-4));
  CHECK(x.segment(6, 6).norm() < 1e-9);
}

TEST_CASE("elastic arm: stiff and light arms are stable at long steps", "[estimation]") {
  const auto step = GENERATE(0.001, 0.005, 0.02);
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(step, seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 1 + int(seed) % 4);
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  const double stiffer = std::pow(10.0, random.uniform(0.0, 5.0));
  for (CoordinateSpring& spring : parameters.springs) {
    spring.stiffness *= stiffer;
    spring.damping *= stiffer * random.uniform(0.01, 1.0);
  }
  if (seed % 2 == 0) parameters.section_masses.assign(parameters.section_masses.size(), 0.0);
  ElasticArm arm(robot, parameters);
  const Eigen::Index n = arm.coordinate_count();
  const ArmInput input = random_input(random, arm);
  VectorXd x = random_state(random, arm);
  x.segment(n, n) *= 0.1;
  for (int i = 0; i < 40000; ++i) arm.advance(step, x, input);
  REQUIRE(x.allFinite());
  CHECK(arm.balance(x, input).moment.norm() < 1e-6 * parameters.springs[0].stiffness);
}

TEST_CASE("elastic arm: errors name field, value and range", "[estimation]") {
  const ContinuumRobot robot({{.length = 0.1}});
  const ElasticArmParameters good{.springs = {{1.0, 0.1, 0.0}, {1.0, 0.1, 0.0}},
                                  .section_masses = {0.1}};
  const auto message = [&](auto change) {
    ElasticArmParameters parameters = good;
    change(parameters);
    try {
      (void)ElasticArm(robot, parameters);
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message([](auto&) {}).empty());
  CHECK(message([](auto& p) { p.springs.pop_back(); }) ==
        "elastic arm: springs has 1 values, must have 2");
  CHECK(message([](auto& p) { p.springs[1].damping = 0.0; }) ==
        "elastic arm: spring 2: damping = 0 N m s/rad or N s/m, must be > 0");
  CHECK(message([](auto& p) { p.section_masses[0] = -1.0; }) ==
        "elastic arm: section_masses = -1 kg, must be >= 0");
  CHECK(message([](auto& p) { p.force_place.section = 1; }) ==
        "elastic arm: force_place.section = 1, must be in [-1, 0]");
}
