#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <span>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// How a section is driven in physics.
enum class Compliance {
  Section,  ///< two fixed tendons over all hinges of a section: exactly equal moments along the section
  Link,     ///< one servo on every hinge: cheaper with integrator "discrete", stiffer shape
};

/// Physics of one section; the kinematics are in `SectionParameters`.
struct SectionPhysics {
  int links = 10;                    ///< rigid links that stand for the section, 1..200
  double radius = 0.008;             ///< of the body [m]
  double mass = 0.07;                ///< [kg]
  double bending_stiffness = 0.05;   ///< EI [N m^2]
  double damping_time = 0.02;        ///< Kelvin-Voigt time: damping / stiffness of every hinge [s], > 0
  double axial_stiffness = 2000.0;   ///< of the whole section, variable length only [N/m]
  double bend_gain = 20.0;           ///< section servo kp [N m/rad]
  double bend_damping_time = 0.05;   ///< kv / kp of the section servo [s]
  double bend_torque_limit = 3.0;    ///< [N m]
  double length_gain = 2.0e4;        ///< servo of the variable length [N/m]
  double length_damping_time = 0.02; ///< kv / kp [s]
  double length_force_limit = 200.0; ///< [N]
};

/// Physics of the base feed and spin.
struct BasePhysics {
  double carriage_mass = 1.0;      ///< [kg]
  double feed_gain = 2.0e4;        ///< [N/m]
  double feed_force_limit = 30.0;  ///< [N]
  double spin_gain = 50.0;         ///< [N m/rad]
  double spin_torque_limit = 5.0;  ///< [N m]
};

/// The [controller] table: plugin name and its settings as the plugin's config strings, in file order.
struct ControllerConfig {
  std::string plugin;  ///< empty: no controller, the servos stay under the user's ctrl
  std::vector<std::pair<std::string, std::string>> settings;  ///< arrays become numbers separated by spaces
};

/// A robot file, parsed and validated. kind = "continuum".
struct RobotDescription {
  std::string name = "arm";
  Compliance compliance = Compliance::Section;
  bool self_collision = false;
  BaseParameters base;
  BasePhysics base_physics;
  std::vector<SectionParameters> sections;
  std::vector<SectionPhysics> physics;  ///< one per section
  ControllerConfig controller;
  std::string text;  ///< the TOML it was read from

  [[nodiscard]] ContinuumRobot kinematics() const { return ContinuumRobot(sections, base); }
};

/// Reads a robot from TOML text. Unknown keys, wrong types and values outside their range are refused with a ModelError
/// `<file_name>:<line>: <field>: <value>: <what is allowed>`.
[[nodiscard]] RobotDescription parse_robot(std::string_view toml, const std::string& file_name);

/// Reads the file and parses it; a file that cannot be read is a ModelError too.
[[nodiscard]] RobotDescription load_robot(const std::filesystem::path& file);

/// One change to a robot file's text before it is parsed: `section.2.bending_stiffness`, `section.*.links`,
/// `base.feed`, `controller.integral_gain`, `compliance`; the value is TOML text ("0.2", "[0, 1]", "\"link\"", a bare word is a string).
struct RobotOverride {
  std::string key;
  std::string value;
};

/// The TOML text with the overrides applied (formatting and comments are not kept). Throws ModelError for a key that
/// names nothing that the file format knows.
[[nodiscard]] std::string with_overrides(std::string_view toml, std::span<const RobotOverride> overrides,
                                         const std::string& file_name);

}  // namespace tendril
