#include "tendril/kinematics/tension_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tendril/range.hpp"

namespace tendril {
namespace {

/// Regularization relative to the squared lever arms, which makes the dual unique. The moments miss
/// 1e-8 of their size by it; it is large enough for Newton's method where tendons are at limits.
constexpr double kRegularization = 1e-8;
constexpr double kConverged = 1e-2;  ///< of the tolerance of the moments
constexpr double kSettled = 1e-6;    ///< of the largest tension; where moments are out of reach

}  // namespace

TensionDistribution::TensionDistribution(Eigen::MatrixXd moments, Eigen::VectorXd low,
                                         Eigen::VectorXd high)
    : moments_(std::move(moments)), low_(std::move(low)), high_(std::move(high)) {
  for (Eigen::Index t = 0; t < moments_.cols(); ++t) {
    const std::string object = "tendon " + std::to_string(t + 1);
    require(object, "low", low_[t], kFinite, "N");
    require(object, "high", high_[t], {.low = low_[t]}, "N");
  }
  const Eigen::VectorXd largest = low_.cwiseAbs().cwiseMax(high_.cwiseAbs());
  settled_ = kSettled * (largest.size() > 0 ? largest.maxCoeff() : 0.0);
  const Eigen::Index rows = moments_.rows();
  const double square =
      moments_.squaredNorm() / static_cast<double>(std::max<Eigen::Index>(rows, 1));
  regularization_ = kRegularization * std::max(square, 1e-30);
  scale_ = (moments_.cwiseAbs() * largest).norm();
  m_ = dual_ = residual_ = direction_ = Eigen::VectorXd::Zero(rows);
  free_ = free_change_ = Eigen::VectorXd::Zero(moments_.cols());
  hessian_ = Eigen::MatrixXd::Zero(rows, rows);
  factor_.compute(Eigen::MatrixXd::Identity(rows, rows));
  kinks_.reserve(static_cast<std::size_t>(2 * moments_.cols()));
}

double TensionDistribution::clipped(Eigen::Index t, double tension) const noexcept {
  return std::clamp(tension, low_[t], high_[t]);
}

/// Derivative of the dual function along the direction, `step` away.
double TensionDistribution::slope(double step) const noexcept {
  double slope = direction_.dot(m_) -
                 regularization_ * (direction_.dot(dual_) + step * direction_.squaredNorm());
  for (Eigen::Index t = 0; t < free_.size(); ++t)
    slope -= free_change_[t] * clipped(t, free_[t] + step * free_change_[t]);
  return slope;
}

/// The step at which the slope, piecewise linear and falling, is zero.
double TensionDistribution::line_search() noexcept {
  kinks_.clear();
  for (Eigen::Index t = 0; t < free_.size(); ++t) {
    if (free_change_[t] == 0.0) continue;
    for (const double limit : {low_[t], high_[t]}) {
      const double step = (limit - free_[t]) / free_change_[t];
      if (step > 0.0 && std::isfinite(step)) kinks_.push_back(step);
    }
  }
  std::sort(kinks_.begin(), kinks_.end());
  const auto after =
      std::partition_point(kinks_.begin(), kinks_.end(), [&](double s) { return slope(s) > 0.0; });
  const double from = after == kinks_.begin() ? 0.0 : *(after - 1);
  const double to = after == kinks_.end() ? from + 1.0 : *after;
  const double at_from = slope(from), at_to = slope(to);
  return at_from > at_to ? from + (to - from) * at_from / (at_from - at_to) : from;
}

TensionDistribution::Result TensionDistribution::distribute(const Eigen::VectorXd& m,
                                                            Eigen::VectorXd& tensions) noexcept {
  Result result;
  m_ = m;
  tensions.resize(moments_.cols());
  const double tolerance = kTolerance * scale_;
  // Without limits.
  hessian_.noalias() = moments_ * moments_.transpose();
  hessian_.diagonal().array() += regularization_;
  factor_.compute(hessian_);
  dual_ = factor_.solve(m_);
  bool settled = false;
  while (true) {
    free_.noalias() = moments_.transpose() * dual_;
    for (Eigen::Index t = 0; t < free_.size(); ++t) tensions[t] = clipped(t, free_[t]);
    residual_.noalias() = m_ - moments_ * tensions;
    result.error = residual_.norm();
    residual_ -= regularization_ * dual_;
    if (result.iterations == kMaxIterations || settled ||
        residual_.norm() <= kConverged * tolerance)
      break;
    ++result.iterations;
    hessian_.setZero();
    hessian_.diagonal().array() = regularization_;
    for (Eigen::Index t = 0; t < free_.size(); ++t) {
      if (free_[t] > low_[t] && free_[t] < high_[t])
        hessian_.noalias() += moments_.col(t) * moments_.col(t).transpose();
    }
    factor_.compute(hessian_);
    direction_ = factor_.solve(residual_);
    free_change_.noalias() = moments_.transpose() * direction_;
    const double step = line_search();
    if (!(step > 0.0)) break;
    dual_ += step * direction_;
    double change = 0.0;
    for (Eigen::Index t = 0; t < free_.size(); ++t)
      change =
          std::max(change, std::abs(clipped(t, free_[t] + step * free_change_[t]) - tensions[t]));
    settled = change <= settled_;
  }
  result.reached = result.error <= tolerance;
  return result;
}

}  // namespace tendril
