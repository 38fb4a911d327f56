#include "tendril/path/shape_fit.hpp"

#include <algorithm>
#include <cmath>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/kinematics/jacobian.hpp"

namespace tendril {
namespace {

constexpr double kBodyExponent = 4.0;  // p of FitNorm::Body
constexpr double kMinWeight = 0.01;    // keeps the normal equations regular where nothing deviates
constexpr double kSmallDeviation = 1e-5;  // [m]
constexpr int kPasses = 3;                // of a step: until no more bends reach their limits

}  // namespace

ShapeFit::ShapeFit(const ContinuumRobot& robot, const ShapeFitOptions& options)
    : robot_(robot),
      options_(options),
      points_per_section_(options.norm == FitNorm::Tip ? 2 : 4),
      points_(static_cast<std::size_t>(points_per_section_ * robot.section_count())),
      jacobian_(6, robot.coordinate_count()),
      bend_jacobian_(3, 2 * robot.section_count()),
      step_(2 * robot.section_count()) {}

double ShapeFit::point_weight(double deviation, bool is_tip) const noexcept {
  if (options_.norm == FitNorm::Tip)
    return is_tip ? options_.tip_weight * options_.tip_weight : 1.0;
  if (largest_deviation_ < kSmallDeviation) return 1.0;  // nothing to distribute
  return std::min(1.0, std::pow(deviation / largest_deviation_, kBodyExponent - 2.0)) + kMinWeight;
}

void ShapeFit::step(const BaseState& base, std::span<SectionState> states) noexcept {
  const int sections = robot_.section_count();
  step_.set_zero();
  double largest = 0.0;
  for (int i = 0; i < sections; ++i) {
    const int columns = 2 * (i + 1);  // later sections do not move this point
    for (int k = 1; k <= points_per_section_; ++k) {
      const double fraction = static_cast<double>(k) / points_per_section_;
      const Eigen::Vector3d error =
          points_[static_cast<std::size_t>(points_per_section_ * i + k - 1)] -
          bend_jacobian(robot_, states, base, i, fraction, jacobian_, bend_jacobian_);
      const bool is_tip = i == sections - 1 && k == points_per_section_;
      const double weight = point_weight(error.norm(), is_tip);
      largest = std::max(largest, error.norm());
      const auto J = bend_jacobian_.leftCols(columns);
      step_.normal.topLeftCorner(columns, columns).noalias() +=
          weight * (J.transpose().lazyProduct(J));
      step_.gradient.head(columns).noalias() += weight * (J.transpose().lazyProduct(error));
    }
  }
  largest_deviation_ = largest;
  step_.normal.diagonal().array() += options_.damping;
  if (options_.norm == FitNorm::Body)
    step_.gradient /= kBodyExponent - 1.0;  // Newton's step of a p-norm with reweighted squares
  step_.solve(kPasses, [&] { return step_.keeps_bend_limits(robot_, states, 0); });
  step_.bend(robot_, 0, states);
}

double ShapeFit::deviation(const BaseState& base,
                           std::span<const SectionState> states) const noexcept {
  double largest = 0.0;
  for (int i = 0; i < robot_.section_count(); ++i) {
    for (int k = 1; k <= points_per_section_; ++k) {
      const Eigen::Isometry3d X_BP =
          backbone_pose(robot_, states, base, i, static_cast<double>(k) / points_per_section_);
      largest = std::max(
          largest,
          (X_BP.translation() - points_[static_cast<std::size_t>(points_per_section_ * i + k - 1)])
              .norm());
    }
  }
  return largest;
}

double ShapeFit::tip_distance(const BaseState& base,
                              std::span<const SectionState> states) const noexcept {
  return (tip_pose(robot_, states, base).translation() - points_.back()).norm();
}

}  // namespace tendril
