#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <variant>
#include <vector>

#include "simulation/scene/scene.hpp"
#include "tendril/plan_file/path_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"

namespace tendril::simulation {

/// Options of a plan apart from its scene; empty: as in the scene.
struct ScenePlanOptions {
  std::string robot;      ///< prefix of the arm's names, or its name in a lone robot file
  std::string target;     ///< body or site
  std::string obstacles;  ///< geoms, or bodies with their subtrees, separated by spaces; empty: all
                          ///< that the arm can touch, or those of its controller that uses contacts
  double margin = 0.0;    ///< kept to every obstacle [m]
};

/// Returns what an arm of a scene has to plan to get from where it is to its target among
/// obstacles, in the frame of the arm's base: a path; of an arm of `tendril.contact_plan` that
/// comes out of a guide, paths in contact with them, from the end of the guide.
/// @param name     of the scene, for messages
/// @param data     after mj_forward; contacts are planned where the model has the geoms and the
/// target
/// @param notices  lines for obstacles that can move, and for geoms that are left out
/// Throws ModelError: no arm, several, no target, a geom that cannot be an obstacle.
[[nodiscard]] std::variant<PathPlan, PlanFile> plan_of_scene(const Scene& scene, const mjData& data,
                                                             const ScenePlanOptions& options,
                                                             const std::string& name,
                                                             std::vector<std::string>& notices);

}  // namespace tendril::simulation
