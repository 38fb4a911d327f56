#pragma once

#include <Eigen/Cholesky>
#include <cstdint>
#include <vector>

#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/actuation.hpp"
#include "tendril/kinematics/random_states.hpp"
#include "tendril/kinematics/tension_distribution.hpp"

namespace tendril {

struct DrivenOptions {               ///< every field has a working default
  int max_iterations = 1000;         ///< tip poses evaluated, restarts included, >= 1
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  int max_restarts = 50;             ///< from random drives, when a descent stalls, >= 0
  bool feed_base = true;             ///< the feed of a base that has one is solved for too
  bool spin_base = true;             ///< and so is the spin, without limits
  std::uint64_t seed = 1;            ///< of the restarts
};

/// Bounded Levenberg-Marquardt over what a robot's drives move: u of its Actuation, feed and spin.
/// The solver for robots with passive sections, or with fewer tendons than directions. Limits of u
/// are an active set; bends beyond their limits cost as much as tip errors. Where nothing meets the
/// target, the result is the pose found that comes nearest. docs/theory/ik.md, "What drives move".
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing.
/// Tested by: driven_solver_test.
class DrivenSolver {
 public:
  /// Begins with the body at rest: q0 is `actuation.rest`.
  DrivenSolver(const ContinuumRobot& robot, const Actuation& actuation,
               const DrivenOptions& options = {});

  /// Replaces q0, of the same size.
  void set_body(const Eigen::Ref<const Eigen::VectorXd>& body) noexcept { body_ = body; }

  /// Replaces q by the nearest pose that the drives make of the body, their limits kept.
  void limit(Eigen::VectorXd& q) noexcept;

  /// Reaches for `target` from the drives that come nearest to `start`. A target with a roll is
  /// invalid. Statuses as LevenbergSolver.
  [[nodiscard]] IkResult solve(const TipTarget& target, SectionStates start,
                               const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const DrivenOptions& options() const noexcept { return options_; }

 private:
  enum class End : std::uint8_t { Converged, Stalled, BudgetSpent };
  static constexpr int kTipRows = 6;  // position; direction, times the length scale

  [[nodiscard]] End descend(const TipTarget& target, IkResult& result) noexcept;
  void evaluate(const TipTarget& target) noexcept;
  [[nodiscard]] bool is_met(const TipTarget& target) const noexcept;
  void build_system() noexcept;
  void step(double damping) noexcept;
  void draw(SplitMix64& random) noexcept;

  ContinuumRobot robot_;
  DrivenOptions options_;
  Eigen::MatrixXd directions_;   // of q, by u, feed and spin
  Eigen::VectorXd low_, high_;   // of the same
  int feed_ = -1, spin_ = -1;    // their columns; -1: taken as given
  double length_scale_;          // [m]
  TensionDistribution nearest_;  // u for given q - q0
  Eigen::VectorXd body_;

  // Scratch.
  Eigen::VectorXd x_, before_, best_, q_, u_, gradient_, change_;
  BaseState base_;
  std::vector<SectionState> states_, best_states_;
  Eigen::Isometry3d X_BE_ = Eigen::Isometry3d::Identity();
  Eigen::Matrix<double, 6, Eigen::Dynamic> J_q_;
  Eigen::MatrixXd J_;         // rows of the tip, then of the sections' limits
  Eigen::VectorXd residual_;  // likewise
  double cost_ = 0.0;
  Eigen::MatrixXd normal_, damped_;
  Eigen::LDLT<Eigen::MatrixXd> factor_;
};

}  // namespace tendril
