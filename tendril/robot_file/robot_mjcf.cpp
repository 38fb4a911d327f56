#include "tendril/robot_file/robot_mjcf.hpp"

namespace tendril {

std::string model_mjcf(const ModelDescription& model, std::span<const std::string> sensors) {
  struct Writer {
    std::span<const std::string> sensors;
    std::string operator()(const ContinuumDescription& d) const {
      return continuum_mjcf(d, sensors);
    }
    std::string operator()(const SnakeDescription& d) const { return snake_mjcf(d, sensors); }
    std::string operator()(const MobileDescription& d) const { return mobile_mjcf(d, sensors); }
    std::string operator()(const TubeDescription& d) const { return tube_mjcf(d); }
  };
  return std::visit(Writer{sensors}, model);
}

EngineNeeds engine_needs(const RobotDescription& robot) {
  if (const auto* arm = std::get_if<ContinuumDescription>(&robot))
    return {.iterations = solver_iterations(*arm), .medium = arm->medium};
  if (const auto* snake = std::get_if<SnakeDescription>(&robot))
    return {.iterations = 100, .medium = snake->medium};
  return {};
}

}  // namespace tendril
