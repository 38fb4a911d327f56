#include "tendril/model/robot_mjcf.hpp"

#include <algorithm>

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

bool is_driven(const RobotDescription& robot, std::string_view actuator) {
  struct CoordinateQuery {
    std::string_view name;
    bool operator()(const ContinuumDescription& arm) const {
      if (name == names::kFeed || name == names::kSpin) return true;
      for (std::size_t i = 0; i < arm.sections.size(); ++i) {
        const int section = static_cast<int>(i) + 1;
        if (name == names::length(section)) return true;
        for (const char axis : {'x', 'y'}) {
          if (name == names::bend(section, axis)) return true;
          for (int j = 1; j <= arm.physics[i].links; ++j)
            if (name == names::hinge(section, j, axis)) return true;
        }
      }
      return std::any_of(arm.tendons.begin(), arm.tendons.end(),
                         [&](const Tendon& tendon) { return tendon.name == name; });
    }
    bool operator()(const SnakeDescription& snake) const {
      if (name == names::kFeed) return true;
      for (int j = 1; j <= snake.joints; ++j)
        if (name == names::snake_joint(j)) return true;
      return false;
    }
    bool operator()(const MobileDescription& mobile) const {
      if (name == names::kPlatformX || name == names::kPlatformY || name == names::kHeading)
        return true;
      if (mobile.mounted) return false;
      for (int j = 1; j <= mobile.kinematics().joint_count(); ++j)
        if (name == names::arm_joint(j)) return true;
      return false;
    }
  };
  return std::visit(CoordinateQuery{actuator}, robot);
}

EngineNeeds engine_needs(const RobotDescription& robot) {
  if (const auto* arm = std::get_if<ContinuumDescription>(&robot))
    return {.iterations = solver_iterations(*arm),
            .medium = arm->medium,
            .flat_contacts = arm->tip.suction > 0.0 || arm->gripper.has_value()};
  if (const auto* snake = std::get_if<SnakeDescription>(&robot))
    return {.iterations = 100, .medium = snake->medium};
  const auto& mobile = std::get<MobileDescription>(robot);
  return mobile.mounted ? engine_needs(mobile.mounted->robot) : EngineNeeds();
}

}  // namespace tendril
