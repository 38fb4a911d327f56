#pragma once

#include <Eigen/Core>
#include <functional>

namespace tendril::simulation::generate {

/// Tells whether a disc gets from the origin to a point: by a search on a grid of 50 mm that knows
/// nothing of how robots plan.
/// @param room  distance of a point from the nearest obstacle [m]
/// @param half  of the edge of the searched square about the origin [m]
bool has_path(const std::function<double(const Eigen::Vector2d&)>& room,
              const Eigen::Vector2d& goal, double disc, double half);

}  // namespace tendril::simulation::generate
