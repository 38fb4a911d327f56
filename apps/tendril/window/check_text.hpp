#pragma once

#include <string>

#include "simulation/experiment/experiment.hpp"

namespace tendril {

/// A value with three digits and a unit that people read: 6.8e-5 m as "0.068 mm"; NaN: "no data".
[[nodiscard]] std::string readable(double value, const std::string& unit);

/// The limits of a check: "<= 2 mm", "0.1 N .. 3 N".
[[nodiscard]] std::string limits(const simulation::Check& check, const std::string& unit);

}  // namespace tendril
