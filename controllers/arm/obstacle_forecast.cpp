#include "controllers/arm/obstacle_forecast.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/kinematics/rotation.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

}  // namespace

ObstacleForecast::ObstacleForecast(int moving, double timestep)
    : moving_(moving),
      timestep_(timestep),
      known_(layout_.flag()),
      motions_(layout_.matrix<Eigen::MatrixXd>(kRows, moving)) {}

void ObstacleForecast::measure(const Obstacles& obstacles, std::span<const double> memory,
                               std::span<double> next_memory) const noexcept {
  const auto before = motions_(memory);
  auto now = motions_(next_memory);
  const double weight = std::min(1.0, timestep_ / kSmoothing);
  for (int i = 0; i < moving_; ++i) {
    const Eigen::Isometry3d& X_BO = obstacles.pose(i);
    const Eigen::Quaterniond turned(X_BO.linear());
    Vector3d velocity = Vector3d::Zero(), rate = Vector3d::Zero();
    if (known_(memory)) {
      const Vector3d moved = X_BO.translation() - before.col(i).head<3>();
      const Eigen::AngleAxisd change(
          turned * Eigen::Quaterniond(Eigen::Vector4d(before.col(i).segment<4>(3))).conjugate());
      if (moved.norm() < kJump && std::abs(change.angle()) < kJump) {
        velocity = before.col(i).segment<3>(7);
        rate = before.col(i).tail<3>();
        velocity += weight * (moved / timestep_ - velocity);
        rate += weight * (change.angle() * change.axis() / timestep_ - rate);
      }
    }
    now.col(i) << X_BO.translation(), turned.coeffs(), velocity, rate;
  }
  known_(next_memory) = true;
}

void ObstacleForecast::place(double duration, std::span<const double> memory,
                             Obstacles& obstacles) const noexcept {
  const auto motions = motions_(memory);
  for (int i = 0; i < moving_; ++i) {
    const Vector3d moved = duration * motions.col(i).segment<3>(7);
    const Eigen::Quaterniond measured(Eigen::Vector4d(motions.col(i).segment<4>(3)));
    Eigen::Isometry3d X_BO = Eigen::Isometry3d::Identity();
    X_BO.translation() = motions.col(i).head<3>() + moved;
    X_BO.linear() = rotation_by(duration * motions.col(i).tail<3>()) * measured.toRotationMatrix();
    obstacles.set_pose(i, X_BO);
    obstacles.set_growth(i, kDoubt * moved.norm());
  }
}

}  // namespace tendril
