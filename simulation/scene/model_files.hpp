#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/engine/setting.hpp"
#include "simulation/scene/virtual_files.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril::simulation {

/// A robot, tube or shell file of a scene, read once.
struct ModelFile {
  std::string name;  ///< as written in the scene
  std::filesystem::path path;
  ModelDescription model;
  /// Path by which the engine asks for it: of a robot with settings of its own, another one.
  std::filesystem::path engine_path = path;

  /// The robot; nothing for a tube or a shell.
  [[nodiscard]] std::optional<RobotDescription> robot() const { return as_robot(model); }
  /// The MJCF of the file, with a sensor for every quantity reported by its controller.
  [[nodiscard]] std::string mjcf() const;
  /// The text as a recording keeps it: of a robot with its settings, of others that of the file.
  [[nodiscard]] std::string text() const;
  /// The continuum arm: the robot, or what a platform carries. Null if there is none.
  [[nodiscard]] ContinuumDescription* arm();
  /// Whether its MJCF attaches the model of another file: a platform that of its arm.
  [[nodiscard]] bool names_files() const;
  /// Takes away the controllers of the robot and of an arm that it carries.
  void erase_controllers();
};

/// Reads a robot, tube or shell file; overrides act on robots. Throws ModelError, also for a
/// controller whose plugin is not loaded or does not know a setting.
[[nodiscard]] ModelFile read_model_file(std::string name, std::filesystem::path path,
                                        std::span<const Override> overrides);

/// Hands the engine the texts that have been read, so that it does not read the files again.
void set_files(const ModelFile& file, VirtualFiles& files);

/// Gives the controllers of robots with sensors the seed of the readings.
void set_sensor_seed(std::uint64_t seed, std::vector<ModelFile>& models);

/// Throws ModelError for a sensor whose rate or delay this timestep [s] does not allow.
void require_sampled(const std::vector<ModelFile>& models, double timestep);

/// Writes an arm for an integrator, with its own timestep.
void set_integrator(ContinuumDescription& arm, Integrator integrator);

/// Writes the arms for these options: their damping and armature depend on integrator and timestep.
/// Returns whether that changes any.
bool set_integration(const mjOption& option, std::vector<ModelFile>& models);

}  // namespace tendril::simulation
