#pragma once

#include <mujoco/mujoco.h>

#include "tendril/model/robot_description.hpp"

namespace tendril::simulation {

/// Adds what a lone robot at the world's origin needs: the target that its controller names, where
/// it can be reached, and a floor for a free snake and a mobile robot. Adds nothing to a tube.
void add_default_environment(mjSpec& spec, const ModelDescription& model);

}  // namespace tendril::simulation
