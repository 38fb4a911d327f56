#pragma once

#include <string>

#include "tendril/model/robot_description.hpp"

namespace tendril::test {

/// Sections of 100 mm that servos bend.
inline std::string servo_sections(int count) {
  std::string text = "kind = \"continuum\"\n";
  for (int i = 0; i < count; ++i)
    text +=
        "[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\nlinks = 5\nradius = 0.006\n"
        "mass = 0.02\nbending_stiffness = 0.02\n";
  return text;
}
inline const std::string kEncoder = "[[sensor]]\nkind = \"bend_encoder\"\nname = \"bend\"\n";

}  // namespace tendril::test
