#include "tendril/model/robot_mjcf.hpp"

#include "tendril/model/mjcf_document.hpp"

namespace tendril {

std::string model_mjcf(const ModelDescription& model, std::span<const std::string> sensors) {
  if (const auto* const tube = std::get_if<TubeDescription>(&model)) return tube_mjcf(*tube);
  if (const auto* const shell = std::get_if<ShellDescription>(&model)) return shell_mjcf(*shell);
  const RobotDescription robot = *as_robot(model);
  MjcfDocument mjcf("robot", std::visit([](const auto& d) { return d.name; }, robot));
  std::visit([&](const auto& d) { d.write(mjcf, sensors); }, robot);
  return mjcf.text();
}

std::vector<std::string> driven_actuators(const RobotDescription& robot) {
  MjcfDocument mjcf("robot", "");
  std::visit([&](const auto& d) { d.write(mjcf, {}); }, robot);
  return mjcf.driven_actuators();
}

EngineNeeds engine_needs(const RobotDescription& robot) {
  return std::visit(
      [](const auto& d) {
        if constexpr (requires { d.engine_needs(); })
          return d.engine_needs();
        else
          return EngineNeeds();
      },
      robot);
}

}  // namespace tendril
