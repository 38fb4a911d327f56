#pragma once

#include <mujoco/mujoco.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tendril {

/// What is before and after the names of a robot's elements in a model: `<attach
/// prefix="A_"/>`, or `mjs_attach` with a prefix and a suffix. Any text can be either.
struct RobotNames {
  std::string prefix, suffix;

  /// Returns the name of an element, "A_" + "base" + "".
  [[nodiscard]] std::string operator()(std::string_view element) const;
  /// Returns the element with this name; nothing if it is none of the robot's.
  [[nodiscard]] std::optional<std::string_view> element(std::string_view name) const noexcept;
  /// Returns what tells the robot from others, as experiments name it: prefix and suffix.
  [[nodiscard]] std::string label() const { return prefix + suffix; }
  /// Returns the label for people, without the characters that join it to names; "robot" if nothing
  /// is left.
  [[nodiscard]] std::string title() const;
  bool operator==(const RobotNames&) const = default;
};

/// Returns the index of an element that the robot must have. Throws ModelError.
[[nodiscard]] int require_element(const mjModel* m, const RobotNames& names, mjtObj type,
                                  const std::string& element);

/// Splits a name at the first occurrence of `word` for which `fits` holds; nothing without one.
[[nodiscard]] std::optional<RobotNames> split_name(
    std::string_view name, std::string_view word,
    const std::function<bool(const RobotNames&)>& fits);

/// Returns the names of the robot that an instance of a controller drives: those with which its
/// base is a body of the model. Reads a model that is being compiled, too, which cannot be searched
/// by name.
[[nodiscard]] RobotNames robot_names(const mjModel* m, int instance);
/// Returns the name of a body, geom or site of the scene that a setting of a robot means: the name
/// with what the robot's names have before and after, if the scene has that and it is not a part of
/// the robot itself; else as written.
[[nodiscard]] std::string scene_name(const mjModel* m, const RobotNames& names,
                                     std::string_view written);
/// The same of names separated by white space.
[[nodiscard]] std::string scene_names(const mjModel* m, const RobotNames& names,
                                      std::string_view written);
/// Returns the name of an instance's sensor without what the robot's names have before and after.
[[nodiscard]] std::string sensor_quantity(const mjModel* m, int instance, int sensor);
/// Returns the quantity that a sensor shows if it is a controller's; nothing for one of the scene.
[[nodiscard]] std::optional<std::string> shown_quantity(const mjModel* m, int sensor);

}  // namespace tendril
