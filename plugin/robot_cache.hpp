#pragma once

#include <memory>
#include <string>

#include "tendril/model/robot_description.hpp"

namespace tendril {

/// The robot described by a config text. The engine requests it many times while loading a model;
/// the text is parsed once. `arm_text`: of the continuum arm on its platform, if it has one. Throws
/// ModelError.
[[nodiscard]] std::shared_ptr<const RobotDescription> cached_robot(const std::string& text,
                                                                   const std::string& arm_text);

/// Adds a description parsed elsewhere.
void remember_robot(const RobotDescription& robot);

}  // namespace tendril
