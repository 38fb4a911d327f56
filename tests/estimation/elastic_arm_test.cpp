#include "tendril/estimation/elastic_arm.hpp"

#include <algorithm>
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

TEST_CASE("elastic arm: with the gravity of a turned base it is the arm made with it",
          "[estimation]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = random_robot(random, 1 + int(seed) % 4);
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  ElasticArm turned(robot, parameters);
  parameters.gravity = 9.81 * random.unit_vector();
  ElasticArm made(robot, parameters);
  turned.set_gravity(parameters.gravity);
  const ArmInput input = random_input(random, made);
  const VectorXd x = random_state(random, made);
  CHECK(turned.linearize(x, input).moment == made.linearize(x, input).moment);
  CHECK(turned.linearize(x, input).by_q == made.linearize(x, input).by_q);
  const Eigen::Index n = made.coordinate_count();
  Eigen::Matrix<double, 3, Eigen::Dynamic> by_q(3, n), again(3, n);
  Eigen::Matrix3d by_force, by_force_again;
  CHECK(turned.position(x, input.base, {}, by_q, by_force) ==
        made.position(x, input.base, {}, again, by_force_again));
  CHECK(by_q == again);
}

TEST_CASE("elastic arm: moments are the gradient of the energy", "[estimation]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  ElasticArm arm = seed % 8 < 4 ? random_elastic_arm(random, 1 + int(seed) % 4)
                                : random_held_arm(random, 1 + int(seed) % 4);
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
    for (Eigen::Index t = 0; t < lengths.size(); ++t) {
      const double mean =
          input.tension[t] + 0.5 * parameters.tendon_stiffnesses[std::size_t(t)] * lengths[t];
      sum -= mean * (1.0 + x[2 * n + 3 + t]) * lengths[t];
    }
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
  const int sections = 1 + int(seed) % 4;
  ElasticArm arm = seed % 16 < 4   ? random_elastic_arm(random, sections)
                   : seed % 16 < 8 ? random_held_arm(random, sections)
                                   : random_guided_arm(random, sections);
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
  const Eigen::Index t = arm.tendon_count();
  const VectorXd moment = balance.moment, change = normal_vector(random, x.size() - 2 * n);
  const VectorXd added = balance.by_force * change.head<3>() +
                         balance.by_friction * change.segment(3, t) +
                         balance.by_load * change.segment(3 + t, arm.load_count());
  y = x;
  y.tail(change.size()) += change;
  CHECK((arm.balance(y, input).moment - moment - added).norm() < 1e-12 * (1.0 + added.norm()));
}

TEST_CASE("elastic arm: in a guide it is the arm of what is outside", "[estimation]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  ElasticArm arm = random_guided_arm(random, 1 + int(seed) % 4);
  const ElasticArmParameters& parameters = arm.parameters();
  const Eigen::Index n = arm.coordinate_count();
  ArmInput input = random_input(random, arm);
  if (seed % 4 == 0) input.base.feed = parameters.guide_length;  // all of it
  input.base.spin = 0.0;
  const VectorXd x = random_state(random, arm), e = arm.exposure(input.base);

  // An arm of the parts outside, which begins where the guide ends.
  std::vector<SectionParameters> sections;
  ElasticArmParameters outside{.springs = {}, .section_masses = {}, .gravity = parameters.gravity};
  outside.payload = parameters.payload;
  double end = input.base.feed - parameters.guide_length;  // of each section, past the guide
  std::vector<Eigen::Index> first;                         // coordinate of each part
  for (int i = 0; i < arm.robot().section_count(); ++i) {
    const double L = arm.robot().section(i).length();
    end += L;
    const double part = std::clamp(end / L, 0.0, 1.0);
    CHECK(e[2 * i] == Approx(part).margin(1e-12));
    if (part == 0.0) continue;
    first.push_back(2 * i);
    sections.push_back({.length = part * L, .bend_angle_limit = 3.0});
    outside.section_masses.push_back(part * parameters.section_masses[std::size_t(i)]);
    for (const int k : {2 * i, 2 * i + 1}) {
      const CoordinateSpring& spring = parameters.springs[std::size_t(k)];
      outside.springs.push_back(
          {spring.stiffness / part, spring.damping / part, part * spring.rest});
    }
  }
  ElasticArm rest(ContinuumRobot(sections), outside);
  const Eigen::Index m = rest.coordinate_count();
  Eigen::MatrixXd map = Eigen::MatrixXd::Zero(m, n);  // from q to its bends
  for (std::size_t i = 0; i < first.size(); ++i)
    for (const Eigen::Index k : {0, 1})
      map(2 * Eigen::Index(i) + k, first[i] + k) = e[first[i] + k];
  VectorXd y = VectorXd::Zero(rest.state_size());
  y.head(m) = map * x.head(n);
  y.segment<3>(2 * m) = x.segment<3>(2 * n);
  ArmInput own = no_input(rest);
  own.base.feed = parameters.guide_length;

  const int last = arm.robot().section_count() - 1, own_last = rest.robot().section_count() - 1;
  Eigen::Matrix<double, 6, Eigen::Dynamic> J(6, n), own_J(6, m);
  Eigen::Matrix<double, 3, Eigen::Dynamic> by_q(3, n), own_by_q(3, m);
  Eigen::Matrix3d by_force, own_by_force;
  for (const double fraction : {1.0, 0.6, 0.05}) {
    CAPTURE(fraction);
    // Of the part of the last section outside.
    const BodyPlace place{last, 1.0 - e[2 * last] * (1.0 - fraction)},
        own_place{own_last, fraction};
    CHECK(arm.pose(x.head(n), input.base, place, J)
              .isApprox(rest.pose(y.head(m), own.base, own_place, own_J), 1e-9));
    CHECK((J - own_J * map).norm() < 1e-9);
    const Vector3d p = arm.position(x, input.base, place, by_q, by_force);
    CHECK((p - rest.position(y, own.base, own_place, own_by_q, own_by_force)).norm() < 1e-9);
    CHECK((by_q - own_by_q * map).norm() < 1e-9);
    CHECK((by_force - own_by_force).norm() < 1e-9);
    const Eigen::Vector2d bend = arm.curvature(x, input.base, place, by_q, by_force);
    CHECK((bend - rest.curvature(y, own.base, own_place, own_by_q, own_by_force)).norm() < 1e-8);
    CHECK((by_q - own_by_q * map).norm() < 1e-8);
    arm.rotation_jacobian(x.head(n), input.base, place, by_q);
    rest.rotation_jacobian(y.head(m), own.base, own_place, own_by_q);
    CHECK((by_q - own_by_q * map).norm() < 1e-9);
  }
  // Work and energy are the same; loads of contacts do work on q.
  const VectorXd load = e.cwiseProduct(arm.scale_moment()).cwiseProduct(x.tail(n + 3).head(n));
  const ElasticArm::Balance& balance = arm.balance(x, input);
  const ElasticArm::Balance& own_balance = rest.balance(y, own);
  const VectorXd expected = map.transpose() * own_balance.moment + load;
  const Eigen::MatrixXd mass = map.transpose() * own_balance.mass * map;
  for (Eigen::Index k = 0; k < n; ++k)
    if (e[k] > 1e-3) CHECK(balance.moment[k] == Approx(expected[k]).margin(1e-9));
  CHECK((balance.mass - mass).norm() < 1e-9);
  // In the guide the body is straight, whatever its state says.
  if (e[0] < 1.0) {
    const BodyPlace inside{0, 0.5 * (1.0 - e[0])};
    const Vector3d p = arm.position(x, input.base, inside, by_q, by_force);
    CHECK((p - Vector3d(0, 0, input.base.feed + inside.fraction * arm.robot().section(0).length()))
              .norm() < kAlgebraTolerance);
    CHECK(by_q.norm() + by_force.norm() == 0.0);
    CHECK(arm.curvature(x, input.base, inside, by_q, by_force).norm() == 0.0);
  }
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

TEST_CASE("elastic arm: at rest it is the beam of Euler and Bernoulli", "[estimation]") {
  // Three sections of 0.1 m with K = EI / 0.1 m; along z, small loads along x.
  const double EI = 0.05, l = 0.3, force = 0.005, weight = 0.002 / l;  // [N], [N/m]
  const bool by_weight = GENERATE(false, true);
  ElasticArm arm =
      plain_arm(EI / 0.1, by_weight ? Vector3d(weight * l / 0.09, 0, 0) : Vector3d(0, 0, 0));
  VectorXd x = VectorXd::Zero(arm.state_size());
  if (!by_weight) x[12] = force;
  for (int i = 0; i < 2000; ++i) arm.advance(0.01, x, no_input(arm));
  CHECK(x.segment(6, 6).norm() < 1e-9);
  Eigen::Matrix<double, 3, Eigen::Dynamic> by_q(3, 6);
  Eigen::Matrix3d by_force;
  const auto deflection = [&](double s) {
    const int section = std::min(2, int(s / 0.1 + 1e-9));
    return arm.position(x, {}, {section, s / 0.1 - section}, by_q, by_force).x();
  };
  const auto curvature = [&](double s) {
    const int section = std::min(2, int(s / 0.1 + 1e-9));
    return arm.curvature(x, {}, {section, s / 0.1 - section}, by_q, by_force).x();
  };
  if (by_weight) {
    for (const double s : {0.1, 0.2, 0.3})
      CHECK(deflection(s) ==
            Approx(weight * s * s * (6 * l * l - 4 * l * s + s * s) / (24 * EI)).epsilon(2e-4));
  } else {
    for (const double s : {0.02, 0.05, 0.1, 0.16, 0.3})
      CHECK(deflection(s) == Approx(force * s * s * (3 * l - s) / (6 * EI)).epsilon(2e-4));
    for (const double s : {0.02, 0.05, 0.16, 0.3})
      CHECK(curvature(s) == Approx(force * (l - s) / EI).epsilon(2e-4).margin(1e-6));
  }
}

TEST_CASE("elastic arm: it is where a finer one is", "[estimation]") {
  // The same bodies of four times as many sections under gravity and a force, bent by moments: the
  // deflection within sections is first order, so a part of the difference remains.
  double even = 0.0, uneven = 0.0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const Vector3d gravity = 9.81 * random.unit_vector(), force = 0.5 * random.unit_vector();
    const VectorXd moment = 0.3 * normal_vector(random, 6);
    const auto tip = [&](int parts, bool with_deflection) {
      const SectionParameters section{.length = 0.1 / parts, .bend_angle_limit = 3.0};
      const std::size_t count = std::size_t(3 * parts);
      ElasticArm arm(
          ContinuumRobot(std::vector<SectionParameters>(count, section)),
          {.springs = std::vector<CoordinateSpring>(2 * count, {0.5 * parts, 0.1 * parts, 0.0}),
           .section_masses = std::vector<double>(count, 0.03 / parts),
           .gravity = gravity});
      ArmInput input = no_input(arm);
      for (Eigen::Index k = 0; k < input.moment.size(); ++k)
        input.moment[k] = moment[2 * (k / (2 * parts)) + k % 2];
      VectorXd x = VectorXd::Zero(arm.state_size());
      x.segment<3>(2 * arm.coordinate_count()) = force;
      for (int i = 0; i < 600; ++i) arm.advance(0.05, x, input);
      Eigen::Matrix<double, 3, Eigen::Dynamic> by_q(3, arm.coordinate_count());
      Eigen::Matrix3d by_force;
      return with_deflection ? arm.position(x, {}, {}, by_q, by_force)
                             : position(arm, x, {}, {3 * parts - 1, 1.0});
    };
    const Vector3d fine = tip(4, true);
    even += (tip(1, false) - fine).squaredNorm();
    uneven += (tip(1, true) - fine).squaredNorm();
  }
  CAPTURE(std::sqrt(even / 10), std::sqrt(uneven / 10));
  CHECK(std::sqrt(uneven) < 0.3 * std::sqrt(even));
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
  for (int i = 0; i < 10000; ++i) arm.advance(step, x, input);
  REQUIRE(x.allFinite());
  CHECK(arm.balance(x, input).moment.norm() < 1e-6 * parameters.springs[0].stiffness);
}

TEST_CASE("elastic arm: servos of tendons hold it as stiff springs do, at any step",
          "[estimation]") {
  // Without weight, at rest: (K + J^T k J) (q - straight) = -J^T T, with a tendon to each side.
  const auto stiffness = GENERATE(1e2, 1e4, 1e6);
  const ContinuumRobot robot({{.length = 0.1, .bend_angle_limit = 3.0}});
  ElasticArmParameters parameters{.springs = {{0.5, 0.02, 0.0}, {0.5, 0.02, 0.0}},
                                  .section_masses = {0.02},
                                  .gravity = Vector3d::Zero(),
                                  .tendon_stiffnesses = {stiffness, stiffness},
                                  .tendon_dampings = {0.01 * stiffness, 0.01 * stiffness}};
  for (const double angle : {0.0, 3.0})
    parameters.tendons.push_back({.angle = angle, .base_distance = 0.01, .end_distance = 0.01});
  ElasticArm arm(robot, parameters);
  const ArmInput input{Eigen::Vector2d(3.0 + 1e-3 * stiffness, 3.0), VectorXd::Zero(2), {}};
  VectorXd x = VectorXd::Zero(arm.state_size());
  for (int i = 0; i < 4000; ++i) arm.advance(0.005, x, input);
  const Eigen::MatrixXd& J = arm.tendons().jacobian();
  const Eigen::Matrix2d K = 0.5 * Eigen::Matrix2d::Identity() + stiffness * J.transpose() * J;
  const Eigen::Vector2d rest = -K.inverse() * J.transpose() * input.tension;
  REQUIRE(rest.norm() > 0.005);
  CHECK((x.head<2>() - rest).norm() < 1e-6 * rest.norm());
}

TEST_CASE("elastic arm: across the plane of its bends it does not move", "[estimation]") {
  Random random(GENERATE(range(0u, 10u)));
  const ContinuumRobot robot{{.length = 0.1, .bend_angle_limit = 3.0, .bend_plane = BendPlane::XZ},
                             {.length = 0.1, .bend_angle_limit = 3.0, .bend_plane = BendPlane::YZ}};
  ElasticArm arm(robot, random_elastic_parameters(random, robot));
  CHECK((arm.moves(0) && !arm.moves(1) && !arm.moves(2) && arm.moves(3)));
  VectorXd x = random_state(random, arm);
  for (const Eigen::Index k : {1, 2, 5, 6}) x[k] = 0.0;
  const ArmInput input = random_input(random, arm);
  // The others move as if springs of any stiffness held those across.
  ElasticArmParameters stiff = arm.parameters();
  for (const std::size_t k : {1u, 2u}) stiff.springs[k] = {1e9, 1e9, 0.0};
  ElasticArm held(ContinuumRobot{{.length = 0.1, .bend_angle_limit = 3.0},
                                 {.length = 0.1, .bend_angle_limit = 3.0}},
                  stiff);
  VectorXd y = x;
  for (int i = 0; i < 200; ++i) {
    arm.advance(0.005, x, input);
    held.advance(0.005, y, input);
  }
  for (const Eigen::Index k : {1, 2, 5, 6}) CHECK(x[k] == 0.0);
  CHECK((x - y).norm() < 1e-6);
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
  CHECK(message([](auto& p) { p.uneven_stiffnesses = {0.0}; }) ==
        "elastic arm: uneven_stiffnesses = 0 N m/rad, must be > 0");
  CHECK(message([](auto& p) {
          p.tendons = {{.base_distance = 0.01, .end_distance = 0.01}};
          p.tendon_stiffnesses = {1e3};
          p.tendon_compliances = {1e-5};
        }) == "elastic arm: tendon_compliances = 1e-05 m/N, must be in [0, 0]");
  CHECK(message([](auto& p) { p.force_place.section = 1; }) ==
        "elastic arm: force_place.section = 1, must be in [-1, 0]");
}
