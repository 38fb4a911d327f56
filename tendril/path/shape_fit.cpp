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
constexpr double kLimitTolerance = 1e-9;  // [rad]

}  // namespace

ShapeFit::ShapeFit(const ContinuumRobot& robot, const ShapeFitOptions& options)
    : robot_(robot),
      options_(options),
      points_per_section_(options.norm == FitNorm::Tip ? 2 : 4),
      points_(static_cast<std::size_t>(points_per_section_ * robot.section_count())),
      jacobian_(6, robot.coordinate_count()),
      bend_jacobian_(3, 2 * robot.section_count()),
      normal_(2 * robot.section_count(), 2 * robot.section_count()),
      gradient_(2 * robot.section_count()),
      update_(2 * robot.section_count()),
      ldlt_(2 * robot.section_count()) {}

double ShapeFit::point_weight(double deviation, bool is_tip) const noexcept {
  if (options_.norm == FitNorm::Tip)
    return is_tip ? options_.tip_weight * options_.tip_weight : 1.0;
  if (largest_deviation_ < kSmallDeviation) return 1.0;  // nothing to distribute
  return std::min(1.0, std::pow(deviation / largest_deviation_, kBodyExponent - 2.0)) + kMinWeight;
}

void ShapeFit::step(const BaseState& base, std::span<SectionState> states) noexcept {
  const int sections = robot_.section_count();
  normal_.setZero();
  gradient_.setZero();
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
      normal_.topLeftCorner(columns, columns).noalias() += weight * (J.transpose().lazyProduct(J));
      gradient_.head(columns).noalias() += weight * (J.transpose().lazyProduct(error));
    }
  }
  largest_deviation_ = largest;
  normal_.diagonal().array() += options_.damping;
  if (options_.norm == FitNorm::Body)
    gradient_ /= kBodyExponent - 1.0;  // Newton's step of a p-norm with reweighted squares
  solve_within_limits(states);
}

/// One Gauss-Newton step. Bends that it would take past their limits go there, and the others are
/// solved for again.
void ShapeFit::solve_within_limits(std::span<SectionState> states) noexcept {
  for (int pass = 0; pass < kPasses; ++pass) {
    ldlt_.compute(normal_);
    update_ = ldlt_.solve(gradient_);
    bool is_within = true;
    for (int i = 0; i < robot_.section_count(); ++i) {
      const SectionState& state = states[static_cast<std::size_t>(i)];
      const Eigen::Vector2d bend = bend_vector(state), next = bend + update_.segment<2>(2 * i);
      const double limit = robot_.section(i).bend_angle_limit_at(state.extension);
      if (next.norm() <= limit + kLimitTolerance) continue;
      is_within = false;
      fix(i, next * (limit / next.norm()) - bend);
    }
    if (is_within) break;
  }
  for (int i = 0; i < robot_.section_count(); ++i) {
    SectionState& state = states[static_cast<std::size_t>(i)];
    const Eigen::Vector2d bend = bend_vector(state) + update_.segment<2>(2 * i);
    state =
        robot_.clamped(i, state_from_bend_vector(bend.x(), bend.y(), state.extension, state.phi));
  }
}

/// Makes the update of a section a constant of the normal equations.
void ShapeFit::fix(int section, const Eigen::Vector2d& update) noexcept {
  for (int k = 0; k < 2; ++k) {
    const Eigen::Index column = 2 * section + k;
    gradient_.noalias() -= normal_.col(column) * update[k];
    normal_.col(column).setZero();
    normal_.row(column).setZero();
    normal_(column, column) = 1.0;
    gradient_[column] = update[k];
  }
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
