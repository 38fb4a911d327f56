#include "tendril/snake/march_start.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/snake/module_frame.hpp"

namespace tendril {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using std::numbers::pi;

constexpr double kParallel = 1e-6;      // sine of the angle between tangent and reference
constexpr int kRolls = 12;              // of the grid over half a revolution
constexpr double kTiltProbe = 0.02;     // [rad], for the parabola over tilt
constexpr double kLargestTilt = 0.8;    // [rad]
constexpr double kFirstStep = pi / 24;  // [rad], of the descent: half the grid's spacing
constexpr double kLastStep = 1e-4;      // [rad]

/// Tries start frames and keeps the best one.
class StartSearch {
 public:
  StartSearch(const SnakeChain& chain, CurveRef curve, double s, MarchDirection direction,
              const Vector3d& z_reference, MarchMemory out, const MarchOptions& options)
      : chain_(chain),
        curve_(curve),
        s_(s),
        direction_(direction),
        tangent_(curve.at(s).first),
        z_reference_(z_reference),
        out_(out),
        options_(options) {}

  /// Sum of squares, infinite if the march fails.
  double march(double roll, double tilt) noexcept {
    current = {.roll = roll,
               .tilt = tilt,
               .R = tangent_frame(tangent_, z_reference_, roll, tilt),
               .march = {}};
    current.march = direction_ == MarchDirection::BaseToHead
                        ? march_from_base(chain_, curve_, s_, current.R, out_, options_)
                        : march_from_head(chain_, curve_, s_, current.R, out_, options_);
    if (!current.march.ok()) return std::numeric_limits<double>::infinity();
    for (const double angle : out_.angles) {
      current.sum_of_squares += angle * angle;
      current.largest_angle = std::max(current.largest_angle, std::abs(angle));
    }
    return current.sum_of_squares;
  }

  /// Marches, and keeps the start if it is better than the best.
  bool attempt(double roll, double tilt) noexcept {
    if (!(march(roll, tilt) < cost_)) return false;
    cost_ = current.sum_of_squares;
    best = current;
    return true;
  }

  MarchStart current, best;

 private:
  const SnakeChain& chain_;
  CurveRef curve_;
  double s_;
  MarchDirection direction_;
  Vector3d tangent_, z_reference_;
  MarchMemory out_;
  MarchOptions options_;
  double cost_ = std::numeric_limits<double>::infinity();
};

double wrapped_half_turn(double roll) noexcept { return roll - pi * std::floor(roll / pi + 0.5); }

}  // namespace

Matrix3d tangent_frame(const Vector3d& tangent, const Vector3d& z_reference, double roll,
                       double tilt) noexcept {
  Matrix3d R;
  R.col(0) = tangent.normalized();
  Vector3d y = z_reference.cross(R.col(0));
  if (!(y.norm() > kParallel * z_reference.norm())) y = R.col(0).unitOrthogonal();
  R.col(1) = y.normalized();
  R.col(2) = R.col(0).cross(R.col(1));
  const Vector3d rolled = std::cos(roll) * R.col(1) + std::sin(roll) * R.col(2);
  R.col(1) = rolled;
  R.col(2) = R.col(0).cross(rolled);
  rotate_pitch(std::cos(tilt), std::sin(tilt), R);
  return R;
}

MarchStart choose_start(const SnakeChain& chain, CurveRef curve, double s, MarchDirection direction,
                        const Vector3d& z_reference, MarchMemory out,
                        const MarchOptions& options) noexcept {
  if (!(s >= curve.begin() && s <= curve.end()) || !z_reference.allFinite()) return {};
  StartSearch search(chain, curve, s, direction, z_reference, out, options);
  search.attempt(0.0, 0.0);
  const MarchStart plain = search.current;
  if (plain.march.status == MarchStatus::InvalidCurve) return plain;

  // The angles depend on tilt almost linearly, so their squares form a parabola.
  for (int i = 0; i < kRolls; ++i) {
    const double roll = -0.5 * pi + pi * i / kRolls;
    const double here = search.march(roll, 0.0);
    const double up = search.march(roll, kTiltProbe), down = search.march(roll, -kTiltProbe);
    const double bend = up - 2.0 * here + down;
    double tilt = 0.0;
    if (std::isfinite(bend) && bend > 0.0)
      tilt = std::clamp(0.5 * kTiltProbe * (down - up) / bend, -kLargestTilt, kLargestTilt);
    if (!search.attempt(roll, tilt)) search.attempt(roll, 0.5 * tilt);
  }
  for (double step = kFirstStep; step > kLastStep;) {
    const double roll = search.best.roll, tilt = search.best.tilt;
    const bool better = search.attempt(roll + step, tilt) || search.attempt(roll - step, tilt) ||
                        search.attempt(roll, tilt + step) || search.attempt(roll, tilt - step);
    if (!better) step *= 0.5;
  }
  if (!search.best.march.ok()) {
    search.march(0.0, 0.0);
    return plain;
  }
  search.march(wrapped_half_turn(search.best.roll), search.best.tilt);
  return search.current;
}

}  // namespace tendril
