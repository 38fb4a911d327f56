#pragma once

#include <span>

#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// Start pose of the source: straight, variable lengths set by the target's distance from
/// the base of section 1.
///
///     s_i = SD_i clamp((|P_T - p_base| - sum SC) / sum SD, 0, 1)
///
/// Source: [FABRIKx] (2.30), clamped, and measured from the base. `states` has one element per
/// section.
void straight_start(const ContinuumRobot& robot, const TipTarget& target, const BaseState& base,
                    std::span<SectionState> states) noexcept;

}  // namespace tendril
