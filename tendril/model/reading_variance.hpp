#pragma once

#include "tendril/model/sensor.hpp"

namespace tendril {

/// Variance of each number of a sensor's readings by noise, resolution and backlash, without the
/// offset that a run starts with.
[[nodiscard]] double reading_variance(const EngineSensor& sensor);
/// Deviation of that offset; 0: there is none.
[[nodiscard]] double reading_bias(const EngineSensor& sensor);

}  // namespace tendril
