#pragma once

#include "tendril/model/continuum/drives.hpp"

namespace tendril {

struct ContinuumDescription;

/// Damping of a drive's servo that is in its tendon or joints, which the force limit does not
/// touch; 0 without a servo [N m s/rad], [N s/m].
[[nodiscard]] double damping_outside(const ContinuumDescription& robot, const Drive& drive);

}  // namespace tendril
