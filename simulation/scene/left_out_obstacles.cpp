#include "simulation/scene/left_out_obstacles.hpp"

#include <fmt/format.h>

#include <variant>

namespace tendril::simulation {

std::string left_out_text(const SceneObstacles& obstacles) {
  return fmt::format("{}: contains the straight arm from its base on, so it is no obstacle",
                     obstacles.left_out());
}

std::vector<std::string> left_out_obstacles(const mjModel& model,
                                            std::span<const SceneRobot> robots) {
  constexpr double kNoMargin = 0.0;  // it does not matter to what is left out
  std::vector<std::string> lines;
  for (const SceneRobot& robot : robots) {
    const auto* const arm = std::get_if<ContinuumDescription>(&robot.description);
    if (arm == nullptr || robot.config(model, "avoidance") != "true") continue;
    const SceneObstacles obstacles(
        &model, robot.base,
        {"obstacles", scene_names(&model, robot.names, robot.config(model, "obstacles"))},
        straight_body(*arm), kNoMargin);
    if (!obstacles.left_out().empty())
      lines.push_back(fmt::format("{}: {}", robot.names.title(), left_out_text(obstacles)));
  }
  return lines;
}

}  // namespace tendril::simulation
