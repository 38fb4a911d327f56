#pragma once

#include <Eigen/Core>
#include <span>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// Order in which sections of variable length grow.
enum class Growth {
  None,      ///< they keep the lengths that they have in the straight arm
  FromBase,  ///< the first section first: what has grown stays where it is; telescopic sections
  FromTip,   ///< the last section first: those that cannot bend yet are behind, on the straight
};

/// How an arm advances along a path: by the feed of its base, and then by its sections, which grow
/// one after the other, each to its full length.
///
/// The advance [m] is the distance by which the end of the arm has moved along the path. Source:
/// [FABRIKx] sec. 1.4, 2.5.
class Advance {
 public:
  Advance(const ContinuumRobot& robot, Growth growth);

  /// Length of the arm before it has advanced [m].
  [[nodiscard]] double start_length() const noexcept { return start_length_; }
  /// Largest advance [m].
  [[nodiscard]] double limit() const noexcept;
  [[nodiscard]] Growth growth() const noexcept { return order_; }

  /// The base at an advance in [0, limit()].
  [[nodiscard]] BaseState base(double advance) const noexcept;
  /// Sets the variable lengths of `states` to those at an advance and returns the base there. Bends
  /// are brought inside their limits at these lengths.
  BaseState apply(double advance, std::span<SectionState> states) const noexcept;
  /// The advance of a base and sections with smooth coordinates q.
  [[nodiscard]] double measured(const BaseState& base,
                                const Eigen::Ref<const Eigen::VectorXd>& q) const noexcept;

 private:
  ContinuumRobot robot_;
  Growth order_;
  double start_length_ = 0.0, growth_ = 0.0;  // [m]
};

}  // namespace tendril
