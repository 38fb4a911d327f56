#include "tendril/snake/torus_march.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

#include "tendril/snake/march_start.hpp"
#include "tendril/snake/module_frame.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMaxIterations = 400;    // long first links step by the second one's length
constexpr double kNear = 0.5;          // of `outer`: Newton and false position take over
constexpr double kLongestStep = 2.0;   // in safe steps, while there is no bracket
constexpr double kBendMargin = 1.5;    // of the second derivative the gap can have here
constexpr double kRounding = 2.0;      // in units of the last place, of the terms of a gap
constexpr double kStalled = 16.0;      // roundings, accepted where the bracket has closed
constexpr int kCurvatureSamples = 16;  // along a failed module

/// The gap function G and its slope along the curve.
struct Gap {
  double value = 0.0;     // [m]
  double slope = 0.0;     // dG/ds in marching direction
  double excess = 0.0;    // rho - inner: not negative on the outer half of the torus
  double height = 0.0;    // u.D
  double rounding = 0.0;  // [m], below which the value means nothing
};

/// The torus a module's end point lies on.
struct Torus {
  Vector3d p, u;
  double inner, outer;

  [[nodiscard]] Gap gap(const CurvePoint& point, double s, int direction) const noexcept {
    const Vector3d D = point.position - p;
    const double h = u.dot(D);
    const Vector3d side = D - h * u;
    const double rho = side.norm(), excess = rho - inner;
    const double speed_up = u.dot(point.first);
    Gap g{.excess = excess, .height = h};
    if (excess > 0.0) {
      const double distance = std::sqrt(excess * excess + h * h);
      g.value = distance - outer;
      g.slope = (excess / rho * side.dot(point.first) + h * speed_up) / distance;
    } else {
      g.value = std::abs(h) - outer;
      g.slope = h < 0.0 ? -speed_up : speed_up;
    }
    g.slope *= direction;
    g.rounding =
        kRounding * kEpsilon *
        (inner + outer + point.position.lpNorm<Eigen::Infinity>() + p.lpNorm<Eigen::Infinity>() +
         std::abs(s) * point.first.lpNorm<Eigen::Infinity>());
    return g;
  }
};

/// Next trial between `low` (inside) and `high` (outside).
struct Bracket {
  double low = 0.0, value_low = 0.0;    // as distance traveled in s, and gap
  double high = 0.0, value_high = 0.0;  // 0: not found yet
  int side = 0;                         // Illinois: which end stayed last time

  [[nodiscard]] bool closed() const noexcept { return high > 0.0; }

  void take(double t, double value, bool halve) noexcept {
    if (value < 0.0) {
      low = t;
      value_low = value;
      if (halve && side == -1) value_high *= 0.5;
      side = -1;
    } else {
      high = t;
      value_high = value;
      if (halve && side == 1) value_low *= 0.5;
      side = 1;
    }
  }
  [[nodiscard]] double middle() const noexcept { return 0.5 * (low + high); }
  [[nodiscard]] double inside_or_middle(double t) const noexcept {
    return t > low && t < high ? t : middle();
  }
};

}  // namespace

const char* to_string(MarchStatus status) noexcept {
  switch (status) {
    case MarchStatus::Ok:
      return "ok";
    case MarchStatus::PathTooShort:
      return "path too short";
    case MarchStatus::TooTight:
      return "curve too tight";
    case MarchStatus::JointLimit:
      return "joint limit";
    case MarchStatus::NoConvergence:
      return "no convergence";
    case MarchStatus::InvalidCurve:
      return "invalid curve";
    case MarchStatus::InvalidStart:
      return "invalid start";
  }
  return "unknown";
}

TorusPoint next_on_torus(CurveRef curve, double s, const CurvePoint& start, const Vector3d& u,
                         double inner, double outer, int direction, RootMethod method) noexcept {
  const Torus torus{start.position, u, inner, outer};
  const double distance_left = direction > 0 ? curve.end() - s : s - curve.begin();
  TorusPoint found{.s = s, .point = start};
  Bracket bracket{.value_low = -outer};
  double t = 0.0;
  Gap gap{.value = -outer};
  while (true) {
    const double speed = found.point.first.norm();
    if (!(speed > 0.0) || !std::isfinite(speed) || !std::isfinite(gap.value)) {
      found.status = MarchStatus::InvalidCurve;
      return found;
    }
    if (!bracket.closed()) {
      if (t >= distance_left) {
        found.status = MarchStatus::PathTooShort;
        return found;
      }
      // A step of |gap| is safe whatever the curve does. Near the torus, where the curve runs along
      // it or away from it, the zero of a parabola above the gap is further away.
      double step = -gap.value / speed;
      if (-gap.value < kNear * outer) {
        const double bend = kBendMargin * (found.point.second.norm() + speed * speed / outer);
        const double rise = std::sqrt(gap.slope * gap.slope - 2.0 * bend * gap.value);
        const double ahead = -2.0 * gap.value / (gap.slope + rise);
        if (gap.slope <= 0.0) {
          step = std::max(step, ahead);
        } else {
          step = std::max(kLongestStep * step, ahead);
          if (method == RootMethod::Newton) step = std::min(step, -gap.value / gap.slope);
        }
      }
      t = std::min(t + step, distance_left);
    } else if (method == RootMethod::Bisection) {
      t = bracket.middle();
    } else if (method == RootMethod::Newton) {
      t = bracket.inside_or_middle(t - gap.value / gap.slope);
    } else {
      t = bracket.inside_or_middle(bracket.low + (bracket.high - bracket.low) * bracket.value_low /
                                                     (bracket.value_low - bracket.value_high));
    }
    if (found.iterations >= kMaxIterations) return found;
    ++found.iterations;
    found.s = s + direction * t;
    found.point = curve.at(found.s);
    gap = torus.gap(found.point, found.s, direction);
    found.gap = gap.value;
    if (std::abs(gap.value) <= gap.rounding) break;
    const bool was_closed = bracket.closed();
    bracket.take(t, gap.value, was_closed && method == RootMethod::FalsePosition);
    if (bracket.closed() && bracket.high - bracket.low <= kEpsilon * (std::abs(s) + bracket.high)) {
      if (std::abs(gap.value) <= kStalled * gap.rounding) break;
      return found;  // the curve jumps here
    }
  }
  found.status = gap.excess >= 0.0 ? MarchStatus::Ok : MarchStatus::TooTight;
  return found;
}

namespace {

/// A curve, shifted.
struct Shifted {
  CurveRef curve;
  Vector3d by;

  [[nodiscard]] CurvePoint at(double s) const noexcept {
    CurvePoint point = curve.at(s);
    point.position += by;
    return point;
  }
  [[nodiscard]] double begin() const noexcept { return curve.begin(); }
  [[nodiscard]] double end() const noexcept { return curve.end(); }
};

/// Returns the offset from the curve at which the even point of module k is to lie, so that the
/// greater of its distance and the next odd point's is smallest: b is the module's first point,
/// off `start`, the curve's at s; u is the yaw axis there. docs/theory/snakes.md,
/// "Balanced march".
Vector3d balancing_shift(const SnakeChain& chain, CurveRef curve, int k, double s,
                         const CurvePoint& start, const Vector3d& b, const Vector3d& u) noexcept {
  if (k == chain.module_count()) return Vector3d::Zero();  // the head remains on the curve
  const double a = chain.link_length(2 * k - 1), a_1 = chain.link_length(2 * k),
               a_2 = chain.link_length(2 * k + 1), ratio = a_2 / a_1;
  const double speed = start.first.norm();
  const auto at = [&](double distance) {
    return curve.at(std::min(s + distance / speed, curve.end()));
  };
  const CurvePoint odd = at(a), even = at(a + a_1), next = at(a + a_1 + a_2);
  const Vector3d t = even.first.normalized();
  const Vector3d up = u - u.dot(t) * t, left = u.cross(t);
  const double height2 = up.squaredNorm();
  // Pitch: links 2k and 2k + 1 are one bar as viewed along the pitch axis; it rotates about B_2k.
  // The curve itself is bent between the three points.
  const Vector3d bend = next.position + ratio * odd.position - (1.0 + ratio) * even.position;
  const double e = u.dot(b - odd.position);
  const double d_up = (ratio * e + bend.dot(up)) / (2.0 + ratio);
  // Yaw: links 2k - 1 and 2k are one bar with both ends off the curve.
  const Vector3d chord = (a_1 * start.position + a * even.position) / (a + a_1);
  const double d_left = 0.5 * (odd.position - chord).dot(left);
  const Vector3d shift = (d_up * up + d_left * left) / height2;
  return shift.allFinite() ? shift : Vector3d::Zero();
}

/// Common part of both marches: the result, and how it describes a failure.
class March {
 public:
  March(const SnakeChain& chain, CurveRef curve, MarchMemory out, const MarchOptions& options)
      : chain_(chain), curve_(curve), out_(out), options_(options) {
    assert(std::ssize(out.angles) == chain.joint_count());
    assert(std::ssize(out.parameters) == chain.module_count() + 1);
  }

  /// Tells whether a march can begin at s with the frame R; then `next` is the point there.
  bool start(double s, const Matrix3d& R) noexcept {
    if (!(s >= curve_.begin() && s <= curve_.end()) || !R.allFinite()) return false;
    next.s = s;
    next.point = curve_.at(s);
    if (next.point.position.allFinite()) return true;
    result.status = MarchStatus::InvalidCurve;
    return false;
  }

  /// Steps from the curve point `next` to the one after it; false if there is none.
  bool step(int module, const Vector3d& u, double inner, double outer, int direction) noexcept {
    const double s = next.s;
    const Vector3d p = next.point.position;
    if (direction > 0 && options_.target == MarchTarget::AllJoints && !chain_.is_universal()) {
      CurvePoint start = next.point;
      start.position -= shift_;
      shift_ = balancing_shift(chain_, curve_, module, s, start, p, u);
      next = next_on_torus(Shifted{curve_, shift_}, s, next.point, u, inner, outer, direction,
                           options_.method);
    } else {
      next = next_on_torus(curve_, s, next.point, u, inner, outer, direction, options_.method);
    }
    result.iterations += next.iterations;
    result.largest_iterations = std::max(result.largest_iterations, next.iterations);
    if (next.status == MarchStatus::Ok) return true;
    fail(next.status, module, 2 * module, s);
    if (next.status == MarchStatus::TooTight) {
      const Vector3d D = next.point.position - p;
      const double h = u.dot(D);
      result.angle = std::atan2(std::abs(h), (D - h * u).norm() - inner);
    }
    return false;
  }

  /// Sets an angle; false if it exceeds the limit.
  bool set(int module, int joint, double angle, double s) noexcept {
    if (std::abs(angle) > chain_.joint_limit(joint)) {
      fail(MarchStatus::JointLimit, module, joint, s);
      result.angle = angle;
      return false;
    }
    out_.angles[static_cast<std::size_t>(joint - 1)] = angle;
    return true;
  }
  void set_parameter(int k, double s) noexcept { out_.parameters[static_cast<std::size_t>(k)] = s; }

  MarchResult result;
  TorusPoint next;

 private:
  void fail(MarchStatus status, int module, int joint, double s) noexcept {
    result.status = status;
    result.module = module;
    if (status != MarchStatus::TooTight && status != MarchStatus::JointLimit) return;
    result.joint = joint;
    result.limit = chain_.joint_limit(joint);
    result.curvature_limit = chain_.curvature_limit(joint);
    // The joint's arc reaches as far behind the module as the curve does ahead of it.
    const double reach = next.s - s;
    for (int i = 0; i <= kCurvatureSamples; ++i) {
      const double at = s + reach * (2.0 * i / kCurvatureSamples - 1.0);
      result.curvature = std::max(
          result.curvature, curve_.at(std::clamp(at, curve_.begin(), curve_.end())).curvature());
    }
  }

  const SnakeChain& chain_;
  CurveRef curve_;
  MarchMemory out_;
  MarchOptions options_;
  Vector3d shift_ = Vector3d::Zero();  // of `next` off the curve
};

}  // namespace

MarchResult march_from_base(const SnakeChain& chain, CurveRef curve, double s_start,
                            const Matrix3d& R_WB, MarchMemory out,
                            const MarchOptions& options) noexcept {
  March march(chain, curve, out, options);
  if (!march.start(s_start, R_WB)) return march.result;
  double s = s_start;
  Vector3d b = march.next.point.position;
  march.result.X_WB.linear() = R_WB;
  march.result.X_WB.translation() = b;
  Matrix3d R = R_WB;
  march.set_parameter(0, s);
  for (int k = 1; k <= chain.module_count(); ++k) {
    const double inner = chain.link_length(2 * k - 1), outer = chain.link_length(2 * k);
    if (!march.step(k, R.col(2), inner, outer, +1)) return march.result;
    const Vector3d D = R.transpose() * (march.next.point.position - b);
    const double rho = std::sqrt(D.x() * D.x() + D.y() * D.y());
    const double pitch = std::atan2(D.z(), rho - inner), yaw = std::atan2(D.y(), D.x());
    if (!march.set(k, 2 * k - 1, yaw, s) || !march.set(k, 2 * k, pitch, s)) return march.result;
    if (rho > 0.0) rotate_yaw(D.x() / rho, D.y() / rho, R);  // 0: along the axis, yaw = 0
    const double reach = std::sqrt((rho - inner) * (rho - inner) + D.z() * D.z());
    rotate_pitch((rho - inner) / reach, D.z() / reach, R);
    s = march.next.s;
    b = march.next.point.position;
    march.set_parameter(k, s);
  }
  march.result.status = MarchStatus::Ok;
  return march.result;
}

namespace {

/// Sets the angles of the universal joint k from the frame M of the link after it and the direction
/// D of the link before it, whose frame M becomes:
///
///     M^T D / |D| = (cos pitch cos yaw, -sin yaw, -sin pitch cos yaw)
bool set_universal(March& march, int k, const Vector3d& D, double s, Matrix3d& M) noexcept {
  const Vector3d v = M.transpose() * D;
  const double pitch = std::atan2(-v.z(), v.x()),
               yaw = std::atan2(-v.y(), hypotenuse(v.x(), v.z()));
  if (!march.set(k, 2 * k, pitch, s) || !march.set(k, 2 * k - 1, yaw, s)) return false;
  rotate_pitch(std::cos(pitch), -std::sin(pitch), M);
  rotate_yaw(std::cos(yaw), -std::sin(yaw), M);
  return true;
}

/// march_from_head of a chain of universal joints: the sphere of [Andersson], backwards.
MarchResult march_universal_from_head(March& march, const SnakeChain& chain,
                                      const Matrix3d& R_WH) noexcept {
  const int n = chain.module_count();
  double s = march.next.s;
  Vector3d b = march.next.point.position;
  Matrix3d M = R_WH;  // of link k
  march.set_parameter(n, s);
  for (int k = n; k >= 0; --k) {
    const double length = k > 0 ? chain.link_length(2 * k) : chain.rear_length();
    if (k == 0 && length == 0.0) break;
    if (!march.step(std::max(k, 1), M.col(2), 0.0, length, -1)) return march.result;
    const Vector3d D = b - march.next.point.position;  // towards the head
    if (k == n)
      M = tangent_frame(D, R_WH.col(2));
    else if (!set_universal(march, k + 1, D, s, M))
      return march.result;
    if (k == 0) break;
    s = march.next.s;
    b = march.next.point.position;
    march.set_parameter(k - 1, s);
  }
  if (chain.rear_length() == 0.0) {
    march.set(1, 1, 0.0, s);
    march.set(1, 2, 0.0, s);
  }
  march.result.X_WB.linear() = M;
  march.result.X_WB.translation() = b;
  march.result.status = MarchStatus::Ok;
  return march.result;
}

}  // namespace

MarchResult march_from_head(const SnakeChain& chain, CurveRef curve, double s_head,
                            const Matrix3d& R_WH, MarchMemory out,
                            const MarchOptions& options) noexcept {
  March march(chain, curve, out, options);
  if (!march.start(s_head, R_WH)) return march.result;
  if (chain.is_universal()) return march_universal_from_head(march, chain, R_WH);
  const int n = chain.module_count();
  double s = s_head;
  Vector3d b = march.next.point.position;
  Matrix3d M = R_WH;  // of body 2k + 1
  march.set_parameter(n, s);
  for (int k = n; k >= 1; --k) {
    const double inner = chain.link_length(2 * k), outer = chain.link_length(2 * k - 1);
    if (!march.step(k, M.col(2), inner, outer, -1)) return march.result;
    const Vector3d D = M.transpose() * (b - march.next.point.position);  // towards the head
    const double rho = std::sqrt(D.x() * D.x() + D.y() * D.y());
    const double psi = std::atan2(D.y(), D.x()), pitch = -std::atan2(D.z(), rho - inner);
    if (k < n && !march.set(k + 1, 2 * k + 1, -psi, s)) return march.result;
    if (!march.set(k, 2 * k, pitch, s)) return march.result;
    rotate_yaw(D.x() / rho, D.y() / rho, M);
    const double reach = std::sqrt((rho - inner) * (rho - inner) + D.z() * D.z());
    rotate_pitch((rho - inner) / reach, D.z() / reach, M);
    s = march.next.s;
    b = march.next.point.position;
    march.set_parameter(k - 1, s);
  }
  double yaw = 0.0;
  if (chain.rear_length() > 0.0) {
    // Joint 1 moves the rear link in one plane only: aim at a point a rear link away in that plane.
    const double half = 0.5 * chain.rear_length();
    if (!march.step(1, M.col(2), half, half, -1)) return march.result;
    const Vector3d D = M.transpose() * (b - march.next.point.position);
    yaw = -std::atan2(D.y(), D.x());
    if (!march.set(1, 1, yaw, s)) return march.result;
    rotate_yaw(std::cos(yaw), -std::sin(yaw), M);
  } else {
    march.set(1, 1, 0.0, s);
  }
  march.result.X_WB.linear() = M;
  march.result.X_WB.translation() = b;
  march.result.status = MarchStatus::Ok;
  return march.result;
}

std::string describe(const MarchResult& result) {
  char text[256];
  const char* name = to_string(result.status);
  if (result.joint > 0)
    std::snprintf(
        text, sizeof text,
        "module %d: %s: joint %d would need %.3g rad, limit %.3g rad (curvature %.3g 1/m, "
        "the chain follows %.3g 1/m)",
        result.module, name, result.joint, result.angle, result.limit, result.curvature,
        result.curvature_limit);
  else if (result.module > 0)
    std::snprintf(text, sizeof text, "module %d: %s", result.module, name);
  else
    std::snprintf(text, sizeof text, "%s", name);
  return text;
}

}  // namespace tendril
