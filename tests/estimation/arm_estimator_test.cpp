#include "tendril/estimation/arm_estimator.hpp"

#include <Eigen/Eigenvalues>
#include <catch2/catch.hpp>
#include <deque>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/elastic_arms.hpp"

using Eigen::MatrixXd;
using Eigen::VectorXd;
using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kStep = 0.005;

/// Readings of a truth that follows the estimator's own model, by sensor and step.
class OwnModel {
 public:
  OwnModel(Random& random, const ElasticArm& arm, std::vector<Sensor> sensors,
           const ArmEstimatorOptions& options)
      : estimator(arm, std::move(sensors), options),
        memory(std::size_t(estimator.layout().size())),
        random_(random),
        arm_(arm),
        sensors_(estimator.sensors()),
        options_(options),
        x_(VectorXd::Zero(arm.state_size())) {
    const Eigen::Index n = arm.coordinate_count(), t = arm.tendon_count();
    estimator.start(memory, arm.rest());
    x_.head(n) = arm.rest() + options.start_bend * arm.scale().cwiseProduct(normals(n));
    x_.segment(n, n) = options.start_rate * arm.scale().cwiseProduct(normals(n));
    x_.segment<3>(2 * n) = options.start_force * normals(3);
    x_.segment(2 * n + 3, t) = options.friction_deviation * normals(t);
    if (arm.load_count() > 0) x_.tail(n + 3) = contact_noise();
    for (Eigen::Index k = 0; k < t; ++k) {
      mean_.push_back(random_.uniform(3.0, 8.0));
      frequency_.push_back(random_.uniform(1.0, 4.0));
    }
  }

  [[nodiscard]] const VectorXd& x() const { return x_; }
  [[nodiscard]] int step_count() const { return step_; }
  [[nodiscard]] const ArmInput& input() const { return input_; }

  /// Moves the truth; what a sensor reads now, with noise, goes into its queue.
  void move() {
    const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
    ++step_;
    // An arm in a guide is fed out of half of it.
    const double guide = arm_.parameters().guide_length;
    input_ = {
        VectorXd(t), VectorXd::Zero(n), {std::max(0.02, 0.5 * guide + 0.1 * kStep * step_), 0.3}};
    for (Eigen::Index k = 0; k < t; ++k) {
      const std::size_t i = std::size_t(k);
      input_.tension[k] = mean_[i] * (1.0 + 0.6 * std::sin(frequency_[i] * kStep * step_));
    }
    ArmInput noisy = input_;
    const VectorXd exposure = arm_.exposure(input_.base);
    for (Eigen::Index k = 0; k < n; ++k)
      noisy.moment[k] = options_.bend_noise * exposure[k] * arm_.scale()[k] *
                        arm_.parameters().springs[std::size_t(k)].stiffness / std::sqrt(kStep) *
                        normal(random_);
    for (std::size_t k = 0; k < options_.tension_deviations.size(); ++k)
      noisy.tension[Eigen::Index(k)] += options_.tension_deviations[k] * normal(random_);
    arm_.advance(kStep, x_, noisy);
    const double keep = std::exp(-kStep / options_.friction_time);
    x_.segment<3>(2 * n) += options_.force_noise * std::sqrt(kStep) * normals(3);
    x_.segment(2 * n + 3, t) = keep * x_.segment(2 * n + 3, t) + options_.friction_deviation *
                                                                     std::sqrt(1.0 - keep * keep) *
                                                                     normals(t);
    if (arm_.load_count() == 0) return;
    const double keep_contact = std::exp(-kStep / options_.contact_time);
    x_.tail(n + 3) = keep_contact * x_.tail(n + 3) +
                     std::sqrt(1.0 - keep_contact * keep_contact) * contact_noise();
  }
  VectorXd read(int s) {
    VectorXd value(sensors_.reading_size(s));
    sensors_.read(s, arm_, x_, input_, value);
    if (sensors_[s].kind == SensorKind::Direction) return turned(value, sensors_[s].deviation);
    return value + sensors_[s].deviation * normals(value.size());
  }
  /// Squared error over the covariance, of the first `count` numbers of the state or of all but d
  /// and b.
  double normalized_error(Eigen::Index count = 0) {
    ArmEstimate estimate = estimator.empty_estimate();
    estimator.estimate(memory, estimate);
    const Eigen::Index n = arm_.coordinate_count(), t = arm_.tendon_count();
    VectorXd error(2 * n + 3 + t), x = x_.head(2 * n + 3 + t);
    const VectorXd exposure = arm_.exposure(input_.base);
    x.head(n).array() *= exposure.array();
    x.segment(n, n).array() *= exposure.array();
    error << estimate.q, estimate.q_rate, estimate.force, estimate.friction;
    error -= x;
    if (count == 0) count = error.size();
    return error.head(count).dot(
        estimate.covariance.topLeftCorner(count, count).ldlt().solve(error.head(count)));
  }

  ArmEstimator estimator;
  std::vector<double> memory;

 private:
  VectorXd normals(Eigen::Index size) { return normal_vector(random_, size); }
  VectorXd contact_noise() {
    const Eigen::Index n = arm_.coordinate_count();
    VectorXd noise = normals(n + 3);
    noise.head(n) *= options_.load_deviation;
    noise.tail(3) *= options_.offset_deviation;
    return noise;
  }
  VectorXd turned(const VectorXd& z, double deviation) {
    const Eigen::Vector3d turn = deviation * normals(3);
    return Eigen::AngleAxisd(turn.norm(), turn.normalized()) * Eigen::Vector3d(z);
  }

  Random& random_;
  ElasticArm arm_;
  ArmSensors sensors_;
  ArmEstimatorOptions options_;
  VectorXd x_;
  ArmInput input_;
  std::vector<double> mean_, frequency_;
  int step_ = 0;
};

/// Readings on their way: they arrive after the sensor's delay.
struct Queue {
  struct Sent {
    int sensor, arrival;
    VectorXd value;
  };
  std::deque<Sent> sent;
  std::vector<Sent> here;

  void send(int sensor, int arrival, const VectorXd& value) {
    sent.push_back({sensor, arrival, value});
  }
  std::vector<Reading> arrived(int step) {
    here.clear();
    for (const Sent& each : sent)
      if (each.arrival == step) here.push_back(each);
    std::erase_if(sent, [&](const Sent& each) { return each.arrival <= step; });
    std::vector<Reading> readings;
    for (const Sent& each : here)
      readings.push_back({each.sensor, {each.value.data(), std::size_t(each.value.size())}});
    return readings;
  }
};

int delay_steps(const Sensor& sensor) { return int(std::lround(sensor.delay / kStep)); }

/// Encoders, a tip tracker of position and direction that is 20 ms late, gratings at a middle.
std::vector<Sensor> usual_sensors() {
  return {{SensorKind::TendonLength, 1e-4},
          {SensorKind::Position, 5e-4, {}, 0.02},
          {SensorKind::Direction, 5e-3, {}, 0.02},
          {SensorKind::Curvature, 0.1, {0, 0.5}}};
}

/// Readings of sensor s are taken every `period(s)` steps: the tracker at 40 Hz.
int period(int s) { return s == 1 || s == 2 ? 5 : 1; }

const ArmEstimatorOptions kOptions{.bend_noise = 0.02,
                                   .force_noise = 0.3,
                                   .friction_deviation = 0.05,
                                   .load_deviation = 0.1,
                                   .contact_time = 1.0,
                                   .start_bend = 0.03,
                                   .start_force = 0.3};

/// The sensors of an arm without tendons: in a guide encoders of its bends.
std::vector<Sensor> sensors_of(const ElasticArm& arm) {
  std::vector<Sensor> sensors = usual_sensors();
  if (arm.tendon_count() == 0) sensors[0] = {SensorKind::Coordinates, 2e-3};
  return sensors;
}

/// An arm without mass under no force, whose bends alone move: all of its model is linear.
ElasticArm linear_arm(Random& random) {
  const ContinuumRobot robot({{.length = 0.1}, {.length = 0.08}});
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  parameters.section_masses = {0.0, 0.0};
  parameters.payload = 0.0;
  return ElasticArm(robot, parameters);
}

ArmEstimatorOptions linear_options() {
  ArmEstimatorOptions options = kOptions;
  options.force_noise = options.start_force = 0.0;
  return options;
}

/// 99.9 % of a chi-squared number with many degrees of freedom are within this of their mean.
double chi_squared_bound(double count) { return 3.3 * std::sqrt(2.0 * count); }

}  // namespace

TEST_CASE("arm estimator: errors and innovations are as large as it says", "[estimation]") {
  enum class Touches { Nothing, Body, Guided };
  const auto touches = GENERATE(Touches::Nothing, Touches::Body, Touches::Guided);
  CAPTURE(touches);
  double errors = 0.0, error_count = 0.0, innovations = 0.0, innovation_count = 0.0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const ElasticArm arm =
        touches == Touches::Guided
            ? random_guided_arm(random, 1 + int(seed) % 4)
            : random_elastic_arm(random, 1 + int(seed) % 4, touches == Touches::Body);
    OwnModel model(random, arm, sensors_of(arm), kOptions);
    Queue queue;
    for (int i = 1; i <= 150; ++i) {
      model.move();
      for (int s = 0; s < model.estimator.sensors().count(); ++s)
        if (i % period(s) == 0)
          queue.send(s, i + delay_steps(model.estimator.sensors()[s]), model.read(s));
      const Innovation innovation =
          model.estimator.step(model.memory, model.input(), queue.arrived(i));
      innovations += innovation.squared;
      innovation_count += innovation.count;
    }
    errors += model.normalized_error();
    error_count += 2.0 * arm.coordinate_count() + 3.0 + arm.tendon_count();
  }
  CAPTURE(errors, error_count, innovations, innovation_count);
  CHECK(std::abs(errors - error_count) < chi_squared_bound(error_count));
  CHECK(std::abs(innovations - innovation_count) < chi_squared_bound(innovation_count));
}

TEST_CASE("arm estimator: errors are as large as it says with the noise of tensions",
          "[estimation]") {
  // Of drums of 10 to 50 um at 2e4 N/m and less. Friction is known.
  double errors = 0.0, error_count = 0.0, without = 0.0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 3);
    ArmEstimatorOptions options = kOptions;
    options.bend_noise = 1e-3;
    options.friction_deviation = 0.0;
    for (int k = 0; k < arm.tendon_count(); ++k)
      options.tension_deviations.push_back(random.uniform(0.2, 1.0));
    OwnModel model(random, arm, {{SensorKind::Position, 2e-3}}, options);
    ArmEstimatorOptions exact = options;
    exact.tension_deviations.clear();
    ArmEstimator of_exact(arm, {{SensorKind::Position, 2e-3}}, exact);
    std::vector<double> memory(std::size_t(of_exact.layout().size()));
    of_exact.start(memory, arm.rest());
    for (int i = 1; i <= 150; ++i) {
      model.move();
      const VectorXd value = model.read(0);
      const Reading reading{0, {value.data(), 3}};
      (void)model.estimator.step(model.memory, model.input(), {&reading, 1});
      (void)of_exact.step(memory, model.input(), {&reading, 1});
    }
    const Eigen::Index n = 2 * arm.coordinate_count();
    errors += model.normalized_error(n);
    error_count += double(n);
    std::swap(model.estimator, of_exact);
    std::swap(model.memory, memory);
    without += model.normalized_error(n);
  }
  CAPTURE(errors, error_count, without);
  CHECK(std::abs(errors - error_count) < chi_squared_bound(error_count));
  CHECK(without > 1.5 * error_count);
}

TEST_CASE("arm estimator: a linear arm's estimate is the least squares of all readings",
          "[estimation]") {
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  Random random(seed);
  const ElasticArm arm = linear_arm(random);
  const ArmEstimatorOptions options = linear_options();
  const std::vector<Sensor> sensors{{SensorKind::TendonLength, 1e-4},
                                    {SensorKind::Curvature, 0.1, {1, 0.5}, 4 * kStep}};
  constexpr int kSteps = 25, n = 4, t = 6, kPerStep = n + t;
  const int unknowns = 2 * n + t + kSteps * kPerStep;

  // The state [q, q', eta] is `offset` plus `map` times unknowns of unit deviation: those of the
  // start, then the noise of each step.
  MatrixXd map = MatrixXd::Zero(2 * n + t, unknowns);
  VectorXd offset = VectorXd::Zero(2 * n + t), stiffness(n), damping(n);
  offset.head(n) = arm.rest();
  map.topLeftCorner(n, n).diagonal().setConstant(options.start_bend);
  map.block(n, n, n, n).diagonal().setConstant(options.start_rate);
  map.block(2 * n, 2 * n, t, t).diagonal().setConstant(options.friction_deviation);
  for (int k = 0; k < n; ++k) {
    stiffness[k] = arm.parameters().springs[std::size_t(k)].stiffness;
    damping[k] = arm.parameters().springs[std::size_t(k)].damping;
  }
  MatrixXd normal_matrix = MatrixXd::Identity(unknowns, unknowns);
  VectorXd gradient = VectorXd::Zero(unknowns);
  const auto add = [&](const MatrixXd& H, const VectorXd& z, const VectorXd& constant,
                       double deviation) {
    const MatrixXd rows = H * map / deviation;
    const VectorXd error = (z - constant - H * offset) / deviation;
    normal_matrix += rows.transpose() * rows;
    gradient += rows.transpose() * error;
  };

  OwnModel model(random, arm, sensors, options);
  Queue queue;
  for (int i = 1; i <= kSteps; ++i) {
    model.move();
    const ArmInput& input = model.input();
    const MatrixXd pull = -arm.tendons().jacobian().transpose() * input.tension.asDiagonal();
    const VectorXd inverse = (kStep * damping + kStep * kStep * stiffness).cwiseInverse();
    const double keep = std::exp(-kStep / options.friction_time);
    const int first = 2 * n + t + (i - 1) * kPerStep;
    // q' = (h D + h^2 K)^-1 (h (pull (1 + eta) - K (q - rest)) + noise)
    MatrixXd rate = kStep * inverse.asDiagonal() *
                    (pull * map.bottomRows(t) - stiffness.asDiagonal() * map.topRows(n));
    rate.middleCols(first, n).diagonal() +=
        std::sqrt(kStep) * options.bend_noise * inverse.cwiseProduct(stiffness);
    const VectorXd rate_offset =
        kStep * inverse.cwiseProduct(pull * (VectorXd::Ones(t) + offset.tail(t)) -
                                     stiffness.cwiseProduct(offset.head(n) - arm.rest()));
    map.topRows(n) += kStep * rate;
    map.middleRows(n, n) = rate;
    map.bottomRows(t) *= keep;
    map.block(2 * n, first + n, t, t)
        .diagonal()
        .setConstant(options.friction_deviation * std::sqrt(1.0 - keep * keep));
    offset.head(n) += kStep * rate_offset;
    offset.segment(n, n) = rate_offset;
    offset.tail(t) *= keep;

    for (int s = 0; s < 2; ++s) {
      const VectorXd value = model.read(s);
      const int arrival = i + delay_steps(sensors[std::size_t(s)]);
      queue.send(s, arrival, value);
      if (arrival > kSteps) continue;
      MatrixXd H = MatrixXd::Zero(value.size(), 2 * n + t);
      VectorXd constant = VectorXd::Zero(value.size());
      if (s == 0) {
        const double compliance = arm.parameters().tendon_compliances[0];
        H.leftCols(n) = arm.tendons().jacobian();
        H.rightCols(t).diagonal() = -compliance * input.tension;
        constant = -compliance * input.tension;
      } else {
        H(0, 2) = H(1, 3) = 1.0 / 0.08;
      }
      add(H, value, constant, sensors[std::size_t(s)].deviation);
    }
    (void)model.estimator.step(model.memory, input, queue.arrived(i));
  }
  const Eigen::LDLT<MatrixXd> factor(normal_matrix);
  const VectorXd expected = offset + map * factor.solve(gradient);
  const MatrixXd covariance = map * factor.solve(MatrixXd(map.transpose()));

  ArmEstimate estimate = model.estimator.empty_estimate();
  model.estimator.estimate(model.memory, estimate);
  VectorXd state(2 * n + t);
  state << estimate.q, estimate.q_rate, estimate.friction;
  CHECK((state - expected).norm() < 1e-8);
  CHECK(estimate.force.norm() == 0.0);
  CHECK((estimate.covariance.topLeftCorner(2 * n, 2 * n) - covariance.topLeftCorner(2 * n, 2 * n))
            .norm() < 1e-8 * covariance.norm());
  CHECK((estimate.covariance.bottomRightCorner(t, t) - covariance.bottomRightCorner(t, t)).norm() <
        1e-8 * covariance.norm());
}

TEST_CASE("arm estimator: a late reading counts as one on time", "[estimation]") {
  const auto seed = GENERATE(range(0u, 8u));
  CAPTURE(seed);
  Random random(seed);
  const bool linear = seed < 4;
  const ElasticArm arm = linear ? linear_arm(random) : random_elastic_arm(random, int(seed) - 3);
  std::vector<Sensor> late = usual_sensors(), prompt = usual_sensors();
  for (Sensor& sensor : prompt) sensor.delay = 0.0;
  OwnModel model(random, arm, late, linear ? linear_options() : kOptions);
  ArmEstimator other(arm, prompt, linear ? linear_options() : kOptions);
  std::vector<double> other_memory(std::size_t(other.layout().size()));
  other.start(other_memory, arm.rest());
  Queue queue, other_queue;
  for (int i = 1; i <= 64; ++i) {  // the last tracker reading is of step 60, 4 steps late
    model.move();
    for (int s = 0; s < 4; ++s) {
      if (i % period(s) != 0) continue;
      const VectorXd value = model.read(s);
      queue.send(s, i + delay_steps(late[std::size_t(s)]), value);
      other_queue.send(s, i, value);
    }
    (void)model.estimator.step(model.memory, model.input(), queue.arrived(i));
    (void)other.step(other_memory, model.input(), other_queue.arrived(i));
  }
  ArmEstimate a = other.empty_estimate(), b = a;
  model.estimator.estimate(model.memory, a);
  other.estimate(other_memory, b);
  CHECK((a.q - b.q).norm() < 1e-12);
  CHECK((a.force - b.force).norm() < 1e-12);
  CHECK((a.covariance - b.covariance).norm() < 1e-12);
}

TEST_CASE("arm estimator: numbers of a reading count one by one", "[estimation]") {
  const auto seed = GENERATE(range(0u, 8u));
  CAPTURE(seed);
  Random random(seed);
  const ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4);
  const Sensor encoders{SensorKind::TendonLength, 1e-4};
  OwnModel model(random, arm, {encoders}, kOptions);
  ArmEstimator halves(arm, {encoders, encoders}, kOptions);
  std::vector<double> memory(std::size_t(halves.layout().size()));
  halves.start(memory, arm.rest());
  const Eigen::Index half = arm.tendon_count() / 2;
  for (int i = 0; i < 50; ++i) {
    model.move();
    const VectorXd whole = model.read(0);
    VectorXd first = whole, second = whole;
    first.tail(whole.size() - half).setConstant(std::nan(""));
    second.head(half).setConstant(std::nan(""));
    const auto span = [](const VectorXd& v) { return std::span(v.data(), std::size_t(v.size())); };
    const Reading one[] = {{0, span(whole)}}, two[] = {{0, span(first)}, {1, span(second)}};
    const Innovation a = model.estimator.step(model.memory, model.input(), one),
                     b = halves.step(memory, model.input(), two);
    CHECK(a.count == b.count);
  }
  ArmEstimate a = halves.empty_estimate(), b = a;
  model.estimator.estimate(model.memory, a);
  halves.estimate(memory, b);
  CHECK((a.q - b.q).norm() < 1e-9);
  CHECK((a.covariance - b.covariance).norm() < 1e-9);
}

TEST_CASE("arm estimator: sensors that fall silent leave errors that it knows", "[estimation]") {
  const auto seed = GENERATE(range(0u, 8u));
  CAPTURE(seed);
  Random random(seed);
  const ElasticArm arm = random_elastic_arm(random, 1 + int(seed) % 4);
  OwnModel model(random, arm, usual_sensors(), kOptions);
  Queue queue;
  double spread = 0.0;
  // One after the other, missing or not finite: gratings, direction, position, encoders.
  for (int left = 4; left >= 0; --left) {
    CAPTURE(left);
    for (int k = 0; k < 100; ++k) {
      model.move();
      const int i = model.step_count();
      for (int s = 0; s < 4; ++s) {
        if (i % period(s) != 0 || (s >= left && s % 2 == 0)) continue;
        VectorXd value = model.read(s);
        if (s >= left) value[0] = std::nan("");
        queue.send(s, i + delay_steps(usual_sensors()[std::size_t(s)]), value);
      }
      (void)model.estimator.step(model.memory, model.input(), queue.arrived(i));
    }
    ArmEstimate estimate = model.estimator.empty_estimate();
    model.estimator.estimate(model.memory, estimate);
    if (left == 4) spread = estimate.tip_covariance.trace();
    if (left == 0) CHECK(estimate.tip_covariance.trace() > 2.0 * spread);
    // A million to one is about 4.9 deviations; of n numbers n + 4.9 sqrt(2 n) + 16.
    const double n = double(arm.coordinate_count());
    CHECK(model.normalized_error(arm.coordinate_count()) < n + 4.9 * std::sqrt(2.0 * n) + 16.0);
  }
}

TEST_CASE("arm estimator: with each sensor less a linear arm's covariance is larger",
          "[estimation]") {
  Random random(7);
  const ElasticArm arm = linear_arm(random);
  const std::vector<Sensor> sensors{{SensorKind::TendonLength, 1e-4},
                                    {SensorKind::Curvature, 0.1, {0, 0.5}},
                                    {SensorKind::Curvature, 0.1, {1, 0.5}, 0.02}};
  MatrixXd before = MatrixXd::Zero(arm.state_size(), arm.state_size());
  for (std::size_t left = 4; left-- > 0;) {
    CAPTURE(left);
    Random same(8);
    OwnModel model(same, arm, {sensors.begin(), sensors.begin() + std::ptrdiff_t(left)},
                   linear_options());
    Queue queue;
    for (int i = 1; i <= 100; ++i) {
      model.move();
      for (int s = 0; s < int(left); ++s)
        queue.send(s, i + delay_steps(sensors[std::size_t(s)]), model.read(s));
      (void)model.estimator.step(model.memory, model.input(), queue.arrived(i));
    }
    ArmEstimate estimate = model.estimator.empty_estimate();
    model.estimator.estimate(model.memory, estimate);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> growth(estimate.covariance - before);
    CHECK(growth.eigenvalues()[0] > -1e-9 * estimate.covariance.norm());
    CHECK(estimate.covariance.topLeftCorner<4, 4>().trace() > before.topLeftCorner<4, 4>().trace());
    before = estimate.covariance;
  }
}

TEST_CASE("arm estimator: stays positive with readings almost without noise", "[estimation]") {
  Random random(4);
  const ElasticArm arm = random_elastic_arm(random, 2);
  std::vector<Sensor> sensors = usual_sensors();
  for (Sensor& sensor : sensors) sensor.deviation *= 1e-6;
  OwnModel model(random, arm, sensors, kOptions);
  Queue queue;
  for (int i = 1; i <= 2000; ++i) {
    model.move();
    for (int s = 0; s < 4; ++s)
      queue.send(s, i + delay_steps(sensors[std::size_t(s)]), model.read(s));
    (void)model.estimator.step(model.memory, model.input(), queue.arrived(i));
  }
  ArmEstimate estimate = model.estimator.empty_estimate();
  model.estimator.estimate(model.memory, estimate);
  REQUIRE(estimate.covariance.allFinite());
  const double largest = estimate.covariance.norm();
  CHECK((estimate.covariance - estimate.covariance.transpose()).norm() < 1e-15 * largest);
  CHECK(Eigen::SelfAdjointEigenSolver<MatrixXd>(estimate.covariance).eigenvalues()[0] >
        -1e-15 * largest);
  // Friction of unknown share leaves 1e-3 rad of the stretch open, 2e-5 m/N 13 N 0.05 / 0.01 m.
  CHECK((estimate.q - model.x().head(arm.coordinate_count())).norm() < 1e-3);
}

TEST_CASE("arm estimator: all of its past is in the memory, which it does not leave",
          "[estimation]") {
  Random random(6);
  const ElasticArm arm = random_elastic_arm(random, 4);
  OwnModel model(random, arm, usual_sensors(), kOptions);
  ArmEstimator other(arm, usual_sensors(), kOptions);
  std::vector<double> copy;
  Queue queue;
  long allocations = 0;
  for (int i = 1; i <= 60; ++i) {
    model.move();
    for (int s = 0; s < 4; ++s)
      queue.send(s, i + delay_steps(usual_sensors()[std::size_t(s)]), model.read(s));
    const std::vector<Reading> readings = queue.arrived(i);
    if (i == 30) copy = model.memory;
    if (i >= 30) (void)other.step(copy, model.input(), readings);
    AllocationCounter counter;
    (void)model.estimator.step(model.memory, model.input(), readings);
    allocations += counter.count();
  }
  CHECK(allocations == 0);
  CHECK(copy == model.memory);
  CHECK(model.estimator.layout().is_valid(model.memory));
}

TEST_CASE("arm estimator: errors name option, value and range", "[estimation]") {
  Random random(1);
  const ElasticArm arm = random_elastic_arm(random, 1);
  CHECK_THROWS_WITH(ArmEstimator(arm, {}, {.timestep = 0.0}),
                    "arm estimator: timestep = 0 s, must be > 0");
  CHECK_THROWS_WITH(ArmEstimator(arm, {}, {.bend_noise = -1.0}),
                    "arm estimator: bend_noise = -1 rad sqrt(s), must be >= 0");
}
