#pragma once

#include <span>
#include <vector>

#include "controllers/arm/arm_chain.hpp"
#include "controllers/arm/arm_mechanics.hpp"
#include "tendril/model/continuum/description.hpp"
#include "tendril/model/mechanism.hpp"

namespace tendril {

/// A continuum arm in a mechanism: its hinges, slides and servos in the form that ArmMechanics
/// uses, with their indices in the mechanism.
struct ArmModel {
  ArmMechanics mechanics;
  std::vector<int> joints;     ///< in the order of the mechanics' state
  int feed = -1, spin = -1;    ///< joints; -1: none
  std::vector<int> turns;      ///< joints, in the order of the mechanics' turns
  std::vector<int> twists;     ///< joints, in the order of the mechanics' twists
  std::vector<int> actuators;  ///< in the order of its servos, then those of the tendons
  std::vector<int> tendons;
  int tip = -1;  ///< site

  /// Throws ModelError naming an element that the mechanism lacks.
  /// @param options  guide_length is set from the description
  ArmModel(const Mechanism& mechanism, const ContinuumDescription& description,
           ArmMechanics::Options options);

  /// Its bodies from the base on.
  [[nodiscard]] ArmChain chain(const Mechanism& mechanism) const;
  /// Coordinates where the robot file starts it [rad], [m].
  [[nodiscard]] Eigen::VectorXd start(const Mechanism& mechanism) const;
};

/// The bodies of a mechanism from the base on.
/// @param coordinates  joints, in the order of `ArmMechanics::State::joints`
/// @param tip          site
/// @param feed, spin   joints; -1: none
/// @param turns        joints, in the order of `ArmMechanics::State::turns`
/// @param twists       joints, in the order of `TwistState::hinges`
[[nodiscard]] ArmChain chain_of(const Mechanism& mechanism, std::span<const int> coordinates,
                                int tip, int feed = -1, int spin = -1,
                                std::span<const int> turns = {}, std::span<const int> twists = {});

/// The servo of an actuator.
/// @param passive_damping  of the joint or tendon on which it acts
[[nodiscard]] Servo servo_of(const Mechanism::Actuator& actuator, double numerical_damping_time,
                             double passive_damping);

}  // namespace tendril
