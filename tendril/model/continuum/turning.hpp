#pragma once

#include <string>

#include "tendril/model/continuum/drives.hpp"
#include "tendril/model/key_info.hpp"

namespace tendril {

class XmlNode;

namespace names {
/// Hinge and actuator "s1_turn" of a section that turns on its base.
[[nodiscard]] std::string turn(int section);
}  // namespace names

/// Servo of a turn of a file that says nothing of it.
inline constexpr ServoDrive kTurnServo{.gain = 20.0, .damping_time = 0.05, .limit = 3.0};

/// Keys of a table [[section]] that are about turning.
[[nodiscard]] KeyRows turning_keys();

/// Reads the rotation of a section and the servo of its turn.
void read_turning(const Fields& fields, SectionParameters& section, SectionPhysics& physics);

/// Refuses what cannot go with sections that turn, in an arm that is read but for its parts. Throws
/// ModelError.
void require_turning(const Fields& top, const ContinuumDescription& robot);

/// Adds the hinge about z at the base of a section that turns, before the other joints of its first
/// link, and its servo:
///
///     s1_turn    angle by which the section has turned [rad]    in [-4 pi, 4 pi]
///
/// As the others, half of the servo's damping is in the joint.
void write_turn(ArmDocument& arm, std::size_t section, XmlNode& first_link);

}  // namespace tendril
