#pragma once

// Private to tendril/model: from descriptions to the elements of their documents.

#include <span>
#include <string>

#include "tendril/model/mjcf_document.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

void write_continuum(const ContinuumDescription& robot, MjcfDocument& mjcf,
                     std::span<const std::string> sensors);
void write_snake(const SnakeDescription& snake, MjcfDocument& mjcf,
                 std::span<const std::string> sensors);
void write_mobile(const MobileDescription& robot, MjcfDocument& mjcf,
                  std::span<const std::string> sensors);

}  // namespace tendril
