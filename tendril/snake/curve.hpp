#pragma once

#include <Eigen/Core>
#include <concepts>

namespace tendril {

/// A point of a curve with the derivatives with respect to the curve's parameter.
struct CurvePoint {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  ///< R(s) [m]
  Eigen::Vector3d first = Eigen::Vector3d::UnitX();    ///< R'(s) [m per unit of s]
  Eigen::Vector3d second = Eigen::Vector3d::Zero();    ///< R''(s)

  /// |R' x R''| / |R'|^3 [1/m].
  [[nodiscard]] double curvature() const noexcept;
};

/// Any curve with a parameter in [begin(), end()], twice differentiable; any parameter will do, one
/// near the arc length is fastest. at(s) is called for s in that range only.
template <class C>
concept ParametricCurve = requires(const C& curve, double s) {
  { curve.at(s) }
  noexcept->std::convertible_to<CurvePoint>;
  { curve.begin() }
  noexcept->std::convertible_to<double>;
  { curve.end() }
  noexcept->std::convertible_to<double>;
};

/// A view of a curve, which must live longer; made from any ParametricCurve. Pass by value.
class CurveRef {
 public:
  template <ParametricCurve C>
  CurveRef(const C& curve) noexcept  // NOLINT: implicit, as std::span is
      : curve_(&curve),
        at_([](const void* c, double s) noexcept -> CurvePoint {
          return static_cast<const C*>(c)->at(s);
        }),
        begin_(curve.begin()),
        end_(curve.end()) {}

  [[nodiscard]] CurvePoint at(double s) const noexcept { return at_(curve_, s); }
  [[nodiscard]] double begin() const noexcept { return begin_; }
  [[nodiscard]] double end() const noexcept { return end_; }

 private:
  const void* curve_;
  CurvePoint (*at_)(const void*, double) noexcept;
  double begin_, end_;
};

/// Straight from `start` along `direction` (normalized here); s: arc length in [0, length] [m].
/// The constructors of this file throw ModelError naming the curve and the field.
class Line {
 public:
  Line(const Eigen::Vector3d& start, const Eigen::Vector3d& direction, double length);
  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return length_; }

 private:
  Eigen::Vector3d start_, direction_;
  double length_;
};

/// Helix about +z through (radius, 0, 0); s: arc length in [0, length] [m]. `pitch` is the climb
/// per turn [m], of either sign; 0: a circle in the xy-plane, more than once if the length is
/// greater.
///
///     R(s) = (r cos w s, r sin w s, pitch/(2 pi) w s),   w = 1/sqrt(r^2 + (pitch/2 pi)^2)
class Helix {
 public:
  Helix(double radius, double pitch, double length);
  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return length_; }

 private:
  double radius_, rate_, climb_, length_;
};

/// Weaves about +x: R(s) = (s, A_y sin(2 pi s / wave_y), A_z sin(2 pi s / wave_z)); s in [0,
/// length] is the distance along x [m].
class SineCurve {
 public:
  SineCurve(double amplitude_y, double wave_y, double amplitude_z, double wave_z, double length);
  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return length_; }

 private:
  double amplitude_y_, rate_y_, amplitude_z_, rate_z_, length_;
};

/// Conical spiral about +z; s: angle in [0, angle] [rad], so the speed grows with the radius:
/// R(s) = ((r0 + growth s) cos s, (r0 + growth s) sin s, climb s), lengths per radian [m].
class ConicalSpiral {
 public:
  ConicalSpiral(double start_radius, double growth, double climb, double angle);
  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return angle_; }

 private:
  double start_radius_, growth_, climb_, angle_;
};

/// Arc of `radius` from `start`, leaving along `tangent` and bending towards `inward` (made
/// perpendicular to the tangent and normalized here); s: arc length in [0, radius * angle] [m].
class Arc {
 public:
  Arc(const Eigen::Vector3d& start, const Eigen::Vector3d& tangent, const Eigen::Vector3d& inward,
      double radius, double angle);
  [[nodiscard]] CurvePoint at(double s) const noexcept;
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return length_; }

 private:
  Eigen::Vector3d center_, tangent_, inward_;
  double radius_, length_;
};

}  // namespace tendril
