#include "tendril/model/mjcf_document.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace tendril {
namespace {

void append(std::string& numbers, const std::string& more) {
  if (!numbers.empty()) numbers += ' ';
  numbers += more;
}

}  // namespace

std::span<const XmlAttribute> stiff_contact() {
  static const XmlAttributes attributes{{"solref", "0.004 1"}, {"solimp", "0.95 0.99 0.0005"}};
  return attributes;
}

MjcfDocument::MjcfDocument(std::string_view file_kind, const std::string& name)
    : made_from_(
          fmt::format("{}{} file by: tendril model {}.toml (change that file, not this) -->\n",
                      kMadeFrom, file_kind, file_kind == "tube" ? "TUBE" : "ROBOT")),
      compiler(root_.add("compiler", {{"angle", "radian"}, {"autolimits", "true"}})),
      option(root_.add("option")),
      visual(root_.add("visual")),
      extension(root_.add("extension")),
      defaults(root_.add("default")),
      asset(root_.add("asset")),
      worldbody(root_.add("worldbody")),
      deformable(root_.add("deformable")),
      contact(root_.add("contact")),
      equality(root_.add("equality")),
      tendon(root_.add("tendon")),
      actuator(root_.add("actuator")),
      sensor(root_.add("sensor")),
      keyframe_(root_.add("keyframe")),
      custom_(root_.add("custom")) {
  root_.set("model", name);
}

void MjcfDocument::set_options(int iterations, std::string_view integrator, double timestep) {
  option.set("timestep", timestep)
      .set("integrator", integrator)
      .set("cone", "elliptic")
      .set("impratio", 10);
  if (iterations > 0) option.set("iterations", iterations);
}

void MjcfDocument::add_controller(const ControllerConfig& controller, XmlNode& base,
                                  const std::string& robot_text,
                                  std::span<const std::string> sensor_names,
                                  const std::string& arm_text) {
  if (controller.plugin.empty()) return;
  XmlNode& instance = extension.add("plugin", {{"plugin", controller.plugin}})
                          .add("instance", {{"name", names::kController}});
  const auto config = [&](const std::string& key, const std::string& value) {
    instance.add("config", {{"key", key}, {"value", value}});
  };
  config("robot", robot_text);
  if (!arm_text.empty()) config("arm", arm_text);
  for (const ControllerConfig::Setting& setting : controller.settings)
    config(setting.key, setting.value);
  base.add("plugin", {{"plugin", controller.plugin}, {"instance", names::kController}});
  for (const std::string& name : sensor_names)
    sensor.add("plugin",
               {{"name", name}, {"plugin", controller.plugin}, {"instance", names::kController}});
}

XmlNode& MjcfDocument::add_joint(XmlNode& body, std::initializer_list<XmlAttribute> attributes,
                                 XmlText qpos0) {
  XmlNode& joint = body.add("joint", attributes);
  start_.emplace(&joint, std::move(qpos0.text));
  return joint;
}

XmlNode& MjcfDocument::add_free_joint(XmlNode& body, XmlText qpos0) {
  XmlNode& joint = body.add("freejoint");
  start_.emplace(&joint, std::move(qpos0.text));
  return joint;
}

XmlNode& MjcfDocument::add_actuator(std::string_view tag,
                                    std::initializer_list<XmlAttribute> attributes, XmlText ctrl0,
                                    CommandedBy by) {
  XmlNode& node = actuator.add(tag, attributes);
  start_.emplace(&node, std::move(ctrl0.text));
  if (by == CommandedBy::User) commanded_by_user_.insert(&node);
  return node;
}

XmlNode& MjcfDocument::add_joint_servo(const std::string& name, double kp, double limit,
                                       XmlText ctrl0) {
  return add_actuator(
      "position", {{"name", name}, {"joint", name}, {"kp", kp}, {"forcerange", {-limit, limit}}},
      std::move(ctrl0));
}

XmlNode& MjcfDocument::add_motor(const std::string& name, std::string_view transmission,
                                 double limit, XmlText ctrl0) {
  return add_actuator("motor",
                      {{"name", name},
                       {transmission, name},
                       {"ctrlrange", {-limit, limit}},
                       {"forcerange", {-limit, limit}}},
                      std::move(ctrl0));
}

void MjcfDocument::exclude(const std::string& body1, const std::string& body2) {
  contact.add("exclude", {{"body1", body1}, {"body2", body2}});
}

void MjcfDocument::declare_robot() {
  visual.add("global", {{"offwidth", 1280}, {"offheight", 960}});
  custom_.add("tuple", {{"name", names::kRobot}})
      .add("element", {{"objtype", "body"}, {"objname", names::kBase}});
}

std::vector<std::string> MjcfDocument::driven_actuators() const {
  std::vector<std::string> driven;
  for (const auto& node : actuator.children())
    if (!commanded_by_user_.contains(node.get())) driven.push_back(*node->find("name"));
  return driven;
}

double MjcfDocument::start_position(const XmlNode& joint) const {
  const auto at = start_.find(&joint);
  return at == start_.end() ? 0.0 : std::strtod(at->second.c_str(), nullptr);
}

/// Collects positions as the engine orders joints: those of a body before those of its children.
void MjcfDocument::collect_positions(const XmlNode& body, std::string& qpos) const {
  for (const auto& child : body.children())
    if (const auto joint = start_.find(child.get()); joint != start_.end())
      append(qpos, joint->second);
  for (const auto& child : body.children())
    if (child->tag() == "body") collect_positions(*child, qpos);
}

void MjcfDocument::write_keyframe() {
  if (keyframe == Keyframe::None) return;
  std::string qpos, ctrl, act;
  collect_positions(worldbody, qpos);
  for (const auto& node : actuator.children()) {
    const std::string& command = start_.at(node.get());
    append(ctrl, command);
    if (node->find("dyntype") != nullptr) append(act, command);
  }
  XmlNode& key = keyframe_.add("key", {{"name", names::kStart}, {"qpos", qpos}});
  if (keyframe == Keyframe::PositionsAndCommands) {
    key.set("ctrl", ctrl);
    if (!act.empty()) key.set("act", act);
  }
}

std::string MjcfDocument::text() {
  write_keyframe();
  root_.erase_empty_children();
  std::string out = made_from_;
  root_.write(out);
  return out;
}

void add_carriage_inertia(XmlNode& carriage, double mass) {
  constexpr double kRadius = 0.05;  // [m]
  const double inertia = 0.4 * mass * kRadius * kRadius;
  carriage.add("inertial",
               {{"pos", {0, 0, 0}}, {"mass", mass}, {"diaginertia", {inertia, inertia, inertia}}});
}

void add_payload(XmlNode& body, std::initializer_list<double> position, double mass,
                 double radius) {
  body.add("body", {{"name", names::kPayload}, {"pos", position}})
      .add("geom", {{"name", names::kPayload},
                    {"type", "sphere"},
                    {"size", radius},
                    {"mass", mass},
                    {"contype", 0},
                    {"conaffinity", 0},
                    {"rgba", "0.35 0.35 0.38 1"}});
}

}  // namespace tendril
