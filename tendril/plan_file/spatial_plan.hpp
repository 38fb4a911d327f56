#pragma once

#include <string>
#include <vector>

#include "tendril/plan_file/path_plan.hpp"
#include "tendril/rod/spatial_planner.hpp"

namespace tendril {

/// A path of an elastic arm in space to its waypoint, which may press against obstacles. The poses
/// are in the frame of the arm's base, moved along z by `guide_length`.
struct SpatialPlanResult {
  SpatialPlan path;
  std::vector<SpatialContact> contacts;     ///< at the end
  std::vector<Eigen::Vector3d> centerline;  ///< at the end, from the guide's end to the tip
  double guide_length = 0.0;                ///< [m]
  double time = 0.0;                        ///< computing time [s]
};

/// Plans a path with contact for an arm that is clamped, or fed out of its guide. Throws ModelError
/// for what such a path cannot have: several waypoints or a direction, a margin, a planar arm,
/// sections of variable length, feed without a guide, a start that is not straight.
[[nodiscard]] SpatialPlanResult solve_spatial_plan(const PathPlan& plan);

/// The solution as text: a line, and one for each contact at the end.
[[nodiscard]] std::string spatial_plan_text(const PathPlan& plan, const SpatialPlanResult& result);

/// The actuation of every pose as CSV, `length,k1_x,k1_y,...,tip_x,tip_y,tip_z,contacts,force`, SI
/// units: the length past the guide, or of the arm, and the curvatures of every section.
[[nodiscard]] std::string spatial_plan_csv(const SpatialPlanResult& result);

}  // namespace tendril
