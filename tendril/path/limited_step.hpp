#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <span>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/coordinates.hpp"

namespace tendril {

/// One Gauss-Newton step whose unknowns have limits: what it would take past a limit goes there,
/// and the others are solved for again. Allocates nothing after construction.
class LimitedStep {
 public:
  explicit LimitedStep(Eigen::Index size)
      : normal(size, size), gradient(size), update_(size), ldlt_(size) {}

  void set_zero() noexcept {
    normal.setZero();
    gradient.setZero();
  }
  /// Solves normal update = gradient, as often as `keeps_limits` makes an unknown a constant and
  /// returns false.
  template <class KeepsLimits>
  void solve(int passes, const KeepsLimits& keeps_limits) noexcept {
    for (int pass = 0; pass < passes; ++pass) {
      ldlt_.compute(normal);
      update_ = ldlt_.solve(gradient);
      if (keeps_limits()) break;
    }
  }
  [[nodiscard]] const Eigen::VectorXd& update() const noexcept { return update_; }

  /// Makes an update a constant of the equations.
  void fix(Eigen::Index column, double update) noexcept {
    gradient.noalias() -= normal.col(column) * update;
    normal.col(column).setZero();
    normal.row(column).setZero();
    normal(column, column) = 1.0;
    gradient[column] = update;
  }

  /// Fixes the bends, two columns of a section from `first` on, that the update would take past
  /// their limits. Returns whether there are none.
  [[nodiscard]] bool keeps_bend_limits(const ContinuumRobot& robot,
                                       std::span<const SectionState> states,
                                       Eigen::Index first) noexcept {
    constexpr double kTolerance = 1e-9;  // [rad]
    bool is_within = true;
    for (int i = 0; i < robot.section_count(); ++i) {
      const SectionState& state = states[static_cast<std::size_t>(i)];
      const Eigen::Index column = first + 2 * i;
      const Eigen::Vector2d bend = bend_vector(state), next = bend + update_.segment<2>(column);
      const double limit = robot.section(i).bend_angle_limit_at(state.extension);
      if (next.norm() <= limit + kTolerance) continue;
      is_within = false;
      const Eigen::Vector2d allowed = next * (limit / next.norm()) - bend;
      for (int k = 0; k < 2; ++k) fix(column + k, allowed[k]);
    }
    return is_within;
  }
  /// Adds the update to the bends, within their limits.
  void bend(const ContinuumRobot& robot, Eigen::Index first,
            std::span<SectionState> states) const noexcept {
    for (int i = 0; i < robot.section_count(); ++i) {
      SectionState& state = states[static_cast<std::size_t>(i)];
      const Eigen::Vector2d bend = bend_vector(state) + update_.segment<2>(first + 2 * i);
      state =
          robot.clamped(i, state_from_bend_vector(bend.x(), bend.y(), state.extension, state.phi));
    }
  }

  Eigen::MatrixXd normal;    ///< sum of w J^T J
  Eigen::VectorXd gradient;  ///< sum of w J^T e

 private:
  Eigen::VectorXd update_;
  Eigen::LDLT<Eigen::MatrixXd> ldlt_;
};

}  // namespace tendril
