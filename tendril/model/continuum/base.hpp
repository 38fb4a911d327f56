#pragma once

#include "tendril/model/names.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;

namespace names {
inline constexpr const char* kSpin = "spin";  ///< hinge joint and its actuator
}  // namespace names

/// Physics of the base feed and spin; the names are the keys of [base].
struct BasePhysics {
  double carriage_mass = 1.0;      ///< [kg], > 0
  double feed_gain = 2.0e4;        ///< [N/m], > 0
  double feed_force_limit = 30.0;  ///< [N], > 0
  double spin_gain = 50.0;         ///< [N m/rad], > 0
  double spin_torque_limit = 5.0;  ///< [N m], > 0
};

/// Reads the base and the guide of an arm whose top-level keys are read.
void read_base(const Fields& fields, ContinuumDescription& robot);

/// Adds a carriage that feeds and spins, with its servos:
///
///     feed   h [m]           in [0, feed limit]
///     spin   omega0 [rad]    in [-4 pi, 4 pi]
///
/// and a short plinth, without mass or contact, that shows where the arm begins.
void write_base(ArmDocument& arm);

}  // namespace tendril
