#include "simulation/scene/scene_robot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "controllers/controller_kind.hpp"
#include "plugin/carrier.hpp"
#include "simulation/engine/engine.hpp"
#include "tendril/model/robot_mjcf.hpp"

namespace tendril::simulation {
namespace {

std::string config_of(const mjModel& model, int plugin, const char* key) {
  const char* const text = mj_getPluginConfig(&model, plugin, key);
  return text != nullptr ? text : "";
}

/// Whether an instance drives a robot.
bool drives_robot(const mjModel& model, int plugin) {
  return !config_of(model, plugin, "robot").empty();
}

/// Name of the body that a controller follows if its settings name none; empty: none.
std::string default_target(std::string_view controller) {
  for (const ControllerKind& kind : built_in_controllers()) {
    if (kind.name != controller) continue;
    for (const SettingInfo& setting : kind.settings)
      if (setting.name == std::string_view("target")) return setting.default_value;
  }
  return {};
}

/// Tells whether a description is that of these texts of an instance's configuration.
bool has_texts(const RobotDescription& robot, const std::string& text, const std::string& arm) {
  if (std::visit([](const auto& d) -> const std::string& { return d.text; }, robot) != text)
    return false;
  const auto* const mobile = std::get_if<MobileDescription>(&robot);
  return arm == (mobile != nullptr && mobile->mounted ? mobile->mounted->robot.text : "");
}

RobotDescription description_of(const mjModel& model, int plugin,
                                std::span<const RobotDescription> known) {
  const std::string text = config_of(model, plugin, "robot"), arm = config_of(model, plugin, "arm");
  const auto found = std::find_if(known.begin(), known.end(), [&](const RobotDescription& robot) {
    return has_texts(robot, text, arm);
  });
  if (found != known.end()) return *found;
  return parse_configured(text, arm);
}

}  // namespace

std::string SceneRobot::config(const mjModel& model, const char* key) const {
  return config_of(model, plugin, key);
}

std::vector<SceneRobot> robots_of(const mjModel& model, std::span<const RobotDescription> known) {
  std::vector<SceneRobot> robots;
  for (int i = 0; i < model.nplugin; ++i) {
    if (!drives_robot(model, i)) continue;
    SceneRobot robot;
    robot.names = robot_names(&model, i);
    robot.base = mj_name2id(&model, mjOBJ_BODY, robot.names(names::kBase).c_str());
    robot.plugin = i;
    if (const mjpPlugin* const plugin = mjp_getPluginAtSlot(model.plugin[i]))
      robot.controller = plugin->name;
    robot.target = config_of(model, i, "target");
    if (robot.target.empty()) robot.target = default_target(robot.controller);
    robot.target = scene_name(&model, robot.names, robot.target);
    robot.description = description_of(model, i, known);
    robots.push_back(std::move(robot));
  }
  return robots;
}

int find_controller(const mjModel& model, const RobotNames& names) {
  for (int i = 0; i < model.nplugin; ++i)
    if (drives_robot(model, i) && robot_names(&model, i) == names) return i;
  return -1;
}

std::vector<std::string> drivers_of(const mjModel& model, std::span<const SceneRobot> robots) {
  std::vector<std::string> drivers(static_cast<std::size_t>(model.nactuator));
  for (const SceneRobot& robot : robots) {
    const std::string label = robot.names.label();
    const std::string driver =
        robot.controller + (label.empty() ? "" : fmt::format(" of {}", label));
    std::vector<int> driven;
    for (const std::string& name : driven_actuators(robot.description))
      driven.push_back(mj_name2id(&model, mjOBJ_ACTUATOR, robot.names(name).c_str()));
    if (moves_carrier(robot.controller)) {
      const Carrier carrier(&model, robot.base);
      driven.insert(driven.end(), carrier.actuators.begin(), carrier.actuators.end());
    }
    for (const int i : driven)
      if (i >= 0) drivers[static_cast<std::size_t>(i)] = driver;
  }
  return drivers;
}

std::vector<std::string> distant_targets(const mjModel& model, const mjData& data,
                                         std::span<const SceneRobot> robots) {
  std::vector<std::string> lines;
  for (const SceneRobot& robot : robots) {
    const auto* const arm = std::get_if<ContinuumDescription>(&robot.description);
    const int goal =
        robot.target.empty() ? -1 : mj_name2id(&model, mjOBJ_BODY, robot.target.c_str());
    if (arm == nullptr || robot.base < 0 || goal < 0 || model.body_weldid[robot.base] != 0)
      continue;
    const double distance = mju_dist3(data.xpos + 3 * robot.base, data.xpos + 3 * goal);
    const double reach = arm->kinematics().max_length() + arm->base.feed_limit;
    if (distance > reach) {
      lines.push_back(fmt::format("target {} is {:.3g} m from {}: the arm reaches {:.3g} m",
                                  robot.target, distance, robot.names(names::kBase), reach));
    }
  }
  return lines;
}

}  // namespace tendril::simulation
