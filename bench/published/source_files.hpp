#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tendril/kinematics/section.hpp"

namespace tendril::tables {

/// Text of a file of the source tree that is part of the program: "scenes/plans/case_1.toml".
[[nodiscard]] std::string_view source_text(const std::string& file);

/// Sections of such a file of a continuum robot, from the base to the tip.
/// @param file  "models/table_3_10/robot_1.toml"
[[nodiscard]] std::vector<SectionParameters> source_sections(const std::string& file);

}  // namespace tendril::tables
