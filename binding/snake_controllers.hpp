#pragma once

#include <Eigen/Geometry>
#include <memory>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tendril/model/snake/description.hpp"

namespace tendril {

/// Makes a snake's controller; null: the kind controls other robots. Throws ModelError, also for
/// one whose commands the joints cannot follow.
/// @param X_WB  of the base, where the robot file does not say where the snake starts
[[nodiscard]] std::unique_ptr<SnakeController> make_snake_controller(
    const ControllerKind& kind, const Settings& settings, const SnakeDescription& snake,
    double timestep, const Eigen::Isometry3d& X_WB, SceneQuery& scene);

}  // namespace tendril
