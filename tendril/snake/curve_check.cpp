#include "tendril/snake/curve_check.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Vector3d;

constexpr double kSamplesPerLink = 16.0;
constexpr double kSuspect =
    0.02;                        // [rad], a change of direction between samples that may be a kink
constexpr int kHalvings = 30;    // of a suspicious step: a smooth change shrinks by 2^30
constexpr double kStill = 1e-9;  // of the expected distance: a step that short counts as stationary
constexpr int kLargestCount = 1 << 20;

double angle_between(const Vector3d& a, const Vector3d& b) noexcept {
  return std::atan2(a.cross(b).norm(), a.dot(b));
}

/// The jump of the tangent between s_a and s_b; near 0 if it rotates smoothly.
double kink_between(CurveRef curve, double& s_a, double s_b) noexcept {
  CurvePoint a = curve.at(s_a), b = curve.at(s_b);
  for (int i = 0; i < kHalvings; ++i) {
    const double s_m = 0.5 * (s_a + s_b);
    const CurvePoint m = curve.at(s_m);
    if (angle_between(a.first, m.first) > angle_between(m.first, b.first)) {
      s_b = s_m;
      b = m;
    } else {
      s_a = s_m;
      a = m;
    }
  }
  return angle_between(a.first, b.first);
}

/// Module k's limit in the roll that suits it best [1/m].
double loosest_limit(const SnakeChain& chain, int k) noexcept {
  return hypotenuse(chain.curvature_limit(2 * k - 1), chain.curvature_limit(2 * k));
}

}  // namespace

const char* to_string(CurveFault fault) noexcept {
  switch (fault) {
    case CurveFault::None:
      return "fine";
    case CurveFault::NotFinite:
      return "not finite";
    case CurveFault::Stationary:
      return "stationary: repeated points";
    case CurveFault::Kink:
      return "kink";
    case CurveFault::TooTight:
      return "too tight";
    case CurveFault::TooShort:
      return "too short";
  }
  return "unknown";
}

CurveReport check_curve(const SnakeChain& chain, CurveRef curve, double s_start,
                        double largest_distance) noexcept {
  CurveReport report{.s = s_start, .module = 1};
  const auto fail = [&report](CurveFault fault) {
    report.fault = fault;
    return report;
  };
  if (!(s_start >= curve.begin() && s_start <= curve.end()) || !std::isfinite(curve.end()))
    return fail(CurveFault::NotFinite);

  double shortest = std::numeric_limits<double>::infinity();
  for (int j = 1; j <= chain.joint_count(); ++j)
    if (chain.link_length(j) > 0.0) shortest = std::min(shortest, chain.link_length(j));
  const double spacing = shortest / kSamplesPerLink;

  double s = s_start, distance = 0.0;
  double module_distance = 0.0, module_angle = 0.0;
  const auto module_length = [&chain](int k) {
    return chain.module_length(std::min(k, chain.module_count()));
  };
  CurvePoint before = curve.at(s);
  for (int i = 0; i < kLargestCount && s < curve.end() && distance < largest_distance; ++i) {
    const double speed = before.first.norm();
    if (!before.position.allFinite() || !std::isfinite(speed)) return fail(CurveFault::NotFinite);
    if (!(speed > 0.0)) return fail(CurveFault::Stationary);
    const double next = std::min(s + spacing / speed, curve.end());
    if (!(next > s)) break;  // the rest is below the rounding
    const CurvePoint point = curve.at(next);
    if (!point.position.allFinite() || !point.first.allFinite()) return fail(CurveFault::NotFinite);
    const double step = (point.position - before.position).norm();
    if (step <= kStill * speed * (next - s) || !(point.first.norm() > 0.0))
      return fail(CurveFault::Stationary);
    const double angle = angle_between(before.first, point.first);
    if (angle > kSuspect) {
      double at = s;
      report.kink = kink_between(curve, at, next);
      if (report.kink > kSuspect) {
        report.distance = distance + (at - s) * speed;
        report.s = at;
        return fail(CurveFault::Kink);
      }
      report.kink = 0.0;
    }
    distance += step;
    module_distance += step;
    module_angle += angle;
    if (module_distance >= module_length(report.module)) {
      const double limit = loosest_limit(chain, std::min(report.module, chain.module_count()));
      if (module_angle > limit * module_distance) {
        report.curvature = module_angle / module_distance;
        report.limit = limit;
        return fail(CurveFault::TooTight);
      }
      module_distance = module_angle = 0.0;
      ++report.module;
    }
    s = next;
    before = point;
    report.s = s;
    report.distance = distance;
  }
  if (distance < std::min(chain.length(), largest_distance)) {
    report.limit = chain.length();
    report.module = std::min(report.module, chain.module_count());
    return fail(CurveFault::TooShort);
  }
  report.module = 0;
  return report;
}

std::string describe(const CurveReport& report) {
  char text[256];
  const char* name = to_string(report.fault);
  switch (report.fault) {
    case CurveFault::None:
      return name;
    case CurveFault::Kink:
      std::snprintf(text, sizeof text, "module %d: %s: the tangent jumps by %.3g rad at %.6g m",
                    report.module, name, report.kink, report.distance);
      break;
    case CurveFault::TooTight:
      std::snprintf(text, sizeof text,
                    "module %d: %s: curvature %.3g 1/m, must be <= %.3g 1/m (up to %.6g m)",
                    report.module, name, report.curvature, report.limit, report.distance);
      break;
    case CurveFault::TooShort:
      std::snprintf(text, sizeof text, "module %d: %s: %.6g m, must be >= %.6g m", report.module,
                    name, report.distance, report.limit);
      break;
    default:
      std::snprintf(text, sizeof text, "module %d: %s at %.6g m", report.module, name,
                    report.distance);
  }
  return text;
}

}  // namespace tendril
