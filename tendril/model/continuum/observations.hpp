#pragma once

#include "tendril/estimation/observations.hpp"

namespace tendril {

struct ContinuumDescription;

/// Sensors that measure alike, at one place, are one sensor of the estimator. Its deviation is that
/// of the noise, of the steps of the resolution and of the backlash, and of what a model of
/// constant curvatures leaves out.
/// @param timestep  of the simulation, or of the robot's computer [s]
[[nodiscard]] ArmObservations observations(const ContinuumDescription& robot, double timestep);

}  // namespace tendril
