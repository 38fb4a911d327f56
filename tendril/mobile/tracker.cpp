#include "tendril/mobile/tracker.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr double kDamping = 1e-9;      // of the normal matrix, against exact singularity
constexpr double kLongestStep = 0.5;   // [rad], [m]: of one iteration
constexpr double kMinMobility = 1e-4;  // of a joint at its limit

/// Rotation vector that takes R to R_goal, in the world.
Vector3d rotation_to(const Eigen::Matrix3d& R, const Eigen::Matrix3d& R_goal) noexcept {
  const Eigen::Matrix3d D = R_goal * R.transpose();
  const Vector3d twice_sine(D(2, 1) - D(1, 2), D(0, 2) - D(2, 0), D(1, 0) - D(0, 1));
  const double sine = twice_sine.norm(), cosine = D.trace() - 1.0;
  if (sine == 0.0) return Vector3d::Zero();
  return twice_sine * (std::atan2(sine, cosine) / sine);
}

}  // namespace

void tool_jacobian(const MobileRobot& robot, std::span<const Isometry3d> frames,
                   Eigen::Matrix<double, 6, Eigen::Dynamic>& J) noexcept {
  const Isometry3d& tool = frames[static_cast<std::size_t>(frame_count(robot)) - 1];
  const auto set_hinge = [&](Eigen::Index column, const Vector3d& axis, const Vector3d& at) {
    J.col(column).head<3>() = axis.cross(tool.translation() - at);
    J.col(column).tail<3>() = axis;
  };
  J.col(0) << Vector3d::UnitX(), Vector3d::Zero();
  J.col(1) << Vector3d::UnitY(), Vector3d::Zero();
  set_hinge(2, Vector3d::UnitZ(), frames[0].translation());
  set_hinge(3, Vector3d::UnitZ(), frames[1].translation());
  for (int i = 0; i < robot.link_count(); ++i) {
    const Isometry3d& link = frames[static_cast<std::size_t>(i) + 2];
    set_hinge(4 + i, link.linear().col(1), link.translation());
  }
  set_hinge(4 + robot.link_count(), tool.linear().col(0), tool.translation());
}

MobileTracker::MobileTracker(const MobileRobot& robot, const MobileTrackerOptions& options)
    : robot_(robot),
      options_(options),
      frames_(static_cast<std::size_t>(frame_count(robot))),
      J_(6, configuration_size(robot)),
      weighted_(6, configuration_size(robot)),
      mobility_(configuration_size(robot)),
      step_(configuration_size(robot)) {
  constexpr char kName[] = "mobile tracker options";
  require(kName, "max_iterations", options.max_iterations, {.low = 1.0});
  require(kName, "position_tolerance", options.position_tolerance, kPositive, "m");
  require(kName, "angle_tolerance", options.angle_tolerance, kPositive, "rad");
  require(kName, "platform_weight", options.platform_weight, kPositive, "rad/m");
  require(kName, "heading_weight", options.heading_weight, kPositive);
  require(kName, "limit_zone", options.limit_zone, kPositive, "rad");
}

MobileTracker::Result MobileTracker::follow(const Isometry3d& X_WG,
                                            Eigen::Ref<Eigen::VectorXd> x) noexcept {
  Result result;
  const auto solve_step = [&](const Eigen::Matrix<double, 6, 1>& e) {
    weighted_.noalias() = J_ * mobility_.asDiagonal();
    Eigen::Matrix<double, 6, 6> A = weighted_ * J_.transpose();
    A.diagonal().array() += kDamping;
    const Eigen::Matrix<double, 6, 1> y = A.ldlt().solve(e);
    step_.noalias() = weighted_.transpose() * y;
  };
  for (;; ++result.iterations) {
    mobile_frames(robot_, platform_of(x), joints_of(x), frames_);
    const Isometry3d& tool = frames_.back();
    Eigen::Matrix<double, 6, 1> e;
    e << X_WG.translation() - tool.translation(), rotation_to(tool.linear(), X_WG.linear());
    if (e.head<3>().norm() <= options_.position_tolerance &&
        e.tail<3>().norm() <= options_.angle_tolerance) {
      result.converged = true;
      return result;
    }
    if (result.iterations == options_.max_iterations || !e.allFinite()) return result;

    tool_jacobian(robot_, frames_, J_);
    mobility_.setOnes();
    mobility_.head<2>().setConstant(1.0 / (options_.platform_weight * options_.platform_weight));
    mobility_[2] = 1.0 / (options_.heading_weight * options_.heading_weight);
    solve_step(e);
    // Joints that go towards a limit near by are slowed down, the rest takes over.
    bool slowed = false;
    for (int j = 0; j < robot_.joint_count(); ++j) {
      const JointLimits& limits = robot_.joint_limits(j);
      const double q = x[kPlatformSize + j];
      const double room = step_[kPlatformSize + j] > 0.0 ? limits.max - q : q - limits.min;
      if (room >= options_.limit_zone) continue;
      const double ratio = std::max(room, 0.0) / options_.limit_zone;
      mobility_[kPlatformSize + j] = std::max(ratio * ratio, kMinMobility);
      slowed = true;
    }
    if (slowed) solve_step(e);
    const double longest = step_.cwiseAbs().maxCoeff();
    if (!std::isfinite(longest)) return result;
    x += step_ * std::min(1.0, kLongestStep / longest);
    for (int j = 0; j < robot_.joint_count(); ++j) {
      const JointLimits& limits = robot_.joint_limits(j);
      double& q = x[kPlatformSize + j];
      q = std::clamp(q, limits.min, limits.max);
    }
  }
}

}  // namespace tendril
