#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <span>

namespace tendril {

// Decoration of a scene, as far as there is room for it.

void draw_sphere(mjvScene* scene, const Eigen::Vector3d& p, double radius, const float color[4]);
void draw_line(mjvScene* scene, std::span<const Eigen::Vector3d> points, double radius,
               const float color[4]);

}  // namespace tendril
