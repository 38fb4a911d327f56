#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/arm/servo.hpp"
#include "controllers/arm/turned_frames.hpp"

namespace tendril {

/// A section of an arm of which sections turn on their bases.
struct TurningSection {
  Eigen::Index bend = 0;  ///< its coordinate u; v is the next one
  int servo = -1;         ///< of its turn; -1: it does not turn
  double mass = 0.0;      ///< of all bodies that the turn moves [kg]
};

/// The turns of an arm's sections, which turn the frames of all that comes after them
/// (TurnedFrames, tendril/kinematics/turning.hpp). With a, b and u, v as there, a section that
/// turns has the command a = |(u, v)|, b = 0 and the turn that brings its plane to the direction of
/// (u, v). Source: docs/theory/control.md, "Sections that turn". The functions allocate nothing;
/// the turns' states, setpoints and rates are those of the sections that turn, in their order.
class SectionTurns {
 public:
  SectionTurns() = default;
  /// @param sections  all of the arm, from the base on; none: no section turns
  explicit SectionTurns(std::vector<TurningSection> sections);

  [[nodiscard]] bool empty() const noexcept { return servos_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return servos_.size(); }
  [[nodiscard]] std::span<const TurningSection> sections() const noexcept { return sections_; }
  [[nodiscard]] int servo(std::size_t turn) const noexcept { return servos_[turn]; }
  [[nodiscard]] double mass(std::size_t turn) const noexcept { return masses_[turn]; }

  /// Coordinate u of each section of the arm; none if no section turns.
  [[nodiscard]] std::vector<Eigen::Index> bends() const;
  /// Turns the frames of the sections, by the turns up to them.
  void measure(std::span<const JointState> turns, TurnedFrames& frames) const noexcept;

  /// Replaces commanded coordinates and rates by those of the joints, and finds the turns.
  /// @param turns  in: those of the last step, to which the new ones are the nearest [rad]
  void twist(Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> q_rate,
             std::span<double> turns, std::span<double> rates) const noexcept;

 private:
  std::vector<TurningSection> sections_;
  std::vector<int> servos_;
  std::vector<double> masses_;
};

}  // namespace tendril
