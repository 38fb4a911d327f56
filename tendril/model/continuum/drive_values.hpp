#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/tension_distribution.hpp"
#include "tendril/model/continuum/description.hpp"

namespace tendril {

/// What to send to the drives of an arm for given states of its sections: the commands of all
/// actuators of its model for which it rests in these states, without gravity or contact.
///
///     feed, spin          of the base [m], [rad]
///     s1_turn             by which a section has turned [rad]
///     s1_y, s1_x          u and -v of a servo's bend [rad], or the moment of a motor [N m]; with
///                         compliance = "link" s1_l1_y, ...: the angle of every joint [rad]
///     s1_z                length less that at half the range [m], or the force of a motor [N]
///     name of a tendon    change of length from the straight arm [m], or tension [N]
///     name of a chamber   pressure [Pa]
///
/// Tensions and pressures are those of least norm within their limits that hold the bends against
/// the body's stiffness. Source: docs/theory/chain.md, "Tendons". Tested by: drive_values_test.
class DriveValues {
 public:
  explicit DriveValues(const ContinuumDescription& robot);

  struct Drive {
    std::string name, unit;
  };
  /// None: nothing drives the arm.
  [[nodiscard]] const std::vector<Drive>& drives() const noexcept { return drives_; }

  /// @param states  of frames without twist (tendril/kinematics/turning.hpp)
  /// @param values  as many as drives
  /// @return        false: no tensions and pressures within their limits hold this state; the
  /// values
  ///                are those that come nearest
  bool values(SectionStates states, const BaseState& base, std::span<double> values);

 private:
  void add(std::string name, std::string unit);
  void add_section(const ContinuumDescription& robot, std::size_t i);
  void write_section(std::size_t i, const SectionState& own, double*& to) const;

  ContinuumDescription robot_;
  ContinuumRobot kinematics_;
  std::vector<LinkLayout> layouts_;  // of the sections
  std::vector<Drive> drives_;
};

}  // namespace tendril
