#include "tendril/snake/folded_path.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kLargestAngle = 2.2;  // [rad], of an arc: the fold's sides stay apart
constexpr int kBisections = 60;

/// Returns the angle with angle / sin(angle) = ratio >= 1, up to kLargestAngle.
double arc_angle(double ratio) noexcept {
  if (!(ratio > 1.0)) return 0.0;
  double low = 0.0, high = kLargestAngle;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (middle < ratio * std::sin(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

FoldedPath::FoldedPath(CurveRef path, double straight, double stored,
                       const Vector3d& aside) noexcept
    : path_(path),
      straight_(straight),
      stored_(std::clamp(stored, 0.0, largest(straight))),
      angle_(arc_angle(1.0 + stored_ / straight)),
      radius_(angle_ > 0.0 ? straight / (4.0 * std::sin(angle_))
                           : std::numeric_limits<double>::infinity()) {
  const CurvePoint first = path.at(path.begin());
  start_ = first.position;
  along_ = first.first.normalized();
  aside_ = (aside - aside.dot(along_) * along_).normalized();
}

double FoldedPath::largest(double straight) noexcept {
  return straight * (kLargestAngle / std::sin(kLargestAngle) - 1.0);
}

CurvePoint FoldedPath::at(double s) const noexcept {
  const double from = s - begin(), length = straight_ + stored_;
  if (angle_ == 0.0 || from >= length) return path_.at(s - stored_);
  // The second half is the first one, mirrored.
  const bool mirrored = from > 0.5 * length;
  const double phi = (mirrored ? length - from : from) / radius_;  // in [0, 2 alpha]
  const double c = std::cos(angle_), n = std::sin(angle_);
  double x = std::sin(phi), y = 1.0 - std::cos(phi), heading = phi, bend = 1.0;
  if (phi > angle_) {
    heading = 2.0 * angle_ - phi;
    x = 2.0 * n - std::sin(heading);
    y = 1.0 - 2.0 * c + std::cos(heading);
    bend = -1.0;
  }
  Eigen::Vector2d position{radius_ * x, radius_ * y}, first{std::cos(heading), std::sin(heading)};
  Eigen::Vector2d second = bend / radius_ * Eigen::Vector2d(-first.y(), first.x());
  if (mirrored) {
    position.x() = straight_ - position.x();
    first.y() = -first.y();
    second.x() = -second.x();
  }
  const auto in_space = [this](const Eigen::Vector2d& v) -> Vector3d {
    return v.x() * along_ + v.y() * aside_;
  };
  return {start_ + in_space(position), in_space(first), in_space(second)};
}

}  // namespace tendril
