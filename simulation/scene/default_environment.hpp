#pragma once

#include <mujoco/mujoco.h>

#include "tendril/model/robot_description.hpp"

namespace tendril::simulation {

/// Adds the surroundings of a lone robot at the world's origin: the target that its controller
/// names, and a floor. Adds nothing to a tube.
void add_default_environment(mjSpec& spec, const ModelDescription& model);

}  // namespace tendril::simulation
