#pragma once

// Private to tendril/model: what all writers of MJCF documents share.

#include <fmt/format.h>

#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tendril/model/controller_config.hpp"
#include "tendril/model/robot_mjcf.hpp"

namespace tendril {

/// The text as it stands between double quotes of an XML attribute; line breaks and tabs survive as
/// character references (a parser would turn them into spaces).
[[nodiscard]] std::string xml_escaped(std::string_view text);

/// A number as the documents print it: twelve digits, without rounding noise such as
/// 0.0050000000000000001.
[[nodiscard]] std::string number_text(double value);

/// Numbers with all their digits, separated by spaces: to be the library's to the last bit.
[[nodiscard]] std::string exact(std::initializer_list<double> values);

/// Contacts of robots are stiff: solref and solimp of all geoms.
inline constexpr std::string_view kStiffContact = "solref=\"0.004 1\" solimp=\"0.95 0.99 0.0005\"";

/// Writes an MJCF document line by line.
class MjcfWriter {
 public:
  /// A line; numbers go through number_text, all else is itself.
  template <class... Args>
  void line(std::string_view format, const Args&... args) {
    fmt::vformat_to(std::back_inserter(text_), format, fmt::make_format_args(printed(args)...));
    text_ += '\n';
  }
  void raw(std::string_view text) { text_ += text; }

  /// From the comment that names the command to the options. `iterations` 0: the engine's default.
  void begin(std::string_view file_kind, const std::string& name, int iterations,
             std::string_view integrator = "discrete", double timestep = 0.002,
             std::string_view more_options = {});
  /// The controller's plugin instance and its configuration; nothing without a controller.
  void extension(const ControllerConfig& controller, const std::string& robot_text,
                 const std::string* arm_text = nullptr);
  /// Inside the body `base`: the controller acts here.
  void controller_plugin(const ControllerConfig& controller);
  /// A plugin sensor for each name.
  void sensors(const ControllerConfig& controller, std::span<const std::string> names);
  void exclude(const std::string& body1, const std::string& body2);
  /// The carriage's inertia: a ball's.
  void carriage_inertia(double mass);
  /// `<position name=N joint=N kp=.. ... forcerange="-limit limit"/>`; `attributes`: the rest.
  void position_servo(const std::string& name, double kp, double limit,
                      const std::string& attributes);
  /// `act`: activations of actuators with dynamics.
  void keyframe(const std::string& qpos, const std::string& ctrl, const std::string& act = {});
  /// Declares the body `base` as a robot's, and closes the document.
  [[nodiscard]] std::string end();
  /// Closes a document that holds no robot.
  [[nodiscard]] std::string end_without_robot();

 private:
  template <class T>
  [[nodiscard]] static decltype(auto) printed(const T& argument) {
    if constexpr (std::is_floating_point_v<T>) {
      return number_text(argument);
    } else {
      return (argument);
    }
  }
  std::string text_;
};

}  // namespace tendril
