#pragma once

#include "controllers/interface/settings.hpp"

// Rows that the tables of all controllers which avoid obstacles share. The clearances differ, as
// the robots do: 2 mm for an arm among obstacles, 5 cm for a snake that moves by a gait.

namespace tendril::setting {

constexpr SettingInfo obstacles(
    const char* meaning =
        "geoms, or bodies with their subtrees, that are obstacles, separated by spaces; default: "
        "all that the robot can touch") {
  return obstacle_names("obstacles", meaning);
}
constexpr SettingInfo obstacle_margin(
    const char* default_value,
    const char* meaning = "least clearance between the robot and obstacles") {
  return number("obstacle_margin", "m", default_value, {0.0, 1.0}, meaning);
}

}  // namespace tendril::setting
