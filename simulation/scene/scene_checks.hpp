#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

#include "simulation/scene/model_files.hpp"

namespace tendril::simulation {

inline constexpr double kStandardGravity = 9.81;  ///< [m/s^2]

/// Adds a notice for every option of the scene that the robot of a file needs otherwise, and for
/// sections that the integrator `discrete` damps more than the file says.
void check_options(const mjOption& scene, ModelFile& file, const std::string& scene_name,
                   std::vector<std::string>& notices);

/// Adds a notice for every number of a file that is unlikely to be meant.
/// @param gravity  [m/s^2]
void check_plausible(const ModelFile& file, double gravity, std::vector<std::string>& notices);

}  // namespace tendril::simulation
