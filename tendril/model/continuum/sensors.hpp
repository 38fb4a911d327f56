#pragma once

#include <vector>

#include "tendril/model/sensor.hpp"

namespace tendril {

class Fields;
struct ArmDocument;
struct ContinuumDescription;

/// Reads the `[[sensor]]`s of an arm whose sections and drives are read. Throws ModelError.
[[nodiscard]] std::vector<RobotSensor> read_arm_sensors(const Fields& top,
                                                        const ContinuumDescription& robot);

/// Adds the sensors, with their sites and gratings, to an arm that has all other elements. A
/// grating at a place in a link whose hinges are at the angles a_x and a_y, and take the bend of a
/// length l of the backbone, is a fixed tendon of the length
///
///     curvature towards x    a_y / l        curvature towards y    -a_x / l     [1/m]
///
/// l is the length of the link, at the ends of a piece of constant curvature a twelfth more or less
/// (docs/theory/chain.md, "Shape: joints at mid-link").
///
/// Tested by: sensors_test.
void write_arm_sensors(ArmDocument& arm);

}  // namespace tendril
