#include "controllers/interface/messages.hpp"

#include <fmt/core.h>

namespace tendril {

std::string millimeters(double meters) { return fmt::format("{:.4g} mm", meters * 1e3); }

}  // namespace tendril
