#pragma once

#include <algorithm>
#include <ctime>
#include <vector>

#include "tendril/estimation/arm_estimator.hpp"
#include "tendril/kinematics/tension_distribution.hpp"
#include "tests/support/elastic_arms.hpp"

namespace tendril::test {

/// A tendon-driven arm of three sections of 0.1 m that is less simple than its estimator's model:
/// each section is four arcs, the tip carries an unknown payload of up to 50 g, an unknown force of
/// up to 1 N pushes it from 2 s on, and of the measured tension of each tendon up to 20 % is lost
/// or gained by friction against its motion. The tensions are those that would bend the weightless
/// arm along random smooth paths of up to about 1 rad, until 4 s; then they are held.
class SimulatedArm {
 public:
  static constexpr int kSections = 3, kArcs = 4;
  static constexpr double kLength = 0.3, kLever = 0.012, kTimestep = 0.005;

  /// @param push  where the force acts, as a fraction of the length
  explicit SimulatedArm(unsigned seed, std::vector<Sensor> sensors, double friction = 0.2,
                        double push = 1.0)
      : random_(seed),
        known_(parameters(1, 9.81 * random_.unit_vector(), 0.0)),
        body_(parameters(kArcs, known_.parameters().gravity, random_.uniform(0.0, 0.05))),
        body_sensors_(body_, on_body(sensors)),
        sensors_(std::move(sensors)),
        tensions_(-known_.tendons().jacobian().transpose(), Eigen::VectorXd::Constant(9, 3.0),
                  Eigen::VectorXd::Constant(9, 300.0)),
        x_(Eigen::VectorXd::Zero(body_.state_size())),
        force_(random_.uniform(0.3, 1.0) * random_.unit_vector()),
        input_{Eigen::VectorXd::Zero(9), Eigen::VectorXd::Zero(6), {}},
        body_input_{input_.tension, Eigen::VectorXd::Zero(body_.coordinate_count()), {}} {
    for (Eigen::Index t = 0; t < 9; ++t) {
      largest_[t] = random_.uniform(0.0, friction);
      slip_[t] = random_.uniform(-1.0, 1.0);
    }
    for (Eigen::Index k = 0; k < 6; ++k) {
      amplitude_[k] = random_.uniform(0.2, 0.6);
      frequency_[k] = random_.uniform(0.6, 2.0);
    }
    const double sections = kSections * push;
    const int pushed = std::min(int(sections), kSections - 1);
    body_.set_force_place(on_body({pushed, sections - pushed}));
    set_tensions();
    for (int i = 0; i < 4000; ++i) body_.advance(0.005, x_, body_input_);  // to rest
  }

  [[nodiscard]] const ElasticArm& known() const { return known_; }
  [[nodiscard]] const ArmInput& input() const { return input_; }  ///< measured

  /// One step of the estimator: ten of the body.
  void step() {
    time_ += kTimestep;
    set_tensions();
    const double push = std::clamp((time_ - 2.0) / 0.2, 0.0, 1.0);
    x_.segment<3>(2 * body_.coordinate_count()) = push * force_;
    for (int i = 0; i < 10; ++i) {
      const Eigen::VectorXd q = x_.head(body_.coordinate_count());
      x_.tail(9) = largest_.cwiseProduct(slip_);
      body_.advance(kTimestep / 10, x_, body_input_);
      const Eigen::VectorXd moved =  // [Dahl] over a presliding distance of 0.3 mm
          body_.tendons().jacobian() * (x_.head(q.size()) - q) / 3e-4;
      slip_ += moved - moved.cwiseAbs().cwiseProduct(slip_);
    }
  }

  /// What sensor s reads now, with noise.
  Eigen::VectorXd read(int s) {
    Eigen::VectorXd value(body_sensors_.reading_size(s));
    body_sensors_.read(s, body_, x_, body_input_, value);
    const double deviation = sensors_[std::size_t(s)].deviation;
    return value + deviation * normal_vector(random_, value.size());
  }

  /// Point of the body at a fraction of its whole length.
  [[nodiscard]] Eigen::Vector3d point(double fraction) { return point_of(body_, x_, fraction); }
  /// The same of an estimate.
  [[nodiscard]] Eigen::Vector3d estimated_point(const ArmEstimate& estimate, double fraction) {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(known_.state_size());
    x.head(6) = estimate.q;
    x.segment<3>(12) = estimate.force;
    return point_of(known_, x, fraction);
  }
  [[nodiscard]] Eigen::Vector3d push() const { return x_.segment<3>(2 * body_.coordinate_count()); }
  /// The push and the weight of the payload.
  [[nodiscard]] Eigen::Vector3d force() const {
    return push() + body_.parameters().payload * body_.parameters().gravity;
  }

 private:
  static ElasticArm parameters(int arcs, const Eigen::Vector3d& gravity, double payload) {
    const int count = kSections * arcs;
    const ContinuumRobot robot(std::vector<SectionParameters>(
        std::size_t(count), {.length = 0.1 / arcs, .bend_angle_limit = 2.5}));
    ElasticArmParameters parameters;
    parameters.springs.assign(std::size_t(2 * count), {0.5 * arcs, 0.05 * arcs, 0.0});
    parameters.section_masses.assign(std::size_t(count), 0.03 / arcs);
    parameters.payload = payload;
    parameters.gravity = gravity;
    for (int i = 0; i < kSections; ++i)
      for (int k = 0; k < 3; ++k)
        parameters.tendons.push_back({.section = (i + 1) * arcs - 1,
                                      .angle = 2.0 * std::numbers::pi / 3.0 * k + 0.4 * i,
                                      .base_distance = kLever,
                                      .end_distance = kLever});
    parameters.tendon_compliances.assign(9, 5e-6);
    return ElasticArm(robot, parameters);
  }
  /// The place on the body of arcs.
  static BodyPlace on_body(const BodyPlace& place) {
    const double arcs =
        kArcs * (place.section < 0 ? 2 + place.fraction : place.section + place.fraction);
    const int arc = std::clamp(int(arcs), 0, kSections * kArcs - 1);
    return {arc, arcs - arc};
  }
  static std::vector<Sensor> on_body(std::vector<Sensor> sensors) {
    for (Sensor& sensor : sensors) sensor.place = on_body(sensor.place);
    return sensors;
  }
  static Eigen::Vector3d point_of(ElasticArm& arm, const Eigen::VectorXd& x, double fraction) {
    const int count = arm.robot().section_count();
    const int section = std::clamp(int(fraction * count), 0, count - 1);
    Eigen::Matrix<double, 3, Eigen::Dynamic> by_q(3, arm.coordinate_count());
    Eigen::Matrix3d by_force;
    return arm.position(x, {}, {section, fraction * count - section}, by_q, by_force);
  }
  void set_tensions() {
    const double time = std::min(time_, 4.0);
    Eigen::VectorXd moment(6), tension(9);
    for (Eigen::Index k = 0; k < 6; ++k)
      moment[k] = 0.5 * amplitude_[k] * std::sin(frequency_[k] * time + double(k));
    tensions_.distribute(moment, tension);
    input_.tension = body_input_.tension = tension;
  }

  Random random_;
  ElasticArm known_, body_;
  ArmSensors body_sensors_;
  std::vector<Sensor> sensors_;
  TensionDistribution tensions_;
  Eigen::VectorXd x_;
  Eigen::Vector3d force_;
  ArmInput input_, body_input_;
  Eigen::Matrix<double, 9, 1> largest_, slip_;
  Eigen::Matrix<double, 6, 1> amplitude_, frequency_;
  double time_ = 0.0;
};

/// One sensor of a run, read every `period` steps.
struct TimedSensor {
  Sensor sensor;
  int period = 1;
};

/// Of an estimator beside a simulated arm.
inline constexpr ArmEstimatorOptions kSimulatedArmOptions{.timestep = SimulatedArm::kTimestep,
                                                          .bend_noise = 0.02};

/// Errors of an estimator beside a simulated arm: those of tip and shape are mean square roots
/// after the first second, in parts of the length.
struct RunErrors {
  double tip = 0.0, shape = 0.0;
  double force = 0.0;    ///< mean of the last half second, in parts of the force
  double seconds = 0.0;  ///< processor time of all steps of the estimator
  int steps = 0;
  double normalized_force = 0.0;  ///< squared error of the last force over its covariance
};

inline RunErrors run_estimator(unsigned seed, const std::vector<TimedSensor>& timed,
                               const ArmEstimatorOptions& options, double friction = 0.2) {
  constexpr int kSteps = 1000, kFrom = 200, kForceFrom = 900, kPoints = 12;
  std::vector<Sensor> sensors;
  for (const TimedSensor& each : timed) sensors.push_back(each.sensor);
  SimulatedArm arm(seed, sensors, friction);
  ArmEstimator estimator(arm.known(), sensors, options);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  StaticEstimator at_rest(arm.known(), sensors);
  estimator.start(memory, at_rest.solve(arm.input(), {}, arm.known().rest()).x.head(6));
  ArmEstimate estimate = estimator.empty_estimate();
  std::vector<std::vector<Eigen::VectorXd>> sent(timed.size());  // by sensor and step
  RunErrors errors;
  for (int i = 1; i <= kSteps; ++i) {
    arm.step();
    std::vector<Reading> readings;
    for (std::size_t s = 0; s < timed.size(); ++s) {
      sent[s].push_back(arm.read(int(s)));
      const int taken = i - int(std::lround(sensors[s].delay / options.timestep));
      if (taken < 1 || taken % timed[s].period != 0) continue;
      const Eigen::VectorXd& value = sent[s][std::size_t(taken - 1)];
      readings.push_back({int(s), {value.data(), std::size_t(value.size())}});
    }
    const std::clock_t begin = std::clock();
    (void)estimator.step(memory, arm.input(), readings);
    errors.seconds += double(std::clock() - begin) / CLOCKS_PER_SEC;
    ++errors.steps;
    if (i <= kFrom) continue;
    estimator.estimate(memory, estimate);
    const double tip = (estimate.X_BE.translation() - arm.point(1.0)).norm() / arm.kLength;
    errors.tip += tip * tip / (kSteps - kFrom);
    for (int k = 1; k <= kPoints; ++k) {
      const double at = double(k) / kPoints;
      errors.shape += (arm.estimated_point(estimate, at) - arm.point(at)).squaredNorm() /
                      (arm.kLength * arm.kLength * kPoints * (kSteps - kFrom));
    }
    if (i > kForceFrom)
      errors.force +=
          (estimate.force - arm.force()).norm() / arm.force().norm() / (kSteps - kForceFrom);
  }
  const Eigen::Vector3d error = estimate.force - arm.force();
  const Eigen::Matrix3d covariance = estimate.covariance.block<3, 3>(12, 12);
  errors.normalized_force = error.dot(covariance.llt().solve(error));
  errors.tip = std::sqrt(errors.tip);
  errors.shape = std::sqrt(errors.shape);
  return errors;
}

/// Sensors as in a laboratory, those of the whole arm at the tip.
inline const TimedSensor kEncoders{{SensorKind::TendonLength, 5e-5}};
inline const TimedSensor kTracker{{SensorKind::Position, 5e-4, {}, 0.02}, 5};  // 40 Hz
inline const TimedSensor kDirection{{SensorKind::Direction, 5e-3, {}, 0.02}, 5};
inline const TimedSensor kBaseForce{{SensorKind::BaseForce, 0.02}};
inline const TimedSensor kBaseMoment{{SensorKind::BaseMoment, 0.002}};

}  // namespace tendril::test
