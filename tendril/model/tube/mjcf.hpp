#pragma once

#include <string>

#include "tendril/model/tube/description.hpp"

namespace tendril {

/// MJCF with one body `tube` that holds the staves (`contype=2 conaffinity=1 priority=1`, solref
/// "0.004 1", solimp "0.95 0.99 0.0005"; geoms `tube_1_1`, segment and stave, from 1; group 3,
/// which is not drawn unless asked for), the smooth wall that is drawn and touches nothing (mesh
/// geom `tube_wall`), and the sites `tube_start` and `tube_end` on the centerline, z along the
/// tube. With branches the geoms are `tube_NAME_1`, and the sites at their ends `tube_NAME_end`.
[[nodiscard]] std::string tube_mjcf(const TubeDescription& tube);

}  // namespace tendril
