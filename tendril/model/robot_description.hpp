#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/mobile/description.hpp"
#include "tendril/model/shell/description.hpp"
#include "tendril/model/snake/description.hpp"
#include "tendril/model/tube/description.hpp"
#include "tendril/model/value.hpp"

namespace tendril {

template <RobotKind... Kinds>
struct RobotKindList {
  using Robot = std::variant<Kinds...>;
  using Model = std::variant<Kinds..., TubeDescription, ShellDescription>;
};
using RobotKinds = RobotKindList<ContinuumDescription, SnakeDescription, MobileDescription>;

/// What a robot file describes, by its `kind`.
using RobotDescription = RobotKinds::Robot;

/// What a TOML model file describes: a robot, a tube or a shell.
using ModelDescription = RobotKinds::Model;

/// Gives the text of a file by the name that another file has for it. Throws ModelError.
using FileReader = std::function<std::string(const std::string& name)>;

/// Reads files whose names are relative to `folder`.
[[nodiscard]] FileReader files_in(const std::filesystem::path& folder);

/// Reads a model file from TOML text, once: overrides act before the fields are read, files that it
/// names (an arm on a platform, texts of settings) are read through `read`; the default takes them
/// relative to the folder of `file_name`.
///
/// Unknown keys, wrong types and values outside their range are refused with a ModelError
/// `<file_name>:<line>: <object>: <key> = <value>: <what is allowed>`, for instance
/// `arm.toml:7: section 2: bend_limit = 0: must be in (0, 2 pi]`; text that is not TOML with
/// `<file_name>:<line>:<column>: <reason>`. What an override causes begins with its
/// origin.
[[nodiscard]] ModelDescription parse_model(std::string_view toml, const std::string& file_name,
                                           std::span<const Override> overrides = {},
                                           const FileReader& read = {});

/// Reads the file and parses it; a file that cannot be read is a ModelError too.
[[nodiscard]] ModelDescription load_model(const std::filesystem::path& file,
                                          std::span<const Override> overrides = {});

/// The same for one kind; the others are refused by name.
[[nodiscard]] ModelDescription parse_kind(std::string_view kind, std::string_view toml,
                                          const std::string& file_name,
                                          std::span<const Override> overrides = {},
                                          const FileReader& read = {});
[[nodiscard]] ModelDescription load_kind(std::string_view kind, const std::filesystem::path& file,
                                         std::span<const Override> overrides = {});
template <class D>
[[nodiscard]] D parse_as(std::string_view toml, const std::string& file_name,
                         std::span<const Override> overrides = {}, const FileReader& read = {}) {
  return std::get<D>(parse_kind(D::kKind, toml, file_name, overrides, read));
}
template <class D>
[[nodiscard]] D load_as(const std::filesystem::path& file,
                        std::span<const Override> overrides = {}) {
  return std::get<D>(load_kind(D::kKind, file, overrides));
}

/// The same for a robot; a tube or a shell is refused.
[[nodiscard]] RobotDescription parse_robot(std::string_view toml, const std::string& file_name,
                                           std::span<const Override> overrides = {},
                                           const FileReader& read = {});
[[nodiscard]] RobotDescription load_robot(const std::filesystem::path& file,
                                          std::span<const Override> overrides = {});

/// "continuum", "snake", "mobile", "tube" or "shell".
[[nodiscard]] std::string_view kind_name(const ModelDescription& model);

[[nodiscard]] const ControllerConfig& controller_of(const RobotDescription& robot);
[[nodiscard]] ControllerConfig& controller_of(RobotDescription& robot);
[[nodiscard]] std::span<const RobotSensor> sensors_of(const RobotDescription& robot);

/// Reads the robot that a controller's configuration holds as texts: its own, and that of an arm on
/// a platform. Settings have the texts of their files already, and the model has the skin, so no
/// file is read.
[[nodiscard]] RobotDescription parse_configured(const std::string& text,
                                                const std::string& arm_text);

/// The text of a robot file without some settings of its controller.
[[nodiscard]] std::string without_controller_settings(const std::string& toml,
                                                      const std::vector<std::string>& keys);
/// Takes settings out of a robot's controller, and out of its text.
template <class D>
void erase_controller_settings(D& robot, const std::vector<std::string>& keys) {
  std::erase_if(robot.controller.settings, [&](const ControllerConfig::Setting& setting) {
    return std::find(keys.begin(), keys.end(), setting.key) != keys.end();
  });
  robot.text = without_controller_settings(robot.text, keys);
}

/// The robot, or null for a tube or a shell.
[[nodiscard]] std::optional<RobotDescription> as_robot(const ModelDescription& model);

}  // namespace tendril
