#include "tendril/snake/curve.hpp"

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <string>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kParallel = 1e-9;  // sine of the angle below which directions count as parallel

double finite(const char* curve, const char* field, double value, const char* unit) {
  require(curve, field, value, kFinite, unit);
  return value;
}

double positive(const char* curve, const char* field, double value, const char* unit) {
  require(curve, field, value, kPositive, unit);
  return value;
}

Vector3d finite(const char* curve, const char* field, const Vector3d& value) {
  if (!value.allFinite()) throw ModelError(std::string(curve) + ": " + field + ", must be finite");
  return value;
}

Vector3d unit(const char* curve, const char* field, const Vector3d& value) {
  const double norm = value.norm();
  if (!kPositive.contains(norm))
    throw ModelError(std::string(curve) + ": " + field + ", must be finite and not zero");
  return value / norm;
}

}  // namespace

double CurvePoint::curvature() const noexcept {
  const double speed = first.norm();
  return first.cross(second).norm() / (speed * speed * speed);
}

Line::Line(const Vector3d& start, const Vector3d& direction, double length)
    : start_(finite("line", "start", start)),
      direction_(unit("line", "direction", direction)),
      length_(positive("line", "length", length, "m")) {}

CurvePoint Line::at(double s) const noexcept {
  return {start_ + s * direction_, direction_, Vector3d::Zero()};
}

Helix::Helix(double radius, double pitch, double length)
    : radius_(positive("helix", "radius", radius, "m")),
      length_(positive("helix", "length", length, "m")) {
  const double climb_per_radian = finite("helix", "pitch", pitch, "m") / (2.0 * pi);
  rate_ = 1.0 / hypotenuse(radius, climb_per_radian);
  climb_ = climb_per_radian * rate_;
}

CurvePoint Helix::at(double s) const noexcept {
  const double c = radius_ * std::cos(rate_ * s), d = radius_ * std::sin(rate_ * s);
  const double rate2 = rate_ * rate_;
  return {{c, d, climb_ * s}, {-rate_ * d, rate_ * c, climb_}, {-rate2 * c, -rate2 * d, 0.0}};
}

SineCurve::SineCurve(double amplitude_y, double wave_y, double amplitude_z, double wave_z,
                     double length)
    : amplitude_y_(finite("sine curve", "amplitude_y", amplitude_y, "m")),
      rate_y_(2.0 * pi / positive("sine curve", "wave_y", wave_y, "m")),
      amplitude_z_(finite("sine curve", "amplitude_z", amplitude_z, "m")),
      rate_z_(2.0 * pi / positive("sine curve", "wave_z", wave_z, "m")),
      length_(positive("sine curve", "length", length, "m")) {}

CurvePoint SineCurve::at(double s) const noexcept {
  const double y = amplitude_y_ * std::sin(rate_y_ * s), z = amplitude_z_ * std::sin(rate_z_ * s);
  const double dy = amplitude_y_ * rate_y_ * std::cos(rate_y_ * s);
  const double dz = amplitude_z_ * rate_z_ * std::cos(rate_z_ * s);
  return {{s, y, z}, {1.0, dy, dz}, {0.0, -rate_y_ * rate_y_ * y, -rate_z_ * rate_z_ * z}};
}

ConicalSpiral::ConicalSpiral(double start_radius, double growth, double climb, double angle)
    : start_radius_(positive("conical spiral", "start_radius", start_radius, "m")),
      growth_(finite("conical spiral", "growth", growth, "m/rad")),
      climb_(finite("conical spiral", "climb", climb, "m/rad")),
      angle_(positive("conical spiral", "angle", angle, "rad")) {
  if (start_radius + growth * angle <= 0.0)
    refuse("conical spiral", "growth", growth, "such that the radius at the end is positive",
           "m/rad");
}

CurvePoint ConicalSpiral::at(double s) const noexcept {
  const double r = start_radius_ + growth_ * s, c = std::cos(s), d = std::sin(s);
  return {{r * c, r * d, climb_ * s},
          {growth_ * c - r * d, growth_ * d + r * c, climb_},
          {-2.0 * growth_ * d - r * c, 2.0 * growth_ * c - r * d, 0.0}};
}

Arc::Arc(const Vector3d& start, const Vector3d& tangent, const Vector3d& inward, double radius,
         double angle)
    : tangent_(unit("arc", "tangent", tangent)),
      radius_(positive("arc", "radius", radius, "m")),
      length_(radius * positive("arc", "angle", angle, "rad")) {
  const Vector3d towards = unit("arc", "inward", inward);
  const Vector3d across = towards - towards.dot(tangent_) * tangent_;
  if (across.norm() < kParallel) throw ModelError("arc: inward, must not be along the tangent");
  inward_ = across.normalized();
  center_ = finite("arc", "start", start) + radius * inward_;
}

CurvePoint Arc::at(double s) const noexcept {
  const double c = std::cos(s / radius_), d = std::sin(s / radius_);
  const Vector3d outward = d * tangent_ - c * inward_;
  return {center_ + radius_ * outward, c * tangent_ + d * inward_, -outward / radius_};
}

}  // namespace tendril
