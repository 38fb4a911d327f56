#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/model/key_info.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;
struct SectionPhysics;

/// Names of the elements of drives; sections and links are counted from 1.
namespace names {
/// Tendon and actuator "s1_x", "s1_y" of the bend of a section; with `compliance = "link"` the
/// actuators are those of the hinges.
[[nodiscard]] std::string bend(int section, char axis);
/// Tendon and actuator "s1_z" of the length of a section.
[[nodiscard]] std::string length(int section);
}  // namespace names

/// Distribution of the servos of a section's bend.
enum class Compliance {
  Section,  ///< two fixed tendons over all hinges of a section: exactly equal moments along the
            ///< section
  Link,     ///< one servo on every hinge: cheaper with integrator "discrete", stiffer shape
};

/// Nothing but the body, tendons and chambers acts on the coordinate.
struct NoDrive {};

/// A servo, whose command is the coordinate.
struct ServoDrive {
  double gain;          ///< kp [N m/rad] or [N/m]; >= 0 of a bend: with 0 the section is an elastic
                        ///< body whose command is the bend that it takes when nothing touches it
  double damping_time;  ///< kv / kp [s], >= 0
  double limit;         ///< [N m] or [N], > 0
};

/// A motor, whose command is the moment or force itself.
struct MotorDrive {
  double limit;  ///< [N m] or [N], > 0
};

/// Drive of the bend or the length of a section.
using Drive = std::variant<NoDrive, ServoDrive, MotorDrive>;

/// Drives of a file that says nothing of them.
inline constexpr ServoDrive kBendServo{.gain = 20.0, .damping_time = 0.05, .limit = 3.0};
inline constexpr ServoDrive kLengthServo{.gain = 2.0e4, .damping_time = 0.02, .limit = 200.0};

[[nodiscard]] inline bool is_driven(const Drive& drive) noexcept {
  return !std::holds_alternative<NoDrive>(drive);
}
[[nodiscard]] inline bool is_motor(const Drive& drive) noexcept {
  return std::holds_alternative<MotorDrive>(drive);
}
/// Largest moment or force [N m] or [N]; 0 without a drive.
[[nodiscard]] double limit_of(const Drive& drive) noexcept;

/// Keys of a table [[section]] that are about drives.
[[nodiscard]] KeyRows drive_keys();

/// Reads the drives of an arm whose sections, tendons and chambers are read. By default tendons and
/// chambers take the place of the servos of the sections that they run through. Throws ModelError.
void read_drives(const Fields& top, ContinuumDescription& robot);

/// Largest bend that a section's servos can be commanded [rad]: more than the bend limit, so that a
/// load can be held at the limit.
[[nodiscard]] double bend_command_limit(const SectionParameters& section);

/// Number of sections' bends and lengths that have a separate tendon.
[[nodiscard]] int drive_tendon_count(const ContinuumDescription& robot);

/// Adds the tendons and actuators of the sections:
///
///     s1_x, s1_y      -v, u [rad]      servos, |ctrl| <= max(1.5 thetaMax, 1)
///     s1_l1_x, _y     the link's fraction of the same; `compliance = "link"`
///     s1_z            s - SD/2 [m]     in [-SD/2, SD/2]
///
///     s1_x, s1_y      their moments [N m]  motors, |ctrl| <= bend_torque_limit
///     s1_z            force [N]            motor, |ctrl| <= length_force_limit
///
/// section by section x, y, z (link servos: x, y of each link, then z). In 0 g a servo settles
/// exactly on its ctrl: its gain contains the stiffness of the section,
/// `F = (kp + EI/L) ctrl - kp q - kv q'`. One half of kv is damping of the tendon (link servos: of
/// the hinge), which the force limit does not touch. The other is in the actuator, without what the
/// integrator adds: `biasprm = 0 -kp -(kv/2 - numerical_damping_time kp)`.
void write_drives(ArmDocument& arm);

/// Damping of a hinge of a link by its servo, outside the servo [N m s/rad].
[[nodiscard]] double hinge_damping(const ContinuumDescription& robot, const SectionPhysics& physics,
                                   double bend_fraction);

}  // namespace tendril
