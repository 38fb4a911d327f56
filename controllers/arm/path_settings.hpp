#pragma once

#include <span>
#include <vector>

#include "controllers/interface/settings.hpp"
#include "tendril/path/path.hpp"

namespace tendril {

/// Rows of the path that an arm follows: `waypoints` with `corner_radius`, `arcs`, or a route
/// through the branches of a `centerline`.
[[nodiscard]] std::span<const SettingInfo> path_settings();

/// Tells whether one of these settings gives a path.
[[nodiscard]] bool gives_path(const Settings& settings);

/// The one of these settings that gives the path, for messages.
[[nodiscard]] const char* path_key(const Settings& settings);

/// The path of these settings, in the frame of the arm's base: it begins at the base, and runs
/// along its z axis to the first waypoint. Throws ModelError naming the setting.
[[nodiscard]] Path read_path(const Settings& settings);

/// Distance of that path from the wall of the branches of `centerline`, at multiples of `spacing`
/// [m] from its start to past its end; empty for a path without branches [m].
[[nodiscard]] std::vector<double> read_wall_distances(const Settings& settings, const Path& path,
                                                      double spacing);

}  // namespace tendril
