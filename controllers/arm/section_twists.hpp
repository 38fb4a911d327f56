#pragma once

#include <Eigen/Core>
#include <cmath>
#include <span>
#include <vector>

#include "controllers/arm/servo.hpp"
#include "controllers/arm/turned_frames.hpp"

namespace tendril {

/// A section of an arm of which sections are not rigid in torsion.
struct TwistingSection {
  /// A hinge of a link about its axis. No controller commands it.
  struct Hinge {
    double mass = 0.0;       ///< of all bodies that it moves [kg]
    double stiffness = 0.0;  ///< [N m/rad]
    double damping = 0.0;    ///< [N m s/rad]
  };
  Eigen::Index bend = 0;      ///< coordinate u of the section; v is the next one
  std::vector<Hinge> hinges;  ///< from the base on; none: it is rigid in torsion
};

/// State of the hinges about the links' axes, in the order of the sections; world frame.
struct TwistState {
  std::vector<JointState> hinges;
  std::vector<double> inertias;  ///< of all bodies that a hinge moves, about its axis [kg m^2]
};

/// The twist of an arm's sections. It turns the frames of a section by the twist up to its middle
/// (TurnedFrames). What is measured is turned by the measured twist. Commands are turned back by
/// the twist that is compensated: what gravity does to the measured shape, and a slow mean of what
/// the measured twist differs from that. Source: docs/theory/control.md, "Tip integral". The
/// functions allocate nothing.
class SectionTwists {
 public:
  SectionTwists() = default;
  /// @param sections  all of the arm, from the base on; none: no section twists
  explicit SectionTwists(std::vector<TwistingSection> sections);

  [[nodiscard]] bool empty() const noexcept { return sections_.empty(); }
  [[nodiscard]] const std::vector<TwistingSection>& sections() const noexcept { return sections_; }
  /// Coordinate u of each section of the arm; none if no section twists.
  [[nodiscard]] std::vector<Eigen::Index> bends() const;
  [[nodiscard]] TwistState make_state() const;

  /// What twist does to points of the arm, by a sum of small rotations about hinges; world frame.
  class Displacement {
   public:
    void add(const JointState& hinge, double angle) noexcept {
      turn_ += angle * hinge.axis;
      offset_ += angle * hinge.axis.cross(hinge.anchor);
    }
    [[nodiscard]] Eigen::Vector3d at(const Eigen::Vector3d& p) const noexcept {
      return turn_.cross(p) - offset_;
    }
    [[nodiscard]] const Eigen::Vector3d& turn() const noexcept { return turn_; }

   private:
    Eigen::Vector3d turn_ = Eigen::Vector3d::Zero(), offset_ = Eigen::Vector3d::Zero();
  };

  /// Finds the twist up to the middles of the sections, as measured, which turns their frames, and
  /// as gravity [m/s^2] does it. Calls `end_of_section(bend, displacement)` after each section with
  /// what gravity's twist up to there does in excess of that: the twist within the sections.
  template <class Use>
  void measure(const TwistState& state, const Eigen::Vector3d& gravity, TurnedFrames& frames,
               const Use& end_of_section) noexcept {
    std::size_t first = 0;
    Displacement excess;
    swing_ = {};
    double measured = 0.0, rate = 0.0, by_gravity = 0.0;
    double squares = 0.0;  // sum of the squares of the hinges' periods, over (2 pi)^2
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const std::size_t count = sections_[i].hinges.size();
      const double before = by_gravity;
      double middle_rate = rate;
      measured_[i] = measured;
      by_gravity_[i] = by_gravity;
      for (std::size_t j = 0; j < count; ++j) {
        const JointState& hinge = state.hinges[first + j];
        const TwistingSection::Hinge& of = sections_[i].hinges[j];
        const double angle = gravity_load(hinge, of.mass, gravity, false) / of.stiffness;
        excess.add(hinge, angle);
        swing_.add(hinge, hinge.position - angle);
        const double part = (static_cast<double>(count - j) - 0.5) / static_cast<double>(count);
        measured_[i] += part * hinge.position;
        middle_rate += part * hinge.velocity;
        by_gravity_[i] += part * angle;
        measured += hinge.position;
        rate += hinge.velocity;
        by_gravity += angle;
        squares += state.inertias[first + j] / of.stiffness;
      }
      if (count > 0) {
        excess.add(state.hinges[first], before - by_gravity_[i]);
        excess.add(state.hinges[first + count - 1], by_gravity_[i] - by_gravity);
      }
      first += count;
      frames.add(i, measured_[i], middle_rate);
      end_of_section(sections_[i].bend, excess);
    }
    tip_twist_ = measured;
    swing_frequency_ = 1.0 / std::sqrt(squares);
  }

  /// A lower bound of the frequency of the slowest swing of the twist in the last `measure`:
  /// Dunkerley's [rad/s].
  [[nodiscard]] double swing_frequency() const noexcept { return swing_frequency_; }
  /// Displacement by what the measured twist differs from gravity's, of the last `measure`.
  [[nodiscard]] const Displacement& swing() const noexcept { return swing_; }
  /// Rotation of the tip about its axis by the measured twist [rad].
  [[nodiscard]] double tip_twist() const noexcept { return tip_twist_; }

  /// Replaces commanded coordinates and rates by those of the joints.
  /// @param means  of what the sections' measured twist differs from gravity's, in: of the last
  ///               step, out: of this one [rad]
  void twist(double timestep, std::span<double> means, Eigen::Ref<Eigen::VectorXd> q,
             Eigen::Ref<Eigen::VectorXd> q_rate) const noexcept;

 private:
  std::vector<TwistingSection> sections_;
  double damping_time_ = 0.0;  // least of the hinges [s]
  // Of the last `measure`.
  std::vector<double> measured_, by_gravity_;  // of each section
  Displacement swing_;
  double tip_twist_ = 0.0, swing_frequency_ = 0.0;
};

}  // namespace tendril
