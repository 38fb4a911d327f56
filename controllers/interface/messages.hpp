#pragma once

#include <string>

namespace tendril {

/// Returns a length for a message, "12.5 mm".
[[nodiscard]] std::string millimeters(double meters);

}  // namespace tendril
