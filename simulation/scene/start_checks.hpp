#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

namespace tendril::simulation {

/// Returns what is unlikely to be meant of the state in which the robots of a scene start, a line
/// each: a robot deep inside a geom or inside another robot, also if these two cannot touch, and a
/// robot on a free base that nothing carries. To be called after mj_forward.
[[nodiscard]] std::vector<std::string> start_warnings(const mjModel& model, mjData& data);

/// Returns a line for each two robots that are in each other and cannot touch, as at the end of a
/// run.
[[nodiscard]] std::vector<std::string> passing_robots(const mjModel& model, mjData& data);

}  // namespace tendril::simulation
