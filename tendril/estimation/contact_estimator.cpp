#include "tendril/estimation/contact_estimator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

const ContactEstimatorOptions& checked(const ContactEstimatorOptions& options) {
  const char* const object = "contact estimator";
  require(object, "timestep", options.timestep, kPositive, "s");
  require(object, "force_deviation", options.force_deviation, kPositive, "N");
  require(object, "moment_deviation", options.moment_deviation, kPositive, "N m");
  require(object, "model_force", options.model_force, kNotNegative, "N");
  require(object, "model_moment", options.model_moment, kNotNegative, "N m");
  require(object, "model_time", options.model_time, kNotNegative, "s");
  require(object, "payload_deviation", options.payload_deviation, kNotNegative, "kg");
  require(object, "start_force", options.start_force, kPositive, "N");
  require(object, "force_noise", options.force_noise, kNotNegative, "N/sqrt(s)");
  require(object, "contact_rate", options.contact_rate, kPositive, "1/s");
  require(object, "sliding", options.sliding, kNotNegative, "m/sqrt(s)");
  return options;
}

/// Length of a section at the middle of its range [m].
double middle_length(const Section& section) {
  return section.length() + section.variable_length() / 2.0;
}

}  // namespace

ContactEstimatorMemory::ContactEstimatorMemory(std::size_t places) : hypotheses(places + 1) {
  for (Hypothesis& hypothesis : hypotheses) {
    hypothesis.probability = layout.number(&hypothesis == hypotheses.data() ? 1.0 : 0.0);
    hypothesis.mean = layout.matrix<Eigen::Vector4d>();
    hypothesis.covariance = layout.matrix<Eigen::Matrix4d>();
  }
}

std::vector<BodyPlace> ContactEstimator::along(const ContinuumRobot& robot, int count) {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) length += middle_length(robot.section(i));
  std::vector<BodyPlace> places;
  double start = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double end = start + middle_length(robot.section(i));
    for (double at; at = (static_cast<double>(places.size()) + 0.5) / count * length, at < end;)
      places.push_back({i, (at - start) / (end - start)});
    start = end;
  }
  return places;
}

ContactEstimator::ContactEstimator(const ElasticArm& arm, std::vector<BodyPlace> places,
                                   const ContactEstimatorOptions& options)
    : robot_(arm.robot()),
      masses_(arm.masses()),
      gravity_(arm.parameters().gravity),
      places_(std::move(places)),
      options_(checked(options)),
      memory_(places_.size()),
      states_(robot_.straight().begin(), robot_.straight().end()) {
  if (places_.empty()) throw ModelError("contact estimator: places: none, must be at least one");
  const double last = robot_.section_count() - 1.0;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    BodyPlace& place = places_[k];
    const std::string object = "contact estimator: place " + std::to_string(k + 1);
    require(object, "section", place.section, {-1.0, last});
    require(object, "fraction", place.fraction, {0.0, 1.0});
    if (place.section < 0) place.section = static_cast<int>(last);
    double distance = place.fraction * middle_length(robot_.section(place.section));
    for (int i = 0; i < place.section; ++i) distance += middle_length(robot_.section(i));
    distances_.push_back(distance);
  }
  const auto [low, high] = std::ranges::minmax(distances_);
  spacing_ = places_.size() > 1 ? (high - low) / static_cast<double>(places_.size() - 1) : 0.0;
  const double steps = std::max(1.0, 2.0 * options.model_time / options.timestep);
  const auto variance = [&](double reading, double model) {
    return reading * reading + steps * model * model;
  };
  force_variance_ = variance(options.force_deviation, options.model_force);
  moment_variance_ = variance(options.moment_deviation, options.model_moment);
  hypotheses_.resize(memory_.hypotheses.size());
}

void ContactEstimator::start(std::span<double> memory) const noexcept {
  memory_.layout.reset(memory);
  for (const ContactEstimatorMemory::Hypothesis& slot : memory_.hypotheses)
    slot.covariance(memory)(3, 3) = options_.payload_deviation * options_.payload_deviation;
}

ContactEstimator::Gaussian ContactEstimator::read(std::span<const double> memory,
                                                  std::size_t h) const noexcept {
  const ContactEstimatorMemory::Hypothesis& slot = memory_.hypotheses[h];
  return {slot.probability(memory), slot.mean(memory), slot.covariance(memory)};
}

ContactEstimator::Gaussian ContactEstimator::mixed(std::span<const Gaussian> parts) noexcept {
  Gaussian all;
  for (const Gaussian& part : parts) all.weight += part.weight;
  if (all.weight <= 0.0)
    return parts.empty() ? all : Gaussian{0.0, parts[0].mean, parts[0].covariance};
  for (const Gaussian& part : parts) all.mean += part.weight / all.weight * part.mean;
  for (const Gaussian& part : parts) {
    const Vector4 apart = part.mean - all.mean;
    all.covariance += part.weight / all.weight * (part.covariance + apart * apart.transpose());
  }
  return all;
}

/// What each hypothesis is before the readings of this step.
void ContactEstimator::predict(std::span<const double> memory) noexcept {
  const double h = options_.timestep, changes = std::min(0.5, options_.contact_rate * h);
  const std::size_t count = places_.size();
  // Random walk over the list: its variance in a step is that of the sliding.
  const double slides =
      spacing_ > 0.0 ? std::min(0.25, h * std::pow(options_.sliding / spacing_, 2) / 2.0) : 0.0;
  const double walk = h * options_.force_noise * options_.force_noise;

  const Gaussian free = read(memory, 0);
  Gaussian begun = free;  // a contact that begins
  begun.weight *= changes / static_cast<double>(count);
  begun.mean.head<3>().setZero();
  begun.covariance.topRows<3>().setZero();
  begun.covariance.leftCols<3>().setZero();
  begun.covariance.topLeftCorner<3, 3>().diagonal().setConstant(options_.start_force *
                                                                options_.start_force);
  Gaussian ended;  // a contact that ends, with the payload that it had
  for (std::size_t k = 1; k <= count; ++k) {
    const auto part = [&](std::size_t from, double weight) {
      Gaussian gaussian = read(memory, from);
      gaussian.weight *= weight;
      return gaussian;
    };
    // Those at an end of the list stay there.
    const double left = k > 1 ? slides : 0.0, right = k < count ? slides : 0.0;
    const std::array<Gaussian, 4> parts{part(k, 1.0 - changes - left - right),
                                        part(k > 1 ? k - 1 : k, left),
                                        part(k < count ? k + 1 : k, right), begun};
    hypotheses_[k] = mixed(parts);
    hypotheses_[k].covariance.diagonal().head<3>().array() += walk;
    const std::array<Gaussian, 2> ends{ended, part(k, changes)};
    ended = mixed(ends);
  }
  const std::array<Gaussian, 2> parts{
      Gaussian{(1.0 - changes) * free.weight, free.mean, free.covariance}, ended};
  hypotheses_[0] = mixed(parts);
  hypotheses_[0].mean.head<3>().setZero();
  hypotheses_[0].covariance.topRows<3>().setZero();
  hypotheses_[0].covariance.leftCols<3>().setZero();
}

/// Corrects y with the components of a wrench, one at a time. The weight becomes the logarithm of
/// what it was times the likelihood.
void ContactEstimator::correct(Gaussian& hypothesis, const Vector3d& contact, const Vector3d& force,
                               const Vector3d& moment) const noexcept {
  double logarithm = std::log(std::max(hypothesis.weight, std::numeric_limits<double>::min()));
  const Vector3d payload_moment = tip_.cross(gravity_);
  for (int row = 0; row < 6; ++row) {
    const int i = row % 3;
    Vector4 by_y = Vector4::Zero();
    double reading = 0.0;
    if (row < 3) {
      by_y[i] = 1.0;
      by_y[3] = gravity_[i];
      reading = force[i];
    } else {  // row i of the matrix of p x f
      by_y[(i + 1) % 3] = -contact[(i + 2) % 3];
      by_y[(i + 2) % 3] = contact[(i + 1) % 3];
      by_y[3] = payload_moment[i];
      reading = moment[i];
    }
    if (!std::isfinite(reading)) continue;
    const Vector4 gain = hypothesis.covariance * by_y;
    const double variance = by_y.dot(gain) + (row < 3 ? force_variance_ : moment_variance_);
    const double error = reading - by_y.dot(hypothesis.mean);
    hypothesis.mean += error / variance * gain;
    hypothesis.covariance -= gain * gain.transpose() / variance;
    logarithm -= 0.5 * (error * error / variance + std::log(variance));
  }
  hypothesis.weight = logarithm;
}

void ContactEstimator::step(std::span<double> memory, const Eigen::Ref<const Eigen::VectorXd>& q,
                            const BaseState& base, const Vector3d& force,
                            const Vector3d& moment) noexcept {
  predict(memory);
  for (SectionState& state : states_) state.phi = 0.0;  // what was computed before does not matter
  from_coordinates(robot_, q, states_);
  const auto position = [&](const BodyPlace& place) -> Vector3d {
    return backbone_pose(robot_, states_, base, place.section, place.fraction).translation();
  };
  Vector3d rest_force = force, rest_moment = moment;  // without what is known
  for (const ElasticArm::MassPoint& point : masses_) {
    rest_force -= point.mass * gravity_;
    rest_moment -= position(point.place).cross(point.mass * gravity_);
  }
  tip_ = position({robot_.section_count() - 1, 1.0});
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
    correct(hypotheses_[h], h == 0 ? tip_ : position(places_[h - 1]), rest_force, rest_moment);
    largest = std::max(largest, hypotheses_[h].weight);
  }
  double sum = 0.0;
  for (Gaussian& hypothesis : hypotheses_)
    sum += hypothesis.weight = std::exp(hypothesis.weight - largest);
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) {
    const ContactEstimatorMemory::Hypothesis& slot = memory_.hypotheses[h];
    slot.probability(memory) = hypotheses_[h].weight / sum;
    slot.mean(memory) = hypotheses_[h].mean;
    slot.covariance(memory) = hypotheses_[h].covariance;
  }
}

void ContactEstimator::probabilities(std::span<const double> memory,
                                     std::span<double> out) const noexcept {
  double sum = 0.0;
  for (std::size_t k = 0; k < places_.size(); ++k)
    sum += out[k] = memory_.hypotheses[k + 1].probability(memory);
  for (double& probability : out)
    probability = sum > 0.0 ? probability / sum : 1.0 / static_cast<double>(out.size());
}

ContactEstimate ContactEstimator::estimate(std::span<const double> memory) const noexcept {
  ContactEstimate estimate;
  Gaussian touched;
  double highest = 0.0, mean = 0.0, square = 0.0;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const Gaussian hypothesis = read(memory, k + 1);
    mean += hypothesis.weight * distances_[k];
    square += hypothesis.weight * distances_[k] * distances_[k];
    if (hypothesis.weight > highest) {
      highest = hypothesis.weight;
      estimate.most_probable = static_cast<int>(k);
    }
    const std::array<Gaussian, 2> parts{touched, hypothesis};
    touched = mixed(parts);
  }
  const std::array<Gaussian, 2> parts{read(memory, 0), touched};
  const Gaussian all = mixed(parts);
  estimate.payload = all.mean[3];
  estimate.payload_deviation = std::sqrt(std::max(0.0, all.covariance(3, 3)));
  estimate.probability = touched.weight / all.weight;
  if (touched.weight <= 0.0) return estimate;
  estimate.place = mean / touched.weight;
  const double spread = square / touched.weight - estimate.place * estimate.place;
  estimate.place_deviation = std::sqrt(std::max(0.0, spread) + spacing_ * spacing_ / 12.0);
  estimate.force = touched.mean.head<3>();
  estimate.force_covariance = touched.covariance.topLeftCorner<3, 3>();
  return estimate;
}

}  // namespace tendril
