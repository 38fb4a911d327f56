#include "tendril/estimation/head_estimator.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <string>

#include "tendril/kinematics/rotation.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

constexpr int kAngle = 0, kVelocity = 3, kPosition = 6, kBias = 9;

Matrix3d skew(const Vector3d& a) noexcept {
  Matrix3d S;
  S << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return S;
}

void require(bool is_valid, const char* name, double value, const char* allowed) {
  if (!is_valid)
    throw ModelError("head estimator: " + std::string(name) + " = " + std::to_string(value) +
                     ": must be " + allowed);
}

}  // namespace

HeadEstimator::HeadEstimator(const HeadEstimatorOptions& options, double timestep)
    : options_(options), timestep_(timestep) {
  require(timestep > 0.0 && std::isfinite(timestep), "timestep", timestep, "> 0");
  const auto not_negative = [](const char* name, double value) {
    require(value >= 0.0 && std::isfinite(value), name, value, ">= 0");
  };
  not_negative("rate_noise", options.rate_noise);
  not_negative("force_noise", options.force_noise);
  not_negative("bias_drift", options.bias_drift);
  not_negative("start_angle", options.start_angle);
  not_negative("start_velocity", options.start_velocity);
  not_negative("start_position", options.start_position);
  not_negative("start_bias", options.start_bias);
  not_negative("lost_after", options.lost_after);
  not_negative("lost_rate", options.lost_rate);
  not_negative("lost_acceleration", options.lost_acceleration);
  not_negative("lost_time", options.lost_time);
  require(options.gravity.allFinite(), "gravity", options.gravity.norm(), "finite");
}

void HeadEstimator::start(std::span<double> memory, const Isometry3d& X_WH) const noexcept {
  R_(memory) = X_WH.linear();
  v_(memory).setZero();
  p_(memory) = X_WH.translation();
  b_(memory).setZero();
  Row deviation;
  deviation.segment<3>(kAngle).setConstant(options_.start_angle);
  deviation.segment<3>(kVelocity).setConstant(options_.start_velocity);
  deviation.segment<3>(kPosition).setConstant(options_.start_position);
  deviation.segment<3>(kBias).setConstant(options_.start_bias);
  P_(memory) = deviation.cwiseAbs2().asDiagonal();
  rate_(memory).setZero();
  force_(memory) = -X_WH.linear().transpose() * options_.gravity;
  has_unit_(memory) = true;
  age_(memory) = 0.0;
}

double HeadEstimator::step(std::span<double> memory, const ImuSample* sample) const noexcept {
  const double age = age_(memory) + timestep_;
  age_(memory) = 0.0;
  if (sample != nullptr) {
    if (!has_unit_(memory)) {  // it is back
      rate_(memory) = sample->rate;
      force_(memory) = sample->force;
      has_unit_(memory) = true;
    }
    advance(memory, *sample, age);
    return age;
  }
  if (has_unit_(memory) && age < options_.lost_after) {
    age_(memory) = age;
    return 0.0;
  }
  has_unit_(memory) = false;
  advance_lost(memory, age);
  return age;
}

/// Advances with the means of the last two samples, and keeps the new one.
void HeadEstimator::advance(std::span<double> memory, const ImuSample& now,
                            double time) const noexcept {
  const Matrix3d R = R_(memory);
  const Vector3d rate = 0.5 * (rate_(memory) + now.rate) - b_(memory);
  const Vector3d force = 0.5 * (force_(memory) + now.force);
  const Matrix3d R_middle = R * rotation_by(0.5 * time * rate);
  const Vector3d acceleration = R_middle * force + options_.gravity;
  const Matrix3d turned = R * rotation_by(time * rate);
  R_(memory) = 0.5 * turned * (3.0 * Matrix3d::Identity() - turned.transpose() * turned);
  p_(memory) += time * v_(memory) + 0.5 * time * time * acceleration;
  v_(memory) += time * acceleration;

  Covariance F = Covariance::Identity();
  F.block<3, 3>(kAngle, kBias) = -time * R_middle;
  F.block<3, 3>(kVelocity, kAngle) = -time * skew(R_middle * force);
  F.block<3, 3>(kPosition, kAngle) = 0.5 * time * F.block<3, 3>(kVelocity, kAngle);
  F.block<3, 3>(kPosition, kVelocity).diagonal().setConstant(time);
  Covariance P = F * P_(memory) * F.transpose();
  const auto squared = [](double x) { return x * x; };
  P.diagonal().segment<3>(kAngle).array() += squared(time * options_.rate_noise);
  P.diagonal().segment<3>(kVelocity).array() += squared(time * options_.force_noise);
  P.diagonal().segment<3>(kBias).array() += time * squared(options_.bias_drift);
  P_(memory) = 0.5 * (P + P.transpose());
  rate_(memory) = now.rate;
  force_(memory) = now.force;
}

void HeadEstimator::advance_lost(std::span<double> memory, double time) const noexcept {
  p_(memory) += time * v_(memory);
  Covariance F = Covariance::Identity();
  F.block<3, 3>(kPosition, kVelocity).diagonal().setConstant(time);
  Covariance P = F * P_(memory) * F.transpose();
  const double density = 2.0 * options_.lost_time * time;
  P.diagonal().segment<3>(kAngle).array() += density * options_.lost_rate * options_.lost_rate;
  P.diagonal().segment<3>(kVelocity).array() +=
      density * options_.lost_acceleration * options_.lost_acceleration;
  P.diagonal().segment<3>(kBias).array() += time * options_.bias_drift * options_.bias_drift;
  P_(memory) = 0.5 * (P + P.transpose());
  rate_(memory) = b_(memory);  // no angular velocity
}

template <int N>
void HeadEstimator::correct(std::span<double> memory,
                            const Eigen::Matrix<double, N, kStates>& by_error,
                            const Eigen::Matrix<double, N, 1>& residual,
                            double deviation) const noexcept {
  Covariance P = P_(memory);
  const Eigen::Matrix<double, kStates, N> across = P * by_error.transpose();
  Eigen::Matrix<double, N, N> variance = by_error * across;
  variance.diagonal().array() += deviation * deviation;
  const Eigen::LLT<Eigen::Matrix<double, N, N>> factor(variance);
  if (factor.info() != Eigen::Success) return;
  const Row error = across * factor.solve(residual);
  P -= across * factor.solve(across.transpose());
  P_(memory) = 0.5 * (P + P.transpose());
  R_(memory) = rotation_by(error.segment<3>(kAngle)) * R_(memory);
  v_(memory) += error.segment<3>(kVelocity);
  p_(memory) += error.segment<3>(kPosition);
  b_(memory) += error.segment<3>(kBias);
}

void HeadEstimator::correct_velocity(std::span<double> memory, const Vector2d& velocity,
                                     double deviation) const noexcept {
  const Vector2d v = v_(memory).head<2>();
  Eigen::Matrix<double, 2, kStates> by_error = Eigen::Matrix<double, 2, kStates>::Zero();
  by_error.block<2, 2>(0, kVelocity).setIdentity();
  by_error.col(kAngle + 2) = Vector2d(v.y(), -v.x());
  correct<2>(memory, by_error, velocity - v, deviation);
}

void HeadEstimator::correct_height(std::span<double> memory, double height,
                                   double deviation) const noexcept {
  Eigen::Matrix<double, 1, kStates> by_error = Eigen::Matrix<double, 1, kStates>::Zero();
  by_error[kPosition + 2] = 1.0;
  correct<1>(memory, by_error, Eigen::Matrix<double, 1, 1>(height - p_(memory).z()), deviation);
}

Matrix3d HeadEstimator::orientation(std::span<const double> memory) const noexcept {
  return R_(memory);
}
Vector3d HeadEstimator::velocity(std::span<const double> memory) const noexcept {
  return v_(memory);
}
Vector3d HeadEstimator::position(std::span<const double> memory) const noexcept {
  return p_(memory);
}
Vector3d HeadEstimator::bias(std::span<const double> memory) const noexcept { return b_(memory); }
Vector3d HeadEstimator::angular_velocity(std::span<const double> memory) const noexcept {
  return R_(memory) * (rate_(memory) - b_(memory));
}
bool HeadEstimator::has_unit(std::span<const double> memory) const noexcept {
  return has_unit_(memory);
}
HeadEstimator::Covariance HeadEstimator::covariance(std::span<const double> memory) const noexcept {
  return P_(memory);
}

}  // namespace tendril
