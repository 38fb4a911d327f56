#include "tendril/snake/cubic_spline.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "tendril/curve_points.hpp"
#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

void check_knots(std::span<const double> knots, std::size_t count) {
  if (knots.size() != count)
    refuse("spline", "number of knots", static_cast<double>(knots.size()),
           "the number of points, " + std::to_string(count));
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(knots[i]) || (i > 0 && knots[i] <= knots[i - 1]))
      throw ModelError("spline: knot " + std::to_string(i + 1) + ", must be finite and increase");
  }
}

/// Second derivatives at the knots of the natural spline: tridiagonal system by elimination.
std::vector<Vector3d> second_derivatives(std::span<const Vector3d> points,
                                         std::span<const double> knots) {
  const std::size_t last = points.size() - 1;
  std::vector<Vector3d> second(points.size(), Vector3d::Zero());
  std::vector<double> upper(points.size(), 0.0);
  const auto slope = [&](std::size_t i) -> Vector3d {
    return (points[i + 1] - points[i]) / (knots[i + 1] - knots[i]);
  };
  for (std::size_t i = 1; i < last; ++i) {
    const double before = knots[i] - knots[i - 1], after = knots[i + 1] - knots[i];
    const double pivot = 2.0 * (before + after) - before * upper[i - 1];
    upper[i] = after / pivot;
    second[i] = (6.0 * (slope(i) - slope(i - 1)) - before * second[i - 1]) / pivot;
  }
  for (std::size_t i = last; i-- > 1;) second[i] -= upper[i] * second[i + 1];
  return second;
}

}  // namespace

CubicSpline::CubicSpline(std::span<const Vector3d> points, std::span<const double> knots) {
  check_curve_points(points, "spline");
  if (knots.empty()) {
    knots_.push_back(0.0);
    for (std::size_t i = 1; i < points.size(); ++i)
      knots_.push_back(knots_.back() + (points[i] - points[i - 1]).norm());
  } else {
    check_knots(knots, points.size());
    knots_.assign(knots.begin(), knots.end());
  }
  const std::vector<Vector3d> second = second_derivatives(points, knots_);
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double h = knots_[i + 1] - knots_[i];
    segments_.push_back(
        {points[i], (points[i + 1] - points[i]) / h - h / 6.0 * (2.0 * second[i] + second[i + 1]),
         0.5 * second[i], (second[i + 1] - second[i]) / (6.0 * h)});
  }
}

CurvePoint CubicSpline::at(double s) const noexcept {
  const auto above = std::upper_bound(knots_.begin() + 1, knots_.end() - 1, s);
  const auto i = static_cast<std::size_t>(above - knots_.begin()) - 1;
  const Segment& g = segments_[i];
  const double inside = std::clamp(s, knots_.front(), knots_.back());
  const double u = inside - knots_[i];
  CurvePoint point{g.a + u * (g.b + u * (g.c + u * g.d)), g.b + u * (2.0 * g.c + 3.0 * u * g.d),
                   2.0 * g.c + 6.0 * u * g.d};
  if (s != inside) {
    point.position += (s - inside) * point.first;
    point.second.setZero();
  }
  return point;
}

}  // namespace tendril
