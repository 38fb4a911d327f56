#pragma once

#include "tendril/estimation/snake_observations.hpp"

namespace tendril {

struct SnakeDescription;

/// What an estimator of a snake makes of its `[[sensor]]`s: encoders of joints and one inertial
/// unit. Of two encoders of a joint and of two units the last counts.
/// @param timestep  of the simulation [s]
[[nodiscard]] SnakeObservations observations(const SnakeDescription& snake, double timestep);

}  // namespace tendril
