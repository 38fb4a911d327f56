#pragma once

#include <mujoco/mujoco.h>

namespace tendril::simulation {

/// Gives a scene what an image of it needs and its files leave out: without a skybox a sky,
/// without any light soft light from the camera and a light with shadows, without a floor a ground
/// that is only seen, below all that can move; planes without a material or a color look like it.
/// Nothing else of what is there is changed, and nothing of the physics. There is no ground where
/// something would fall through it, or where gravity does not point down.
/// @param model  compiled from the scene
/// @returns whether something was added, so that the scene has to be compiled again
[[nodiscard]] bool add_default_visuals(mjSpec& spec, const mjModel& model);

}  // namespace tendril::simulation
