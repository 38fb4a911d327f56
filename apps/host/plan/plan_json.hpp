#pragma once

#include <string>

#include "apps/host/plan/path_plan.hpp"
#include "apps/host/plan/plan_file.hpp"
#include "apps/host/plan/plan_result.hpp"

namespace tendril::host {

/// A plan with its solution as one JSON object (docs/planning.md), including the data for a drawing
/// (apps/report/draw_plan.py).
[[nodiscard]] std::string plan_json(const PlanFile& plan, const PlanResult& result);
[[nodiscard]] std::string path_plan_json(const PathPlan& plan, const PathPlanResult& result);

}  // namespace tendril::host
