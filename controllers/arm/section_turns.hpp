#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/arm/rotate_pair.hpp"
#include "controllers/arm/servo.hpp"

namespace tendril {

/// A section of an arm of which sections turn on their bases.
struct TurningSection {
  Eigen::Index bend = 0;  ///< its coordinate u; v is the next one
  int servo = -1;         ///< of its turn; -1: it does not turn
  double mass = 0.0;      ///< of all bodies that the turn moves [kg]
};

/// The turns of an arm's sections: between the coordinates u, v of controllers, which are those of
/// frames without twist, and what the joints have, whose frames the turns before them have turned
/// by psi (tendril/kinematics/turning.hpp):
///
///     (u, v) = R(psi) (a, b),    a, b: sums of a section's hinges about y and, negative, about x
///
/// A section that turns has the command a = |(u, v)|, b = 0 and the turn that brings its plane to
/// the direction of (u, v). Source: docs/theory/control.md, "Sections that turn". The functions
/// allocate nothing; the turns' states, setpoints and rates are those of the sections that turn, in
/// their order.
class SectionTurns {
 public:
  SectionTurns() = default;
  /// @param sections  all of the arm, from the base on; none: no section turns
  explicit SectionTurns(std::vector<TurningSection> sections);

  [[nodiscard]] bool empty() const noexcept { return servos_.empty(); }
  [[nodiscard]] std::size_t count() const noexcept { return servos_.size(); }
  [[nodiscard]] int servo(std::size_t turn) const noexcept { return servos_[turn]; }
  [[nodiscard]] double mass(std::size_t turn) const noexcept { return masses_[turn]; }

  /// Replaces coordinates and rates of the joints by those of controllers [rad], [rad/s].
  void untwist(std::span<const JointState> turns, Eigen::Ref<Eigen::VectorXd> q,
               Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;
  /// The same of moments on the coordinates, or of columns of derivatives with respect to them.
  void untwist_moments(std::span<const JointState> turns,
                       Eigen::Ref<Eigen::VectorXd> moments) const noexcept;
  template <class Matrix>
  void untwist_columns(std::span<const JointState> turns, Matrix& columns) const noexcept {
    for_each_section(turns, [&](Eigen::Index k, double c, double s, double /*rate*/) {
      for (Eigen::Index row = 0; row < columns.rows(); ++row)
        rotate_pair(c, s, columns(row, k), columns(row, k + 1));
    });
  }

  /// Replaces commanded coordinates and rates by those of the joints, and finds the turns.
  /// @param turns  in: those of the last step, to which the new ones are the nearest [rad]
  void twist(Eigen::Ref<Eigen::VectorXd> q, Eigen::Ref<Eigen::VectorXd> q_rate,
             std::span<double> turns, std::span<double> rates) const noexcept;

 private:
  /// Calls `use` with u's index, cosine and sine of psi, and the rate of psi [rad/s].
  template <class Use>
  void for_each_section(std::span<const JointState> turns, const Use& use) const noexcept {
    std::size_t turn = 0;
    double psi = 0.0, rate = 0.0;
    for (const TurningSection& section : sections_) {
      if (section.servo >= 0) {
        psi += turns[turn].position;
        rate += turns[turn].velocity;
        ++turn;
      }
      use(section.bend, std::cos(psi), std::sin(psi), rate);
    }
  }

  std::vector<TurningSection> sections_;
  std::vector<int> servos_;
  std::vector<double> masses_;
};

}  // namespace tendril
