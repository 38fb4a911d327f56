#include "tendril/contact/planar_arc.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace tendril {
namespace {

using Eigen::Vector2d;
using std::numbers::pi;

constexpr double kSmallBend = 1e-6;  // [rad]; below it the series is exact in double precision

/// Point of the arc in the frame of its start.
Vector2d local_point(double curvature, double s) noexcept {
  const double u = curvature * s;
  if (std::abs(u) < kSmallBend) return {0.5 * u * s, s * (1.0 - u * u / 6.0)};
  const double half = std::sin(0.5 * u);
  return {2.0 * half * half / curvature, std::sin(u) / curvature};
}

/// Arc length, along the full circle (or the line), of the point nearest to `local`: in
/// [0, 2 pi/|k|), for a line any number.
double circle_parameter(double curvature, const Vector2d& local) noexcept {
  if (curvature == 0.0) return local.y();
  const double k = std::abs(curvature), x = curvature > 0.0 ? local.x() : -local.x();
  double angle = std::atan2(k * local.y(), 1.0 - k * x);
  if (angle < 0.0) angle += 2.0 * pi;
  return angle / k;
}

/// Distance of `local` from the full circle, well conditioned for every curvature:
///     F = k (x^2 + z^2) - 2 x,   distance = |F| / (1 + sqrt(1 + k F))
double circle_distance(double curvature, const Vector2d& local) noexcept {
  const double F = curvature * local.squaredNorm() - 2.0 * local.x();
  return std::abs(F) / (1.0 + std::sqrt(std::max(0.0, 1.0 + curvature * F)));
}

/// Arc length in [0, length] of the point of the arc nearest to `local`.
double nearest_local(double curvature, double length, const Vector2d& local) noexcept {
  const double s = circle_parameter(curvature, local);
  if (curvature == 0.0) return std::clamp(s, 0.0, length);
  if (s <= length) return s;
  const double to_end = (local_point(curvature, length) - local).squaredNorm();
  return to_end < local.squaredNorm() ? length : 0.0;
}

double distance_local(double curvature, double length, const Vector2d& local) noexcept {
  const double s = circle_parameter(curvature, local);
  if (s >= 0.0 && s <= length) return circle_distance(curvature, local);
  return std::min(local.norm(), (local_point(curvature, length) - local).norm());
}

/// Returns t where the line a + t d meets the full circle: the roots of
///     k |d|^2 t^2 + 2 (k a.d - d_x) t + (k |a|^2 - 2 a_x) = 0.
std::array<double, 2> circle_crossings(double curvature, const Vector2d& a,
                                       const Vector2d& d) noexcept {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const double A = curvature * d.squaredNorm();
  const double B = curvature * a.dot(d) - d.x();  // half the linear coefficient
  const double C = curvature * a.squaredNorm() - 2.0 * a.x();
  const double discriminant = B * B - A * C;
  if (!(discriminant >= 0.0)) return {kNone, kNone};
  const double q = -(B + std::copysign(std::sqrt(discriminant), B));
  return {A != 0.0 ? q / A : kNone, q != 0.0 ? C / q : kNone};
}

}  // namespace

Vector2d PlanarPose::tangent() const noexcept { return {std::sin(heading), std::cos(heading)}; }

Vector2d PlanarPose::lateral() const noexcept { return {std::cos(heading), -std::sin(heading)}; }

Vector2d PlanarPose::to_local(const Vector2d& point) const noexcept {
  const double s = std::sin(heading), c = std::cos(heading);
  const Vector2d d = point - position;
  return {d.x() * c - d.y() * s, d.x() * s + d.y() * c};
}

Vector2d PlanarPose::to_world(const Vector2d& local) const noexcept {
  const double s = std::sin(heading), c = std::cos(heading);
  return position + Vector2d(local.x() * c + local.y() * s, -local.x() * s + local.y() * c);
}

PlanarPose PlanarArc::pose_at(double s) const noexcept {
  return {start.to_world(local_point(curvature, s)), start.heading + curvature * s};
}

double PlanarArc::nearest_parameter(const Vector2d& point) const noexcept {
  return nearest_local(curvature, length, start.to_local(point));
}

double PlanarArc::distance(const Vector2d& point) const noexcept {
  return distance_local(curvature, length, start.to_local(point));
}

std::optional<PlanarArc> chord_arc(const PlanarPose& start, const Vector2d& target) noexcept {
  const Vector2d local = start.to_local(target);
  const double x = local.x(), z = local.y();
  const double squared = local.squaredNorm();
  if (!(squared > 0.0) || !std::isfinite(squared) || (x == 0.0 && z < 0.0)) return std::nullopt;
  const double k = 2.0 * x / squared;
  const double theta = 2.0 * std::atan2(x, z);
  if (std::abs(theta) < kSmallBend)  // S = chord (theta/2) / sin(theta/2)
    return PlanarArc{start, k, std::sqrt(squared) * (1.0 + theta * theta / 24.0)};
  return PlanarArc{start, k, theta / k};
}

std::optional<double> tangency_curvature(const PlanarPose& start, const Vector2d& center,
                                         double radius, BodySide side) noexcept {
  const Vector2d local = start.to_local(center);
  const double denominator = local.squaredNorm() - radius * radius;
  if (!(denominator > 0.0)) return std::nullopt;
  return 2.0 * (local.x() - sign_of(side) * radius) / denominator;
}

Vector2d nearest_on_segment(const Vector2d& point, const Vector2d& a, const Vector2d& b) noexcept {
  const Vector2d d = b - a;
  const double squared = d.squaredNorm();
  if (!(squared > 0.0)) return a;
  return a + std::clamp((point - a).dot(d) / squared, 0.0, 1.0) * d;
}

ArcSegmentDistance segment_distance(const PlanarArc& arc, const Vector2d& a,
                                    const Vector2d& b) noexcept {
  const double k = arc.curvature, S = arc.length;
  const Vector2d a_local = arc.start.to_local(a), b_local = arc.start.to_local(b);
  const Vector2d d = b_local - a_local;
  const double squared = d.squaredNorm();
  ArcSegmentDistance result;
  if (squared > 0.0) {
    for (const double t : circle_crossings(k, a_local, d)) {
      if (!(t >= 0.0 && t <= 1.0)) continue;
      const double s = circle_parameter(k, a_local + t * d);
      if (s < 0.0 || s > S) continue;
      if (!result.first_crossing || s < *result.first_crossing) result.first_crossing = s;
    }
    if (result.first_crossing) return result;
  }
  const Vector2d tip = local_point(k, S);
  result.distance = std::min({distance_local(k, S, a_local), distance_local(k, S, b_local),
                              nearest_on_segment(Vector2d::Zero(), a_local, b_local).norm(),
                              (nearest_on_segment(tip, a_local, b_local) - tip).norm()});
  if (k != 0.0 && squared > 0.0) {
    const double t = (d.x() / k - a_local.dot(d)) / squared;  // foot of the circle's center
    if (t > 0.0 && t < 1.0) {
      const Vector2d foot = a_local + t * d;
      if (circle_parameter(k, foot) <= S)
        result.distance = std::min(result.distance, circle_distance(k, foot));
    }
  }
  return result;
}

}  // namespace tendril
