#pragma once

#include <mujoco/mujoco.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tendril::simulation {

/// Returns a line for each orientation and range of a scene whose unit is probably another one than
/// its compiler's: more than a turn in rad, or parts of pi in degrees.
[[nodiscard]] std::vector<std::string> implausible_angles(mjSpec& spec);

/// Numbers of a keyframe as they are written, before the engine makes it as long as the model.
struct KeyframeSizes {
  std::string name;
  int qpos = 0, qvel = 0, ctrl = 0, mpos = 0, mquat = 0;  ///< 0: not given
};
[[nodiscard]] std::vector<KeyframeSizes> keyframe_sizes(mjSpec& spec);

/// Returns a line for each keyframe that has fewer or more numbers than the model, by its name:
/// `keyframe home: qpos has 7 numbers, the model 27: ...`.
[[nodiscard]] std::map<std::string, std::string> unlike_keyframes(
    const std::vector<KeyframeSizes>& written, const mjModel& model);

}  // namespace tendril::simulation
