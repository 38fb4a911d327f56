#pragma once

#include <span>
#include <vector>

#include "tendril/snake/curve.hpp"

namespace tendril {

/// The natural C2 cubic spline through points. s is the accumulated chord length in [0, end()] [m],
/// or the given knots. Past its ends it continues straight. docs/theory/snakes.md,
/// "Splines".
class CubicSpline {
 public:
  /// Takes at least two points, all finite, neighbors apart (> 1e-9 m), knots (if any) one per
  /// point and increasing; throws ModelError naming the point (from 1).
  explicit CubicSpline(std::span<const Eigen::Vector3d> points, std::span<const double> knots = {});

  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return knots_.front(); }
  [[nodiscard]] double end() const noexcept { return knots_.back(); }
  [[nodiscard]] std::span<const double> knots() const noexcept { return knots_; }

 private:
  /// Segment from one knot to the next: a + b u + c u^2 + d u^3, u = s - knot.
  struct Segment {
    Eigen::Vector3d a, b, c, d;
  };

  std::vector<double> knots_;
  std::vector<Segment> segments_;
};

}  // namespace tendril
