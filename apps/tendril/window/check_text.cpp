#include "apps/tendril/window/check_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tendril {
namespace {

/// Three significant digits, without an exponent where people do not expect one.
std::string digits(double value) {
  return std::abs(value) >= 1000.0 && std::abs(value) < 1e9 ? fmt::format("{:.0f}", value)
                                                            : fmt::format("{:.3g}", value);
}

}  // namespace

std::string readable(double value, const std::string& unit) {
  if (std::isnan(value)) return "no data";
  if (unit.empty()) return digits(value);
  constexpr std::string_view kScaled[] = {"m", "s", "rad", "N", "m/s"};
  const bool is_scaled =
      std::find(std::begin(kScaled), std::end(kScaled), unit) != std::end(kScaled);
  const double size = std::abs(value);
  if (is_scaled && size < 0.1 && size > 0.0) {
    if (size < 1e-9) return fmt::format("{}1e-9 {}", value < 0.0 ? "> -" : "< ", unit);
    return size < 1e-6 ? fmt::format("{:.3f} u{}", 1e6 * value, unit)
                       : fmt::format("{} m{}", digits(1e3 * value), unit);
  }
  return fmt::format("{} {}", digits(value), unit);
}

std::string limits(const simulation::Check& check, const std::string& unit) {
  const auto limit = [&](double value) {
    const bool is_tiny = value != 0.0 && std::abs(value) < 1e-9;  // said in full
    return is_tiny ? fmt::format("{:.3g} {}", value, unit) : readable(value, unit);
  };
  if (check.min && check.max) return fmt::format("{} .. {}", limit(*check.min), limit(*check.max));
  return check.min ? fmt::format(">= {}", limit(*check.min))
                   : fmt::format("<= {}", limit(*check.max));
}

}  // namespace tendril
