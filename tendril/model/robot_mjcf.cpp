#include "tendril/model/robot_mjcf.hpp"

#include <algorithm>

#include "tendril/model/writers.hpp"

namespace tendril {
namespace {

struct Writer {
  MjcfDocument& mjcf;
  std::span<const std::string> sensors;
  void operator()(const ContinuumDescription& d) const { write_continuum(d, mjcf, sensors); }
  void operator()(const SnakeDescription& d) const { write_snake(d, mjcf, sensors); }
  void operator()(const MobileDescription& d) const { write_mobile(d, mjcf, sensors); }
};

}  // namespace

std::string model_mjcf(const ModelDescription& model, std::span<const std::string> sensors) {
  if (const auto* const tube = std::get_if<TubeDescription>(&model)) return tube_mjcf(*tube);
  const RobotDescription robot = *as_robot(model);
  MjcfDocument mjcf("robot", std::visit([](const auto& d) { return d.name; }, robot));
  std::visit(Writer{mjcf, sensors}, robot);
  return mjcf.text();
}

std::vector<std::string> driven_actuators(const RobotDescription& robot) {
  MjcfDocument mjcf("robot", "");
  std::visit(Writer{mjcf, {}}, robot);
  return mjcf.driven_actuators();
}

EngineNeeds engine_needs(const RobotDescription& robot) {
  if (const auto* const arm = std::get_if<ContinuumDescription>(&robot)) {
    const bool flat = std::any_of(arm->parts.begin(), arm->parts.end(),
                                  [](const auto& part) { return part->has_flat_faces(); });
    return {.iterations = solver_iterations(*arm), .medium = arm->medium, .flat_contacts = flat};
  }
  if (const auto* snake = std::get_if<SnakeDescription>(&robot))
    return {.iterations = 100, .medium = snake->medium};
  const auto& mobile = std::get<MobileDescription>(robot);
  return mobile.mounted ? engine_needs(mobile.mounted->robot) : EngineNeeds();
}

}  // namespace tendril
