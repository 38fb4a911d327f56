#pragma once

#include <string>

#include "apps/host/plan/plan_file.hpp"
#include "apps/host/plan/plan_result.hpp"

namespace tendril::host {

/// Which refused arcs a drawing shows, in grey with their reasons.
enum class RefusedShown {
  None,
  Near,  ///< those from the base and along the solutions that only an obstacle or the rule stopped
  All    ///< all that are listed
};

/// The plan as an SVG picture: obstacles and contact points with their numbers, every solution with
/// the body's width, refused arcs, axes in m, a scale bar, and the solutions in words below. x runs
/// to the right, z upwards.
[[nodiscard]] std::string plan_svg(const PlanFile& plan, const PlanResult& solution,
                                   RefusedShown refused);

}  // namespace tendril::host
