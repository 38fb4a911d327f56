#pragma once

#include <string>

#include "tendril/model/shell/description.hpp"

namespace tendril {

/// MJCF with one body `shell` that holds the pieces of the wall (mesh geoms `shell_1`, in the order
/// of the triangles; `contype=2 conaffinity=1 priority=1`, stiff contacts, group 3, which is not
/// drawn unless asked for) and the surface that is drawn and touches nothing (mesh geom
/// `shell_surface`).
[[nodiscard]] std::string shell_mjcf(const ShellDescription& shell);

}  // namespace tendril
