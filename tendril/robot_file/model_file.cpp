#include "tendril/robot_file/model_file.hpp"

#include "tendril/robot_file/continuum_model.hpp"
#include "tendril/robot_file/controller_table.hpp"
#include "tendril/robot_file/mobile_model.hpp"
#include "tendril/robot_file/robot_file.hpp"
#include "tendril/robot_file/snake_model.hpp"
#include "tendril/robot_file/toml_fields.hpp"
#include "tendril/robot_file/tube_file.hpp"

namespace tendril {

ModelKind model_kind(std::string_view toml, const std::string& file_name) {
  const toml::table table = robot_file_detail::parse_toml(toml, file_name);
  const auto kind = table["kind"].value_or(std::string_view{});
  if (kind == "tube") return ModelKind::Tube;
  if (kind == "snake") return ModelKind::Snake;
  if (kind == "mobile") return ModelKind::Mobile;
  return ModelKind::Continuum;
}

std::string model_file_mjcf(std::string_view toml, const std::string& file_name) {
  const std::filesystem::path folder = std::filesystem::path(file_name).parent_path();
  switch (model_kind(toml, file_name)) {
    case ModelKind::Tube:
      return tube_mjcf(parse_tube(toml, file_name));
    case ModelKind::Snake: {
      SnakeDescription snake = parse_snake(toml, file_name);
      robot_file_detail::read_setting_files(snake.controller, folder);
      return snake_mjcf(snake);
    }
    case ModelKind::Mobile: {
      MobileDescription robot = parse_mobile(toml, file_name);
      robot_file_detail::read_setting_files(robot.controller, folder);
      read_arm_file(robot, folder);
      return mobile_mjcf(robot);
    }
    case ModelKind::Continuum:
      break;
  }
  RobotDescription robot = parse_robot(toml, file_name);
  read_setting_files(robot, folder);
  return continuum_mjcf(robot);
}

ControllerConfig model_controller(std::string_view toml, const std::string& file_name) {
  switch (model_kind(toml, file_name)) {
    case ModelKind::Tube:
      static_cast<void>(parse_tube(toml, file_name));
      return {};
    case ModelKind::Snake:
      return parse_snake(toml, file_name).controller;
    case ModelKind::Mobile:
      return parse_mobile(toml, file_name).controller;
    case ModelKind::Continuum:
      break;
  }
  return parse_robot(toml, file_name).controller;
}

std::string model_with_overrides(std::string_view toml, std::span<const RobotOverride> overrides,
                                 const std::string& file_name) {
  switch (model_kind(toml, file_name)) {
    case ModelKind::Tube:
      return std::string(toml);
    case ModelKind::Snake:
      return snake_with_overrides(toml, overrides, file_name);
    case ModelKind::Mobile:
      return mobile_with_overrides(toml, overrides, file_name);
    case ModelKind::Continuum:
      break;
  }
  return with_overrides(toml, overrides, file_name);
}

}  // namespace tendril
