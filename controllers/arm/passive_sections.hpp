#pragma once

#include "controllers/interface/arm_controller.hpp"

namespace tendril {

/// The first section, from 0, of those up to the tip that all are driven; the number of sections if
/// the last one is passive.
[[nodiscard]] int first_steered(const ArmContext& context);

/// Throws ModelError naming a section that is passive: for controllers that command all of them.
void require_driven(const ArmContext& context);

}  // namespace tendril
