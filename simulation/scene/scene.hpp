#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulation/engine/engine.hpp"
#include "simulation/engine/setting.hpp"
#include "simulation/scene/scene_robot.hpp"
#include "tendril/fault.hpp"

namespace tendril::simulation {

/// A compiled scene with everything stored in a recording.
struct Scene {
  SpecPtr spec;  ///< of `model` before its settings
  ModelPtr model;
  std::map<std::string, std::string> source_files;  ///< scene, included and robot files as read, by
                                                    ///< name; robot files with their settings
  std::vector<SceneRobot> robots;                   ///< those that controllers drive
  std::vector<std::string> notices;                 ///< messages for the user, one line each
  /// Keyframes that have fewer or more numbers than the model, with a line about each.
  std::map<std::string, std::string> unlike_keyframes;
};

/// A sensor without an object: numbers that whoever steps the scene writes to `sensordata`.
struct AddedSensor {
  std::string name;
  int dimension = 1;
};

/// Loads MJCF (with robots attached through the decoder plugin) or a lone robot file, applies the
/// settings (but not `motion.*`) and checks integrator, cone and iterations against what the robots
/// need. Calls load_engine. A lone robot is placed at the world's origin; if its
/// controller names a target, a mocap body of that name is added near the tip. A scene
/// without a sky gets what images need (add_default_visuals). Throws ModelError: `file: field:
/// value: what is allowed`.
/// @param faults  those of measurements are handed to the controllers, delays of actuators to the
///                engine; the others: PhysicalFaults
/// @param seed    of the draws of faults and sensors
[[nodiscard]] Scene load_scene(const std::filesystem::path& file,
                               std::span<const Setting> settings = {},
                               std::span<const Fault> faults = {}, std::uint64_t seed = 0,
                               std::span<const AddedSensor> sensors = {});

/// Returns the scene with its settings as one MJCF text, as recordings have it. Empty, with a
/// notice, if the engine cannot write it.
/// @param model  that of the scene, wherever it is now
[[nodiscard]] std::string flattened(const Scene& scene, const mjModel& model,
                                    std::vector<std::string>& notices);

/// MJCF of a lone robot, tube or shell file as attached by a scene, with a sensor for every
/// quantity reported by the robot's controller, and notices as those of a scene. Calls load_engine.
/// Throws ModelError as load_scene.
struct ModelText {
  std::string mjcf;
  std::vector<std::string> notices;
};
[[nodiscard]] ModelText model_file_mjcf(const std::filesystem::path& file);

/// MJCF of a robot, tube or scene file without the controllers of its robots: a MuJoCo program
/// loads it without Tendril's library. A scene has its robots, a platform its arm, as
/// bodies, and numbers of six digits, as the engine writes them; meshes are named as in the scene.
/// Plugins that a scene itself names stay. Calls load_engine. Throws ModelError as load_scene.
/// @param integrator  of the model, and the one that its damping is for; none: that of the file
[[nodiscard]] ModelText plain_mjcf(const std::filesystem::path& file,
                                   std::optional<Integrator> integrator = {});

}  // namespace tendril::simulation
