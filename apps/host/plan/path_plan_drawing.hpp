#pragma once

#include <string>

#include "apps/host/plan/path_plan.hpp"

namespace tendril::host {

/// The plan as an SVG picture: obstacles, the body with its width at the start and at every
/// waypoint, the way of the tip, and in grey the waypoints that were not reached, with the reason.
/// A planar plan is cut at y = 0; any other is seen from three sides, x-z, y-z and x-y.
[[nodiscard]] std::string path_plan_svg(const PathPlan& plan, const PathPlanResult& solution);

}  // namespace tendril::host
