#pragma once

#include <memory>
#include <span>

#include "controllers/arm/arm_rollouts.hpp"
#include "controllers/arm/reach_controller.hpp"

namespace tendril {

/// Settings of `tendril.predictive`: those of `tendril.reach` without its avoidance, and those of
/// PredictivePlanner. It reports what `tendril.reach` does.
[[nodiscard]] std::span<const SettingInfo> predictive_settings();

/// Makes a ReachController whose motion is planned by PredictivePlanner, with a cost of its own,
/// which must outlive it, or with that of the settings. Throws ModelError naming the setting.
[[nodiscard]] std::unique_ptr<ArmController> make_predictive_controller(const ArmContext& context,
                                                                        PlanCost* cost = nullptr);

}  // namespace tendril
