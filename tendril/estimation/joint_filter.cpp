#include "tendril/estimation/joint_filter.hpp"

#include <cmath>
#include <string>

#include "tendril/model_error.hpp"

namespace tendril {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

void require_positive(double value, const std::string& name) {
  if (!(value > 0.0 && std::isfinite(value)))
    throw ModelError(name + " = " + std::to_string(value) + ": must be > 0");
}

}  // namespace

Matrix3d JointFilter::transition(double time, const JointFilterOptions& options) noexcept {
  const double tau = options.acceleration_time, keep = std::exp(-time / tau);
  Matrix3d F = Matrix3d::Identity();
  F(0, 1) = time;
  F(0, 2) = tau * (time - tau * (1.0 - keep));
  F(1, 2) = tau * (1.0 - keep);
  F(2, 2) = keep;
  return F;
}

Matrix3d JointFilter::noise(double time, const JointFilterOptions& options) noexcept {
  // Integral of the response to the noise, by the rule of Gauss and Legendre.
  constexpr double kNodes[] = {0.0694318442029737, 0.3300094782075719, 0.6699905217924281,
                               0.9305681557970263};
  constexpr double kWeights[] = {0.1739274225687269, 0.3260725774312731, 0.3260725774312731,
                                 0.1739274225687269};
  const double density =
      2.0 * options.acceleration * options.acceleration / options.acceleration_time;
  Matrix3d Q = Matrix3d::Zero();
  for (int i = 0; i < 4; ++i) {
    const Vector3d response = transition(kNodes[i] * time, options).col(2);
    Q += density * kWeights[i] * time * response * response.transpose();
  }
  return Q;
}

JointFilter::JointFilter(std::vector<double> deviations, const JointFilterOptions& options)
    : deviations_(std::move(deviations)), options_(options) {
  require_positive(options.timestep, "joint filter: timestep");
  require_positive(options.acceleration, "joint filter: acceleration");
  require_positive(options.acceleration_time, "joint filter: acceleration_time");
  require_positive(options.start_angle, "joint filter: start_angle");
  require_positive(options.start_rate, "joint filter: start_rate");
  for (std::size_t j = 0; j < deviations_.size(); ++j)
    require_positive(deviations_[j], "joint filter: deviation of joint " + std::to_string(j + 1));
  states_ = layout_.matrix<Eigen::Matrix3Xd>(3, count());
  covariances_ = layout_.matrix<Eigen::Matrix3Xd>(3, 3 * count());
  F_ = transition(options.timestep, options);
  Q_ = noise(options.timestep, options);
}

void JointFilter::start(std::span<double> memory, std::span<const double> angles) const noexcept {
  const Vector3d deviation(options_.start_angle, options_.start_rate, options_.acceleration);
  for (int j = 0; j < count(); ++j) {
    states_(memory).col(j) = Vector3d(angles[static_cast<std::size_t>(j)], 0.0, 0.0);
    covariances_(memory).middleCols<3>(3 * j) = deviation.cwiseAbs2().asDiagonal();
  }
}

double JointFilter::step(std::span<double> memory,
                         std::span<const double> readings) const noexcept {
  auto states = states_(memory);
  auto covariances = covariances_(memory);
  double squared = 0.0;
  for (int j = 0; j < count(); ++j) {
    const auto i = static_cast<std::size_t>(j);
    Vector3d x = F_ * states.col(j);
    Matrix3d P = F_ * covariances.middleCols<3>(3 * j) * F_.transpose() + Q_;
    if (std::isfinite(readings[i])) {
      const double error = readings[i] - x[0];
      const double variance = P(0, 0) + deviations_[i] * deviations_[i];
      const Vector3d across = P.col(0);
      x += across * (error / variance);
      P -= across * (across.transpose() / variance);
      squared += error * error / variance;
    }
    states.col(j) = x;
    covariances.middleCols<3>(3 * j) = 0.5 * (P + P.transpose());
  }
  return squared;
}

Vector3d JointFilter::state(std::span<const double> memory, int joint) const noexcept {
  return states_(memory).col(joint);
}

Matrix3d JointFilter::covariance(std::span<const double> memory, int joint) const noexcept {
  return covariances_(memory).middleCols<3>(3 * joint);
}

}  // namespace tendril
