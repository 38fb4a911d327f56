#pragma once

#include <span>

namespace tendril::simulation {

/// Tells whether angles that are given in degrees make sense as rad only: each but 0 is a multiple
/// of 15 degrees in rad, within a turn, and no round number.
[[nodiscard]] bool look_like_radians(std::span<const double> degrees) noexcept;

}  // namespace tendril::simulation
