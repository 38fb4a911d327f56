#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>
#include <span>
#include <vector>

#include "tendril/estimation/contact_estimator.hpp"
#include "tests/support/simulated_arm.hpp"

namespace tendril::test {

/// Errors of a ContactEstimator beside a simulated arm that something pushes at a drawn place, not
/// at its first fifth: means of the last half second.
struct ContactErrors {
  double place = 0.0;              ///< along the body [m]
  double place_deviation = 0.0;    ///< as estimated [m]
  double force = 0.0;              ///< in parts of the force
  double probability = 0.0;        ///< least, of a contact
  double early_probability = 0.0;  ///< largest before the push, after the first half second
  double seconds = 0.0;            ///< processor time of all steps of the contact estimator
  int steps = 0;
};

/// Of an estimator of contacts beside a simulated arm.
inline constexpr ContactEstimatorOptions kSimulatedContactOptions{
    .timestep = SimulatedArm::kTimestep, .model_force = 0.005, .model_moment = 0.001};
inline constexpr double kLink = SimulatedArm::kLength / 30;  ///< of ten links in each section [m]
inline constexpr int kContactPlaces = 30;

/// @param timed  sensors of the shape; the wrench on the base is measured as by kBaseForce and
///               kBaseMoment
inline ContactErrors run_contact(unsigned seed, std::vector<TimedSensor> timed,
                                 const ContactEstimatorOptions& options = kSimulatedContactOptions,
                                 double friction = 0.2) {
  constexpr int kSteps = 1000, kFrom = 900, kSettled = 100, kPush = 400;
  const std::size_t shape_sensors = timed.size();
  timed.push_back(kBaseForce);
  timed.push_back(kBaseMoment);
  std::vector<Sensor> sensors;
  for (const TimedSensor& each : timed) sensors.push_back(each.sensor);
  Random random(seed + 500000u);
  const double pushed = random.uniform(0.2, 1.0);
  SimulatedArm arm(seed, sensors, friction, pushed);
  ArmEstimator estimator(arm.known(), sensors, kSimulatedArmOptions);
  std::vector<double> memory(std::size_t(estimator.layout().size()));
  StaticEstimator at_rest(arm.known(), sensors);
  estimator.start(memory, at_rest.solve(arm.input(), {}, arm.known().rest()).x.head(6));
  ContactEstimator contacts(arm.known(),
                            ContactEstimator::along(arm.known().robot(), kContactPlaces), options);
  std::vector<double> own(std::size_t(contacts.layout().size()));
  contacts.start(own);
  std::vector<std::vector<Eigen::VectorXd>> sent(timed.size());  // by sensor and step
  ContactErrors errors{.probability = 1.0};
  for (int i = 1; i <= kSteps; ++i) {
    arm.step();
    std::vector<Reading> readings;
    for (std::size_t s = 0; s < timed.size(); ++s) {
      sent[s].push_back(arm.read(int(s)));
      const int taken = i - int(std::lround(sensors[s].delay / SimulatedArm::kTimestep));
      if (taken < 1 || taken % timed[s].period != 0) continue;
      const Eigen::VectorXd& value = sent[s][std::size_t(taken - 1)];
      readings.push_back({int(s), {value.data(), std::size_t(value.size())}});
    }
    (void)estimator.step(memory, arm.input(), readings);
    const std::clock_t begin = std::clock();
    contacts.step(own, estimator.coordinates(memory), {}, sent[shape_sensors].back(),
                  sent[shape_sensors + 1].back());
    const ContactEstimate estimate = contacts.estimate(own);
    errors.seconds += double(std::clock() - begin) / CLOCKS_PER_SEC;
    ++errors.steps;
    if (i > kSettled && i <= kPush)
      errors.early_probability = std::max(errors.early_probability, estimate.probability);
    if (i <= kFrom) continue;
    constexpr double kPart = 1.0 / (kSteps - kFrom);
    errors.place += kPart * std::abs(estimate.place - pushed * SimulatedArm::kLength);
    errors.place_deviation += kPart * estimate.place_deviation;
    errors.force += kPart * (estimate.force - arm.push()).norm() / arm.push().norm();
    errors.probability = std::min(errors.probability, estimate.probability);
  }
  return errors;
}

}  // namespace tendril::test
