#pragma once

#include <vector>

#include "tendril/model/sensor.hpp"

namespace tendril {

class Fields;
struct MobileDescription;

/// Reads the `[[sensor]]`s of a mobile robot whose arm is read. Throws ModelError.
[[nodiscard]] std::vector<RobotSensor> read_mobile_sensors(const Fields& top,
                                                           const MobileDescription& robot);

}  // namespace tendril
