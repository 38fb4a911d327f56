#pragma once

// Private to tendril/model: the document that all writers of MJCF fill.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tendril/model/controller_config.hpp"
#include "tendril/model/names.hpp"
#include "tendril/model/xml_node.hpp"

namespace tendril {

/// Contacts of robots are stiff: attributes of all their geoms.
[[nodiscard]] std::span<const XmlAttribute> stiff_contact();

/// Source of an actuator's command.
enum class CommandedBy {
  Controller,  ///< the robot's controller, if it has one
  User,        ///< `ctrl` or a motion of the experiment; no controller drives it
};

/// Contents of the keyframe `start`.
enum class Keyframe { None, Positions, PositionsAndCommands };

/// An MJCF document as a tree, with its sections in the order in which they are printed. Joints and
/// actuators bring their values in the keyframe with them: the keyframe is collected from the tree,
/// so that the order in which elements are added does not matter to it.
class MjcfDocument {
 public:
  /// @param file_kind  "robot" or "tube": file that the document is made from
  MjcfDocument(std::string_view file_kind, const std::string& name);

 private:
  std::string made_from_;
  XmlNode root_{"mujoco"};

 public:
  XmlNode &compiler, &option, &visual, &extension, &defaults, &asset;
  XmlNode &worldbody, &deformable, &contact, &equality, &tendon, &actuator, &sensor;
  Keyframe keyframe = Keyframe::None;

  /// Sets the options that models of robots are made for. `iterations` 0: the engine's default.
  void set_options(int iterations, std::string_view integrator = "discrete",
                   double timestep = 0.002);

  /// Adds the controller's plugin instance and its configuration, one sensor for each of the names,
  /// and the plugin of the body `base`; nothing without a controller.
  /// @param arm_text  config `arm`; empty: there is none
  void add_controller(const ControllerConfig& controller, XmlNode& base,
                      const std::string& robot_text, std::span<const std::string> sensor_names,
                      const std::string& arm_text = {});

  /// Adds a joint to a body, with its position in the keyframe.
  XmlNode& add_joint(XmlNode& body, std::initializer_list<XmlAttribute> attributes, XmlText qpos0);
  XmlNode& add_free_joint(XmlNode& body, XmlText qpos0);

  /// Adds an actuator with its command in the keyframe. One with dynamics (`dyntype`) starts with
  /// its command as its activation.
  XmlNode& add_actuator(std::string_view tag, std::initializer_list<XmlAttribute> attributes,
                        XmlText ctrl0, CommandedBy by = CommandedBy::Controller);
  /// The same on the joint or tendon of its name.
  XmlNode& add_joint_servo(const std::string& name, double kp, double limit, XmlText ctrl0);
  /// @param transmission  "joint" or "tendon"
  XmlNode& add_motor(const std::string& name, std::string_view transmission, double limit,
                     XmlText ctrl0);

  void exclude(const std::string& body1, const std::string& body2);

  /// Declares the body `base` as a robot's.
  void declare_robot();

  /// Names of the actuators that controllers drive.
  [[nodiscard]] std::vector<std::string> driven_actuators() const;
  /// Position of a hinge or a slide in the keyframe [rad], [m].
  [[nodiscard]] double start_position(const XmlNode& joint) const;

  /// The document, once it is complete; sections without elements are left out.
  [[nodiscard]] std::string text();

 private:
  void collect_positions(const XmlNode& body, std::string& qpos) const;
  void write_keyframe();

  XmlNode &keyframe_, &custom_;
  std::unordered_map<const XmlNode*, std::string> start_;  // of joints and actuators
  std::unordered_set<const XmlNode*> commanded_by_user_;
};

/// Adds the inertia of a carriage, that of a sphere.
void add_carriage_inertia(XmlNode& carriage, double mass);

/// Adds the body `payload` with its geom: a sphere that touches nothing, its middle at `position`.
void add_payload(XmlNode& body, std::initializer_list<double> position, double mass, double radius);

}  // namespace tendril
