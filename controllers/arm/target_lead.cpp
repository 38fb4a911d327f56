#include "controllers/arm/target_lead.hpp"

#include <algorithm>
#include <cmath>

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kSlowSpeed = 0.01;         // v_0 [m/s]
constexpr double kSmallAcceleration = 0.1;  // a_0 [m/s^2]

/// Gains of the filter whose three roots are r: fading memory of second degree.
Vector3d fading_memory(double r, double h) {
  const double s = 1.0 - r;
  return {1.0 - r * r * r, 1.5 * s * s * (1.0 + r) / h, s * s * s / (h * h)};
}

}  // namespace

TargetLead::TargetLead(double timestep)
    : timestep_(timestep),
      filter_gain_(fading_memory(std::exp(-timestep / kFilterTime), timestep)),
      time_(layout_.number(std::min(timestep, kMaxTime))),
      squared_time_(layout_.number()) {}

Vector3d TargetLead::step(const Vector3d& p_BG, std::span<const double> memory,
                          std::span<double> next_memory) const noexcept {
  const double h = timestep_;
  const auto last = motion_(memory);
  auto next = motion_(next_memory);
  Matrix3d predicted = last;
  predicted.col(1) += h * last.col(2);
  predicted.col(0) += h * last.col(1) + 0.5 * h * h * last.col(2);
  const Vector3d innovation = p_BG - predicted.col(0);
  const bool jumps = !known_(memory) || (p_BG - sample_(memory) - h * last.col(1)).norm() > kJump;
  if (jumps)
    next << p_BG, Vector3d::Zero(), Vector3d::Zero();
  else
    next = predicted + innovation * filter_gain_.transpose();
  const bool corner = jumps || innovation.norm() > kCorner;
  const double quiet = corner ? 0.0 : std::min(quiet_(memory) + h, kQuietTime);
  known_(next_memory) = true;
  sample_(next_memory) = p_BG;
  quiet_(next_memory) = quiet;

  Vector3d offset = time_(memory) * next.col(1);
  if (quiet >= kSettledTime) offset += squared_time_(memory) * next.col(2);
  return offset * (kMaxOffset / std::max(offset.norm(), kMaxOffset));
}

void TargetLead::adapt(const Vector3d& error, double gain,
                       std::span<double> next_memory) const noexcept {
  if (quiet_(next_memory) < kQuietTime || error.norm() > kMaxOffset) return;
  const auto motion = motion_(next_memory);
  const auto change = [&](const auto& direction, double smallest) {
    return gain * timestep_ * error.dot(direction) /
           (direction.squaredNorm() + smallest * smallest);
  };
  time_(next_memory) =
      std::clamp(time_(next_memory) + change(motion.col(1), kSlowSpeed), kMinTime, kMaxTime);
  squared_time_(next_memory) =
      std::clamp(squared_time_(next_memory) + change(motion.col(2), kSmallAcceleration),
                 -kMaxSquaredTime, kMaxSquaredTime);
}

}  // namespace tendril
