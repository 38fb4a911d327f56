#include "tendril/model/mjcf_writer.hpp"

namespace tendril {

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\r':
        escaped += "&#13;";
        break;
      case '\t':
        escaped += "&#9;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string number_text(double value) {
  return fmt::format("{:.12g}", value == 0.0 ? 0.0 : value);  // no "-0"
}

std::string exact(std::initializer_list<double> values) {
  std::string text;
  for (const double value : values)
    text += fmt::format("{}{}", text.empty() ? "" : " ", value == 0.0 ? 0.0 : value);
  return text;
}

void MjcfWriter::begin(std::string_view file_kind, const std::string& name, int iterations,
                       std::string_view integrator, double timestep,
                       std::string_view more_options) {
  line("<!-- Made from a {} file by: tendril model {}.toml (change that file, not this) -->",
       file_kind, file_kind == "tube" ? "TUBE" : "ROBOT");
  line("<mujoco model=\"{}\">", xml_escaped(name));
  line("  <compiler angle=\"radian\" autolimits=\"true\"/>");
  const std::string count =
      iterations == 0 ? std::string() : fmt::format(" iterations=\"{}\"", iterations);
  line("  <option timestep=\"{}\" integrator=\"{}\" cone=\"elliptic\" impratio=\"10\"{}{}/>",
       timestep, integrator, count, more_options);
  if (file_kind == "robot")
    line("  <visual>\n    <global offwidth=\"1280\" offheight=\"960\"/>\n  </visual>");
}

void MjcfWriter::extension(const ControllerConfig& controller, const std::string& robot_text,
                           const std::string* arm_text) {
  if (controller.plugin.empty()) return;
  const auto config = [this](std::string_view key, std::string_view value) {
    line("        <config key=\"{}\" value=\"{}\"/>", xml_escaped(key), xml_escaped(value));
  };
  line("  <extension>\n    <plugin plugin=\"{}\">", xml_escaped(controller.plugin));
  line("      <instance name=\"{}\">", names::kController);
  config("robot", robot_text);
  if (arm_text != nullptr) config("arm", *arm_text);
  for (const ControllerConfig::Setting& setting : controller.settings)
    config(setting.key, setting.value);
  line("      </instance>\n    </plugin>\n  </extension>");
}

void MjcfWriter::controller_plugin(const ControllerConfig& controller) {
  if (controller.plugin.empty()) return;
  line("      <plugin plugin=\"{}\" instance=\"{}\"/>", xml_escaped(controller.plugin),
       names::kController);
}

void MjcfWriter::sensors(const ControllerConfig& controller, std::span<const std::string> names) {
  if (controller.plugin.empty() || names.empty()) return;
  line("  <sensor>");
  for (const std::string& name : names) {
    line("    <plugin name=\"{}\" plugin=\"{}\" instance=\"{}\"/>", name,
         xml_escaped(controller.plugin), names::kController);
  }
  line("  </sensor>");
}

void MjcfWriter::exclude(const std::string& body1, const std::string& body2) {
  line("    <exclude body1=\"{}\" body2=\"{}\"/>", body1, body2);
}

void MjcfWriter::carriage_inertia(double mass) {
  constexpr double kRadius = 0.05;  // [m]
  line("      <inertial pos=\"0 0 0\" mass=\"{0}\" diaginertia=\"{1} {1} {1}\"/>", mass,
       0.4 * mass * kRadius * kRadius);
}

void MjcfWriter::position_servo(const std::string& name, double kp, double limit,
                                const std::string& attributes) {
  line("    <position name=\"{0}\" joint=\"{0}\" kp=\"{1}\" {2} forcerange=\"-{3} {3}\"/>", name,
       kp, attributes, limit);
}

void MjcfWriter::keyframe(const std::string& qpos, const std::string& ctrl,
                          const std::string& act) {
  std::string commands = ctrl.empty() ? "" : fmt::format(" ctrl=\"{}\"", ctrl);
  if (!act.empty()) commands += fmt::format(" act=\"{}\"", act);
  line("  <keyframe>\n    <key name=\"{}\" qpos=\"{}\"{}/>\n  </keyframe>", names::kStart, qpos,
       commands);
}

std::string MjcfWriter::end() {
  line("  <custom>\n    <tuple name=\"{}\">", names::kRobot);
  line("      <element objtype=\"body\" objname=\"{}\"/>\n    </tuple>\n  </custom>", names::kBase);
  return end_without_robot();
}

std::string MjcfWriter::end_without_robot() {
  line("</mujoco>");
  return std::move(text_);
}

}  // namespace tendril
