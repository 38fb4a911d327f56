#pragma once

#include <vector>

#include "tendril/model/sensor.hpp"

namespace tendril {

class Fields;
struct SnakeDescription;

/// Reads the `[[sensor]]`s of a snake whose joints are read. Throws ModelError.
[[nodiscard]] std::vector<RobotSensor> read_snake_sensors(const Fields& top,
                                                          const SnakeDescription& snake);

}  // namespace tendril
