#pragma once

#include <string>

#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"
#include "tendril/plan_file/plan_result.hpp"
#include "tendril/plan_file/spatial_plan.hpp"

namespace tendril {

/// A plan with its solution as one JSON object (docs/guide/plan_contact.md), including the data for
/// a drawing (python/tendril/report/drawing.py).
[[nodiscard]] std::string plan_json(const PlanFile& plan, const PlanResult& result);
[[nodiscard]] std::string path_plan_json(const PathPlan& plan, const PathPlanResult& result);
[[nodiscard]] std::string spatial_plan_json(const PathPlan& plan, const SpatialPlanResult& result);

}  // namespace tendril
