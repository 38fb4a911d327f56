#include "tendril/snake/head_pose.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "tendril/kinematics/cholesky.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr double kLargestChange = 0.3;   // [rad], of a joint in a step
constexpr double kDamping = 1e-4;        // of the matrix' trace, at first
constexpr double kLeastDamping = 1e-13;  // the matrix may be singular
constexpr double kLargestDamping = 1e3;
constexpr double kLess = 0.2,
                 kMore = 3.0;  // factors of the damping after a good step and a bad one
constexpr int kReleases = 4;   // times that joints at their limits leave a step

}  // namespace

Eigen::Matrix3d head_orientation(double roll, double pitch, double yaw) noexcept {
  return (Eigen::AngleAxisd(yaw, Vector3d::UnitZ()) * Eigen::AngleAxisd(-pitch, Vector3d::UnitY()) *
          Eigen::AngleAxisd(roll, Vector3d::UnitX()))
      .toRotationMatrix();
}

HeadPose::HeadPose(const SnakeChain& chain, const HeadPoseOptions& options)
    : chain_(chain),
      options_(options),
      length_(chain.length() / chain.module_count()),
      X_WL_(static_cast<std::size_t>(chain.joint_count()) + 1),
      jacobian_(6, chain.joint_count()),
      weights_(static_cast<std::size_t>(chain.joint_count())),
      now_weights_(weights_.size()),
      change_(weights_.size()),
      best_(weights_.size()) {
  require("head pose", "position_tolerance", options.position_tolerance, kPositive, "m");
  require("head pose", "angle_tolerance", options.angle_tolerance, kPositive, "rad");
  require("head pose", "max_iterations", options.max_iterations, {.low = 1.0});
  for (int j = 1; j <= chain.joint_count(); ++j) {
    const double part = static_cast<double>(j) / chain.joint_count();
    weights_[static_cast<std::size_t>(j - 1)] = part * part;
  }
}

/// The head's Jacobian: joint j rotates everything after B_{j-1} about its axis there.
void HeadPose::linearize(const Isometry3d& X_WB, std::span<const double> angles) noexcept {
  snake_frames(chain_, X_WB, angles, X_WL_);
  const Vector3d head = X_WL_.back().translation();
  for (int j = 1; j <= chain_.joint_count(); ++j) {
    const Isometry3d& before = X_WL_[static_cast<std::size_t>(j - 1)];
    const Vector3d axis =
        j % 2 == 1 ? Vector3d(before.linear().col(2)) : Vector3d(-before.linear().col(1));
    jacobian_.col(j - 1).head<3>() = axis.cross(head - before.translation());
    jacobian_.col(j - 1).tail<3>() = length_ * axis;
  }
}

/// One damped step of least weighted norm, within the limits.
void HeadPose::step(double damping, std::span<double> angles) noexcept {
  now_weights_ = weights_;
  for (int trial = 0; trial < kReleases; ++trial) {
    Matrix6d A = Matrix6d::Zero();
    for (Eigen::Index j = 0; j < jacobian_.cols(); ++j) {
      const Vector6d column = jacobian_.col(j);
      A += now_weights_[static_cast<std::size_t>(j)] * column * column.transpose();
    }
    A.diagonal().array() += damping * A.trace();
    const Vector6d y = cholesky_solve(A, error_);
    double largest = 0.0;
    for (std::size_t j = 0; j < angles.size(); ++j) {
      change_[j] = now_weights_[j] * jacobian_.col(static_cast<Eigen::Index>(j)).dot(y);
      largest = std::max(largest, std::abs(change_[j]));
    }
    bool released = false;
    for (std::size_t j = 0; j < angles.size(); ++j) {
      const double limit = chain_.joint_limit(static_cast<int>(j) + 1);
      change_[j] *= std::min(1.0, kLargestChange / largest);
      if (now_weights_[j] == 0.0 || std::abs(angles[j]) < limit || change_[j] * angles[j] <= 0.0)
        continue;
      now_weights_[j] = 0.0;
      released = true;
    }
    if (!released) break;
  }
  for (std::size_t j = 0; j < angles.size(); ++j) {
    const double limit = chain_.joint_limit(static_cast<int>(j) + 1);
    angles[j] = std::clamp(angles[j] + change_[j], -limit, limit);
  }
}

/// The pose that the head lacks: a translation, and a rotation vector times length_.
Vector6d HeadPose::error(const Isometry3d& X_WH) const noexcept {
  const Isometry3d& X = X_WL_.back();
  const Eigen::AngleAxisd turn(Eigen::Matrix3d(X_WH.linear() * X.linear().transpose()));
  Vector6d error;
  error << X_WH.translation() - X.translation(), length_ * turn.angle() * turn.axis();
  return error;
}

HeadPoseResult HeadPose::reach(const Isometry3d& X_WB, const Isometry3d& X_WH,
                               std::span<double> angles) noexcept {
  assert(std::ssize(angles) == chain_.joint_count());
  HeadPoseResult result;
  double damping = kDamping;
  linearize(X_WB, angles);
  error_ = error(X_WH);
  std::copy(angles.begin(), angles.end(), best_.begin());
  for (;; ++result.iterations) {
    result.position_error = error_.head<3>().norm();
    result.angle_error = error_.tail<3>().norm() / length_;
    result.converged = result.position_error <= options_.position_tolerance &&
                       result.angle_error <= options_.angle_tolerance;
    if (result.converged || result.iterations == options_.max_iterations ||
        damping > kLargestDamping)
      break;
    step(damping, angles);
    linearize(X_WB, angles);
    const Vector6d left = error(X_WH);
    if (left.norm() < error_.norm()) {
      error_ = left;
      std::copy(angles.begin(), angles.end(), best_.begin());
      damping = std::max(kLess * damping, kLeastDamping);
    } else {
      std::copy(best_.begin(), best_.end(), angles.begin());
      linearize(X_WB, angles);
      damping *= kMore;
    }
  }
  return result;
}

}  // namespace tendril
