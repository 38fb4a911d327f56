#include "binding/snake_controllers.hpp"

#include <numeric>

#include "binding/joint_commands.hpp"

namespace tendril {
namespace {

struct SnakeStartPlace {
  Eigen::Vector2d center;  // of the snake
  double height;           // of the ground
};

/// Where the snake starts in the world.
SnakeStartPlace start_of(const SnakeDescription& snake, const Eigen::Isometry3d& X_WB) {
  if (snake.start) return {snake.start->position.head<2>(), snake.start->position.z()};
  const double half =
      0.5 * std::accumulate(snake.link_lengths.begin(), snake.link_lengths.end(), 0.0);
  return {(X_WB * Eigen::Vector3d(half, 0.0, 0.0)).head<2>(),
          X_WB.translation().z() - snake.radius};
}

}  // namespace

std::unique_ptr<SnakeController> make_snake_controller(
    const ControllerKind& kind, const Settings& settings, const SnakeDescription& snake,
    double timestep, const Eigen::Isometry3d& X_WB, SceneQuery& scene) {
  const auto* const make = kind.make.of<SnakeContext>();
  if (make == nullptr) return nullptr;
  const auto [center, height] = start_of(snake, X_WB);
  auto controller = (*make)({.link_lengths = snake.link_lengths,
                             .joint_limit = snake.joint_limit,
                             .radius = snake.radius,
                             .is_free = snake.base == SnakeBase::Free,
                             .settings = settings,
                             .timestep = timestep,
                             .feed_limit = snake.feed_limit,
                             .name = snake.name,
                             .start_center = center,
                             .ground_height = height,
                             .scene = scene});
  require_joint_commands(kind.name, "joint_command", snake.joint_motors, controller->commands());
  return controller;
}

}  // namespace tendril
