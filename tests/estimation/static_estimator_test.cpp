#include "tendril/estimation/static_estimator.hpp"

#include <catch2/catch.hpp>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/elastic_arms.hpp"

using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

/// An arm at rest, and what its sensors read.
struct Rest {
  VectorXd x;
  std::vector<VectorXd> values;
  std::vector<Reading> readings;
};

/// Brings an arm to rest with this force and friction, its masses apart from their inertia.
VectorXd at_rest(ElasticArm arm, const ArmInput& input, VectorXd x) {
  const Eigen::Index n = arm.coordinate_count();
  for (int i = 0; i < 200; ++i) {  // Newton
    const ElasticArm::Balance& balance = arm.linearize(x, input);
    x.head(n) -= balance.by_q.fullPivLu().solve(balance.moment);
  }
  x.segment(n, n).setZero();
  return x;
}

Rest rest_of(ElasticArm& arm, ArmSensors& sensors, const ArmInput& input, const VectorXd& x,
             Random* noise) {
  Rest rest{at_rest(arm, input, x), {}, {}};
  for (int s = 0; s < sensors.count(); ++s) {
    rest.values.emplace_back(sensors.reading_size(s));
    sensors.read(s, arm, rest.x, input, rest.values.back());
    if (noise)
      rest.values.back() += sensors[s].deviation * normal_vector(*noise, rest.values.back().size());
  }
  for (int s = 0; s < sensors.count(); ++s)
    rest.readings.push_back(
        {s, {rest.values[std::size_t(s)].data(), std::size_t(rest.values[std::size_t(s)].size())}});
  return rest;
}

/// Encoders, a tracker of the whole tip pose, a force sensor at the base.
std::vector<Sensor> many_sensors() {
  return {{SensorKind::TendonLength, 5e-5},
          {SensorKind::Position, 5e-4},
          {SensorKind::Direction, 5e-3},
          {SensorKind::BaseForce, 0.02},
          {SensorKind::BaseMoment, 0.005}};
}

/// A start for the search that is not the answer: the rest without force and friction.
VectorXd start_of(const ElasticArm& arm, const ArmInput& input) {
  return at_rest(arm, input, VectorXd::Zero(arm.state_size())).head(arm.coordinate_count());
}

}  // namespace

TEST_CASE("static estimator: exact without noise", "[estimation]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4);
  const ArmInput input = random_input(random, arm);
  const Eigen::Index n = arm.coordinate_count();
  // Priors hardly count: the readings and the balance determine all but the friction, which is 0.
  StaticEstimator estimator(arm, many_sensors(), {.force_deviation = 1e4});
  ArmSensors sensors = estimator.sensors();
  VectorXd x = VectorXd::Zero(arm.state_size());
  x.head(n) = arm.rest();
  x.segment<3>(2 * n) = 0.5 * random.unit_vector();
  const Rest rest = rest_of(arm, sensors, input, x, nullptr);
  const StaticEstimate& estimate = estimator.solve(input, rest.readings, start_of(arm, input));
  CHECK(estimate.converged);
  CHECK((estimate.x - rest.x).norm() < 1e-6);
  CHECK(estimate.cost < 1e-6);
}

TEST_CASE("static estimator: errors are as large as its covariance says", "[estimation]") {
  // 100 seeds with drawn forces, friction and imbalance, each by its deviation: the normalized
  // squared errors are chi-squared. Bounds: 99.9 % of their mean, both sides.
  const bool disturbed = GENERATE(false, true);
  const StaticEstimatorOptions options{
      .bend_deviation = 0.01, .force_deviation = 0.3, .load_deviation = 0.1};
  double squared = 0.0, cost = 0.0;
  Eigen::Index freedom = 0, cost_freedom = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed + 1000);
    ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4, disturbed);
    ArmInput input = random_input(random, arm);
    const Eigen::Index n = arm.coordinate_count(), t = arm.tendon_count();
    const Eigen::Index size = arm.state_size() - n;
    StaticEstimator estimator(arm, many_sensors(), options);
    ArmSensors sensors = estimator.sensors();
    VectorXd x = VectorXd::Zero(arm.state_size());
    x.head(n) = arm.rest();
    x.segment<3>(2 * n) = options.force_deviation * normal_vector(random, 3);
    x.segment(2 * n + 3, t) = options.friction_deviation * normal_vector(random, t);
    x.segment(2 * n + 3 + t, arm.load_count()) =
        options.load_deviation * normal_vector(random, arm.load_count());
    x.tail(arm.offset_count()) =
        options.offset_deviation * normal_vector(random, arm.offset_count());
    const ArmInput known = input;
    for (Eigen::Index k = 0; k < n; ++k)
      input.moment[k] += options.bend_deviation * arm.scale()[k] *
                         arm.parameters().springs[std::size_t(k)].stiffness * normal(random);
    const Rest rest = rest_of(arm, sensors, input, x, &random);
    const StaticEstimate& estimate = estimator.solve(known, rest.readings, start_of(arm, known));
    VectorXd error(size);
    error << (estimate.x - rest.x).head(n), (estimate.x - rest.x).tail(size - n);
    squared += error.dot(estimate.covariance.llt().solve(error));
    freedom += size;
    cost += estimate.cost;
    cost_freedom += estimate.residual_count - size;
  }
  const auto bound = [](Eigen::Index count) { return 3.3 * std::sqrt(2.0 * double(count)); };
  CHECK(std::abs(squared - double(freedom)) < bound(freedom));
  CHECK(std::abs(cost - double(cost_freedom)) < bound(cost_freedom));
}

TEST_CASE("static estimator: a missing reading widens the estimate", "[estimation]") {
  Random random(3);
  ElasticArm arm = random_elastic_arm(random, 3);
  const ArmInput input = random_input(random, arm);
  StaticEstimator estimator(arm, many_sensors());
  ArmSensors sensors = estimator.sensors();
  VectorXd x = VectorXd::Zero(arm.state_size());
  Rest rest = rest_of(arm, sensors, input, x, &random);
  double trace = 0.0;
  for (int lost = -1; lost < sensors.count(); ++lost) {
    CAPTURE(lost);
    if (lost >= 0) rest.values[std::size_t(lost)].setConstant(std::nan(""));
    const StaticEstimate& estimate = estimator.solve(input, rest.readings, arm.rest());
    CHECK(estimate.converged);
    CHECK(estimate.covariance.trace() > trace);
    trace = estimate.covariance.trace();
  }
}

TEST_CASE("static estimator: places a force on the body", "[estimation]") {
  // 2 N somewhere on the middle or last section, with the encoders and the wrench on the base.
  int right = 0;
  constexpr int kSeeds = 40;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    const SectionParameters section{.length = 0.1, .bend_angle_limit = 3.0};
    const ContinuumRobot robot{section, section, section};
    ElasticArm arm(robot, random_elastic_parameters(random, robot));
    ArmInput input = random_input(random, arm);
    input.base = {};
    StaticEstimator estimator(arm, many_sensors());
    ArmSensors sensors = estimator.sensors();
    std::vector<BodyPlace> places;
    for (int i = 1; i < 3; ++i)
      for (const double fraction : {0.2, 0.4, 0.6, 0.8, 1.0}) places.push_back({i, fraction});
    const int place = random.integer(0, int(places.size()) - 1);
    arm.set_force_place(places[std::size_t(place)]);
    VectorXd x = VectorXd::Zero(arm.state_size());
    x.segment<3>(2 * arm.coordinate_count()) = 2.0 * random.unit_vector();
    x.tail(arm.tendon_count()) = 0.1 * normal_vector(random, arm.tendon_count());
    const Rest rest = rest_of(arm, sensors, input, x, &random);
    const int found = estimator.locate(input, rest.readings, arm.rest(), places);
    right += std::abs(found - place) <= 1 ? 1 : 0;
  }
  CAPTURE(right);
  CHECK(right >= kSeeds * 9 / 10);
}

TEST_CASE("static estimator: allocates nothing", "[estimation]") {
  Random random(5);
  ElasticArm arm = random_elastic_arm(random, 4);
  const ArmInput input = random_input(random, arm);
  StaticEstimator estimator(arm, many_sensors());
  ArmSensors sensors = estimator.sensors();
  const VectorXd x = VectorXd::Zero(arm.state_size()), start = arm.rest();
  const Rest rest = rest_of(arm, sensors, input, x, &random);
  AllocationCounter counter;
  (void)estimator.solve(input, rest.readings, start);
  CHECK(counter.count() == 0);
}

TEST_CASE("static estimator: errors name option, value and range", "[estimation]") {
  Random random(1);
  const ElasticArm arm = random_elastic_arm(random, 1);
  CHECK_THROWS_WITH(StaticEstimator(arm, {}, {.force_deviation = 0.0}),
                    "static estimator: force_deviation = 0 N, must be > 0");
}
