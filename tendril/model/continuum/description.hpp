#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/model/continuum/base.hpp"
#include "tendril/model/continuum/chambers.hpp"
#include "tendril/model/continuum/drives.hpp"
#include "tendril/model/continuum/gripper.hpp"
#include "tendril/model/continuum/guide.hpp"
#include "tendril/model/continuum/links.hpp"
#include "tendril/model/continuum/part.hpp"
#include "tendril/model/continuum/payload.hpp"
#include "tendril/model/continuum/section.hpp"
#include "tendril/model/continuum/skin.hpp"
#include "tendril/model/continuum/start.hpp"
#include "tendril/model/continuum/suction.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/continuum/tendons.hpp"
#include "tendril/model/continuum/tip_camera.hpp"
#include "tendril/model/controller_config.hpp"
#include "tendril/model/medium.hpp"
#include "tendril/model/robot_kind.hpp"
#include "tendril/model/sensor.hpp"

namespace tendril {

/// Integrators of the engine that suit an arm's stiff joints.
enum class Integrator {
  Discrete,      ///< springs by backward Euler; contacts see them
  ImplicitFast,  ///< springs explicit, their damping implicit; joints have an armature
};

/// A robot file of kind = "continuum", parsed and validated. What its tables say is in the
/// headers of the parts.
struct ContinuumDescription {
  std::string name = "arm";
  Compliance compliance = Compliance::Section;
  bool self_collision = false;
  /// Options of the file for the model alone; whoever knows the scene's sets these.
  Integrator integrator = Integrator::Discrete;
  double timestep = 0.002;  ///< [s], > 0
  /// Time that the integrator adds to the damping_time of a spring or servo [s]: the timestep of
  /// `discrete`, else 0. Joints, servos and tendons have as much less damping, where there is
  /// enough. Of the same options.
  double numerical_damping_time = 0.002;
  /// The damping time to write for one of the file, without what the integrator adds [s].
  [[nodiscard]] double written_damping_time(double damping_time) const {
    return std::max(damping_time - numerical_damping_time, 0.0);
  }
  BaseParameters base;
  BasePhysics base_physics;
  Guide guide;
  std::vector<SectionParameters> sections;
  std::vector<SectionPhysics> physics;  ///< one per section
  std::vector<Tendon> tendons;
  std::vector<Chamber> chambers;
  std::optional<Medium> medium;
  std::vector<std::shared_ptr<const ArmPart>> parts;  ///< that it carries
  std::optional<StartPose> start;
  std::vector<RobotSensor> sensors;
  ControllerConfig controller;
  std::string text;  ///< the TOML it was read from

  /// Returns whether every section bends in the x-z plane of the base only.
  [[nodiscard]] bool is_planar() const noexcept;

  [[nodiscard]] ContinuumRobot kinematics() const { return ContinuumRobot(sections, base); }

  static constexpr const char* kKind = "continuum";
  static constexpr const char* kWhat = "a continuum robot";
  [[nodiscard]] static ContinuumDescription read(const FileContents& file);
  void write(MjcfDocument& mjcf, std::span<const std::string> sensors) const;
  [[nodiscard]] EngineNeeds engine_needs() const;
  [[nodiscard]] Surroundings surroundings() const;

  /// The part of a kind, null if the arm has none: `robot.part<Gripper>()`.
  template <class Part>
  [[nodiscard]] const Part* part() const {
    for (const auto& one : parts)
      if (const auto* const found = dynamic_cast<const Part*>(one.get())) return found;
    return nullptr;
  }
};

/// Length of the whole straight arm, variable lengths at half their range [m].
[[nodiscard]] double rest_length(const ContinuumDescription& robot);

/// Length of the sections that a route runs through, straight [m].
[[nodiscard]] double rest_length(const ContinuumDescription& robot, const TendonRoute& route);

/// Returns the largest radius of the arm's sections [m].
[[nodiscard]] double largest_radius(const ContinuumDescription& robot);

}  // namespace tendril
