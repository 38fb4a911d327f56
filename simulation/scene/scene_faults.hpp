#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <optional>
#include <span>

#include "simulation/engine/setting.hpp"
#include "simulation/scene/scene_robot.hpp"
#include "tendril/fault.hpp"

namespace tendril::simulation {

/// Returns the setting that hands the faults of measurements to the controllers; nothing without
/// such a fault.
/// @param seed  of the faults' draws
[[nodiscard]] std::optional<Setting> measurement_fault_setting(std::span<const Fault> faults,
                                                               std::uint64_t seed);

/// Adds the engine's own delays of controls to a scene that is not yet compiled. Throws ModelError
/// for a pattern that matches no actuator.
/// @param settings  their timestep is set before: the memory of faults depends on it
void add_actuator_delays(mjSpec& spec, std::span<const Fault> faults,
                         std::span<const Setting> settings);

/// Refuses a fault of a measurement that no controller of the robots makes: throws ModelError.
void require_measured(std::span<const SceneRobot> robots, std::span<const Fault> faults);

}  // namespace tendril::simulation
