#pragma once

#include "controllers/interface/controller.hpp"
#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/settings.hpp"

// Rows that the tables of gaits and of fed paths share.

namespace tendril::snake_setting {

inline constexpr SettingInfo kSpeed = setting::speed(
    "",
    "desired speed, kept by reducing the gait's frequency; default: none; path: of the feed, "
    "default 0.05");
inline constexpr SettingInfo kTarget = setting::body_name(
    "target", "",
    "mocap body to be reached, if there are no goals; with avoidance any stationary body or "
    "site; path: its trail continues the path");
inline constexpr SettingInfo kCornerRadius = setting::number(
    "corner_radius", "m", "0", {0.0, 1e3},
    "path, ground_path: the corners of the points' polyline are rounded with arcs of this radius; "
    "0: smooth through all points");

}  // namespace tendril::snake_setting

// Quantities of gaits, which fed paths have too, with 0, for the sake of one table.
namespace tendril::snake_quantity {

inline constexpr Quantity kSlip{"slip", "m", "largest change of `rise` while holding on a pole"};
inline constexpr Quantity kGoals{"goals", "", "goals reached"};

}  // namespace tendril::snake_quantity
