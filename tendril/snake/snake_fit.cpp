#include "tendril/snake/snake_fit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "tendril/range.hpp"
#include "tendril/snake/module_frame.hpp"

namespace tendril {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;

constexpr int kNearestIterations = 30;
constexpr double kNearestStep = 1e-13;  // [m], below which the nearest point is found
constexpr int kBaseVariables = 6;       // rotation, shift
constexpr double kFirstDamping = 1e-4;  // of the Hessian's diagonal
constexpr double kMinDamping = 1e-12, kLargestDamping = 1e8;
constexpr double kGain = 1e-3;           // relative: a smaller gain in cost is none
constexpr double kSmallestScale = 1e-9;  // [m]: a march so good needs no fit

}  // namespace

NearestPoint nearest_on_curve(CurveRef curve, const Vector3d& p, double guess) noexcept {
  double s = std::clamp(guess, curve.begin(), curve.end());
  CurvePoint point = curve.at(s);
  for (int i = 0; i < kNearestIterations; ++i) {
    const Vector3d off = point.position - p;
    const double speed2 = point.first.squaredNorm();
    const double bend = off.dot(point.second);
    // Where the distance has no minimum nearby, a step along the tangent.
    const double slope = speed2 + bend > 0.1 * speed2 ? speed2 + bend : speed2;
    const double next = std::clamp(s - off.dot(point.first) / slope, curve.begin(), curve.end());
    const bool found = std::abs(next - s) * std::sqrt(speed2) <= kNearestStep;
    s = next;
    point = curve.at(s);
    if (found) break;
  }
  return {s, (point.position - p).norm()};
}

CurveDeviation curve_deviation(const SnakeChain& chain, CurveRef curve, const Isometry3d& X_WB,
                               std::span<const double> angles,
                               std::span<const double> parameters) noexcept {
  assert(std::ssize(angles) == chain.joint_count());
  assert(std::ssize(parameters) == chain.module_count() + 1);
  CurveDeviation found;
  Eigen::Matrix3d R = X_WB.linear();
  Vector3d p = X_WB.translation();
  double squares = 0.0;
  for (int j = 0; j <= chain.joint_count(); ++j) {
    const auto k = static_cast<std::size_t>(j / 2);
    if (j > 0) {
      const double angle = angles[static_cast<std::size_t>(j - 1)];
      (j % 2 == 1 ? rotate_yaw : rotate_pitch)(std::cos(angle), std::sin(angle), R);
      p += chain.link_length(j) * R.col(0);
    }
    const double guess = j % 2 == 0 ? parameters[k] : 0.5 * (parameters[k] + parameters[k + 1]);
    const double distance = nearest_on_curve(curve, p, guess).distance;
    if (distance > found.worst()) found.worst_point = j;
    (j % 2 == 0 ? found.even : found.odd) = std::max(j % 2 == 0 ? found.even : found.odd, distance);
    squares += distance * distance;
  }
  found.rms = std::sqrt(squares / (chain.joint_count() + 1));
  return found;
}

SnakeFit::SnakeFit(const SnakeChain& chain, const SnakeFitOptions& options)
    : chain_(chain), options_(options) {
  constexpr char kName[] = "snake fit";
  require(kName, "power", options.power, {.low = 2.0, .high = 32.0});
  require(kName, "odd_weight", options.odd_weight, kPositive);
  require(kName, "angle_weight", options.angle_weight, kNotNegative, "m/rad");
  require(kName, "max_iterations", options.max_iterations, {.low = 1.0});
  const auto joints = static_cast<std::size_t>(chain.joint_count());
  for (Shape* shape : {&now_, &trial_}) {
    shape->angles.resize(joints);
    shape->parameters.resize(joints + 1);
  }
  X_WL_.resize(joints + 1);
  const auto variables = static_cast<std::size_t>(variable_count());
  columns_.resize(variables);
  hessian_.resize(variables * variables);
  factor_.resize(variables * variables);
  gradient_.resize(variables);
  step_.resize(variables);
}

int SnakeFit::variable_count() const noexcept {
  return chain_.joint_count() + (options_.base == FitBase::Free ? kBaseVariables : 0);
}

double SnakeFit::distance_weight(std::size_t j) const noexcept {
  return j % 2 == 1 ? options_.odd_weight : 1.0;
}

/// Frames of the shape's bodies.
void SnakeFit::place(Shape& shape) noexcept {
  snake_frames(chain_, shape.X_WB, shape.angles, X_WL_);
}

/// The shape's cost and nearest points.
void SnakeFit::evaluate(CurveRef curve, double power, Shape& shape) noexcept {
  place(shape);
  double cost = 0.0;
  for (std::size_t j = 0; j < X_WL_.size(); ++j) {
    const NearestPoint nearest =
        nearest_on_curve(curve, X_WL_[j].translation(), shape.parameters[j]);
    shape.parameters[j] = nearest.s;
    cost += std::pow(distance_weight(j) * nearest.distance / scale_, power) / power;
  }
  const double weight = options_.angle_weight / scale_;
  for (const double angle : shape.angles) cost += 0.5 * weight * weight * angle * angle;
  const double slip = along_.dot(shape.X_WB.translation() - held_) / scale_;
  if (options_.base == FitBase::Free) cost += 0.5 * slip * slip;
  shape.cost = cost;
}

/// Gradient and Hessian (without the curvature of the shape) of the cost at now_.
void SnakeFit::linearize(CurveRef curve, double power, const Shape& shape) noexcept {
  const int base = options_.base == FitBase::Free ? kBaseVariables : 0;
  const auto n = static_cast<std::size_t>(variable_count());
  std::fill(hessian_.begin(), hessian_.end(), 0.0);
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  const Vector3d p_0 = shape.X_WB.translation();
  for (std::size_t j = 0; j < X_WL_.size(); ++j) {
    const Vector3d p = X_WL_[j].translation();
    const CurvePoint point = curve.at(shape.parameters[j]);
    const Vector3d tangent = point.first.normalized();
    const double scale = scale_ / distance_weight(j);
    const Vector3d off = (p - point.position) / scale;
    const double distance = off.norm();
    const double weight = std::pow(distance, power - 2.0);
    const Vector3d outward = distance > 0.0 ? Vector3d(off / distance) : Vector3d::Zero();
    // Columns, each split into the component across the curve and the stiffer one along `outward`.
    if (base > 0) {
      for (int i = 0; i < 3; ++i) {
        columns_[static_cast<std::size_t>(i)] = Vector3d::Unit(i).cross(p - p_0) / scale;
        columns_[static_cast<std::size_t>(3 + i)] = Vector3d::Unit(i) / scale;
      }
    }
    const auto first = static_cast<std::size_t>(base);
    for (std::size_t i = 1; i <= j; ++i) {
      const Vector3d axis =
          i % 2 == 1 ? Vector3d(X_WL_[i].linear().col(2)) : Vector3d(-X_WL_[i].linear().col(1));
      columns_[first + i - 1] = axis.cross(p - X_WL_[i - 1].translation()) / scale;
    }
    const std::size_t used = first + j;
    const double stiffer = std::sqrt(power - 1.0) - 1.0;
    for (std::size_t i = 0; i < used; ++i) {
      Vector3d& c = columns_[i];
      c -= tangent.dot(c) * tangent;
      gradient_[i] += weight * off.dot(c);
      c += stiffer * outward.dot(c) * outward;
    }
    for (std::size_t i = 0; i < used; ++i) {
      const Vector3d c = weight * columns_[i];
      for (std::size_t l = 0; l <= i; ++l) hessian_[i * n + l] += c.dot(columns_[l]);
    }
  }
  const double weight = options_.angle_weight / scale_;
  for (std::size_t i = static_cast<std::size_t>(base); i < n; ++i) {
    gradient_[i] += weight * weight * shape.angles[i - static_cast<std::size_t>(base)];
    hessian_[i * n + i] += weight * weight;
  }
  if (base > 0) {
    const double slip = along_.dot(p_0 - held_) / scale_;
    for (std::size_t i = 0; i < 3; ++i) {
      const double a_i = along_(static_cast<int>(i)) / scale_;
      gradient_[3 + i] += slip * a_i;
      for (std::size_t l = 0; l <= i; ++l)
        hessian_[(3 + i) * n + 3 + l] += a_i * along_(static_cast<int>(l)) / scale_;
    }
  }
}

/// step_ = -(H + damping diag H)^-1 g by Cholesky's method; false if that is not positive definite.
bool SnakeFit::solve_damped(double damping) noexcept {
  const auto n = static_cast<std::size_t>(variable_count());
  double largest = 0.0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, hessian_[i * n + i]);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t l = 0; l <= i; ++l) {
      double sum = hessian_[i * n + l];
      if (i == l) sum += damping * (sum + 1e-3 * largest);
      for (std::size_t m = 0; m < l; ++m) sum -= factor_[i * n + m] * factor_[l * n + m];
      if (i == l) {
        if (!(sum > 0.0)) return false;
        factor_[i * n + i] = std::sqrt(sum);
      } else {
        factor_[i * n + l] = sum / factor_[l * n + l];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    double sum = -gradient_[i];
    for (std::size_t m = 0; m < i; ++m) sum -= factor_[i * n + m] * step_[m];
    step_[i] = sum / factor_[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    double sum = step_[i];
    for (std::size_t m = i + 1; m < n; ++m) sum -= factor_[m * n + i] * step_[m];
    step_[i] = sum / factor_[i * n + i];
  }
  return true;
}

/// The shape one step on, within the joint limits.
void SnakeFit::move(const Shape& from, Shape& to) const noexcept {
  to.X_WB = from.X_WB;
  std::copy(from.parameters.begin(), from.parameters.end(), to.parameters.begin());
  std::size_t first = 0;
  if (options_.base == FitBase::Free) {
    const Vector3d rotation(step_[0], step_[1], step_[2]), shift(step_[3], step_[4], step_[5]);
    if (rotation.norm() > 0.0)
      to.X_WB.linear() =
          Eigen::AngleAxisd(rotation.norm(), rotation.normalized()).toRotationMatrix() *
          from.X_WB.linear();
    to.X_WB.translation() += shift;
    first = kBaseVariables;
  }
  for (std::size_t i = 0; i < to.angles.size(); ++i) {
    const double limit = chain_.joint_limit(static_cast<int>(i) + 1);
    to.angles[i] = std::clamp(from.angles[i] + step_[first + i], -limit, limit);
  }
}

SnakeFitResult SnakeFit::fit(CurveRef curve, const Isometry3d& X_WB, std::span<double> angles,
                             std::span<double> parameters) noexcept {
  SnakeFitResult result{.X_WB = X_WB, .before = {}, .after = {}};
  result.before = curve_deviation(chain_, curve, X_WB, angles, parameters);
  result.after = result.before;
  scale_ = result.before.worst();
  if (!(scale_ > kSmallestScale)) {
    result.converged = scale_ >= 0.0;
    return result;
  }
  now_.X_WB = X_WB;
  std::copy(angles.begin(), angles.end(), now_.angles.begin());
  for (std::size_t j = 0; j < now_.parameters.size(); ++j)
    now_.parameters[j] =
        j % 2 == 0 ? parameters[j / 2] : 0.5 * (parameters[j / 2] + parameters[j / 2 + 1]);
  held_ = X_WB.translation();
  along_ = curve.at(parameters[0]).first.normalized();

  for (double power = 2.0;; power = std::min(2.0 * power, options_.power)) {
    double damping = kFirstDamping;
    bool converged = false;
    evaluate(curve, power, now_);
    while (!converged && result.iterations < options_.max_iterations) {
      ++result.iterations;
      place(now_);
      linearize(curve, power, now_);
      while (true) {
        if (solve_damped(damping)) {
          move(now_, trial_);
          evaluate(curve, power, trial_);
          if (trial_.cost < now_.cost) break;
        }
        damping *= 8.0;
        if (damping > kLargestDamping) break;
      }
      if (damping > kLargestDamping) {
        converged = true;
        break;
      }
      converged = trial_.cost > (1.0 - kGain) * now_.cost;
      std::swap(now_, trial_);
      damping = std::max(damping / 16.0, kMinDamping);
    }
    result.converged = converged;
    if (power >= options_.power) break;
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k] = now_.parameters[2 * k];
  std::copy(now_.angles.begin(), now_.angles.end(), angles.begin());
  result.X_WB = now_.X_WB;
  result.after = curve_deviation(chain_, curve, result.X_WB, angles, parameters);
  return result;
}

}  // namespace tendril
