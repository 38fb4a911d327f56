#pragma once

// Read memory_layout.hpp first.

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// What is assumed of the readings, and of contacts with what an arm holds.
struct GripEstimatorOptions {
  double timestep = 0.005;    ///< [s], > 0
  double body_radius = 0.01;  ///< of the arm, on whose surface friction acts [m], >= 0
  double friction = 0.5;      ///< largest coefficient of friction, >= 0
  double filter_time = 0.1;   ///< of the mean of the load [s], >= 0
};

/// A line of the base frame that an arm is wound around.
struct GripAxis {
  Eigen::Vector3d point = Eigen::Vector3d::Zero();       ///< [m]
  Eigen::Vector3d direction = Eigen::Vector3d::UnitZ();  ///< unit
};

/// What holds an arm; base frame.
struct GripEstimate {
  double force = 0.0;                                   ///< sum of the normal forces [N]
  Eigen::Vector3d tip_force = Eigen::Vector3d::Zero();  ///< on the tip [N]
};

/// Recursive estimate of the forces between an arm and a post that it is wound around, without a
/// sensor of contacts: from what springs, damping, gravity and actuators leave of the balance of
/// the coordinates, the load r. The forces f_i act on points of the backbone near the axis of the
/// post, within cones of friction about the directions n_i away from it, and one more at the tip:
///
///     r = sum_i J_i^T f_i + J_tip^T f:   min |K^-1/2 (r - A f)|^2 + rho |f|^2,   |f_it| <= mu f_in
///
/// Many f have the same moments; the term of rho chooses among them and is next to nothing else.
/// Every step takes some iterations of accelerated projected gradients [Beck] from the forces of
/// the step before.
///
/// Source: docs/theory/estimation.md, "Grip". Tested by: grip_estimator_test.
class GripEstimator {
 public:
  /// Throws ModelError naming the option or stiffness outside its range.
  /// @param stiffnesses  of the springs that hold the coordinates [N m/rad], [N/m], > 0
  GripEstimator(ContinuumRobot robot, std::span<const double> stiffnesses,
                const GripEstimatorOptions& options = {});

  /// Of the memory between steps, which the caller owns, copies and restores.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Advances by one timestep. Allocates nothing.
  /// @param load   on the coordinates, by contacts [N m], [N]
  /// @param reach  distance from the axis within which the backbone may touch the post [m]
  void step(std::span<double> memory, const Eigen::Ref<const Eigen::VectorXd>& q,
            const BaseState& base, const Eigen::Ref<const Eigen::VectorXd>& load,
            const GripAxis& axis, double reach) noexcept;
  [[nodiscard]] GripEstimate estimate(std::span<const double> memory) const noexcept;

 private:
  void add_columns(const Eigen::Ref<const Eigen::VectorXd>& q, const BaseState& base,
                   const GripAxis& axis, double reach) noexcept;
  void descend() noexcept;

  ContinuumRobot robot_;
  GripEstimatorOptions options_;
  Eigen::VectorXd weights_;  // K^-1/2
  MemoryLayout layout_;
  MatrixSlot<Eigen::VectorXd> load_;    // mean
  MatrixSlot<Eigen::VectorXd> forces_;  // three for each point: normal, along, across; then the tip
  // Scratch.
  std::vector<SectionState> states_;
  std::vector<Eigen::Index> points_;  // near the axis
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Eigen::MatrixXd columns_, products_;  // K^-1/2 A; K^-1/2 A A^T K^-1/2
  Eigen::VectorXd target_, residual_;   // K^-1/2 r, and what is left of it
  Eigen::VectorXd f_, next_, ahead_, gradient_;
};

}  // namespace tendril
