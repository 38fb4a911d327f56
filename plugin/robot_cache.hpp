#pragma once

#include <memory>
#include <string>

#include "tendril/robot_file/robot_description.hpp"

namespace tendril {

/// The robot that a config text stands for. The engine asks for it many times while it loads one
/// model; it is read once. `arm_text`: of the continuum arm on its platform, if it has one. Throws
/// ModelError.
[[nodiscard]] std::shared_ptr<const RobotDescription> cached_robot(const std::string& text,
                                                                   const std::string& arm_text);

/// Keeps a description that has been read elsewhere.
void remember_robot(const RobotDescription& robot);

}  // namespace tendril
