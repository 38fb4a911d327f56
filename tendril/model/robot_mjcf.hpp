#pragma once

#include <span>
#include <string>
#include <vector>

#include "tendril/model/continuum/mjcf.hpp"
#include "tendril/model/mobile/mjcf.hpp"
#include "tendril/model/robot_description.hpp"
#include "tendril/model/shell/mjcf.hpp"
#include "tendril/model/snake/mjcf.hpp"
#include "tendril/model/tube/mjcf.hpp"

namespace tendril {

/// The MJCF document of a description; what its kind writes. Complete: it loads alone
/// and attaches by its body `base` (a tube: `tube`, a shell: `shell`). The same description gives
/// the same text.
///
/// With a controller the document holds its plugin instance `controller` with the config keys
/// `robot` (the TOML text), `arm` (that of a continuum arm on a platform) and the settings of the
/// file. A robot's document declares its base in a tuple `robot`.
///
/// @param sensors  names of the controller's quantities, one plugin sensor each
[[nodiscard]] std::string model_mjcf(const ModelDescription& model,
                                     std::span<const std::string> sensors = {});

/// Names, without the attach prefix, of the actuators that controllers of the robot drive. Those of
/// parts that an arm carries are not among them; an arm on a platform is driven by its own
/// controller.
[[nodiscard]] std::vector<std::string> driven_actuators(const RobotDescription& robot);

/// What a robot's model needs of a scene's options.
[[nodiscard]] EngineNeeds engine_needs(const RobotDescription& robot);

}  // namespace tendril
