#pragma once

// Private to tendril/model: what a medium is in a file and in MJCF.

#include <string>

#include "tendril/model/medium.hpp"
#include "tendril/model/toml_fields.hpp"

namespace tendril {

/// The table [medium].
[[nodiscard]] Medium read_medium(const Fields& fields);

/// Mass of the fluid in a cylinder's place [kg].
[[nodiscard]] double displaced_mass(const Medium& medium, double radius, double length) noexcept;

/// Weight in the fluid over the weight that the engine gives a body of this mass with the added one
/// is 1 minus this: the attribute `gravcomp` of a body.
[[nodiscard]] double buoyancy(const Medium& medium, double mass, double displaced) noexcept;

/// Attributes of an ellipsoid in a cylinder's place, on which the engine's fluid forces act;
/// nothing of it is drawn or touched. Its axis is the first or, `along_z`, the third of the geom.
/// Source: docs/derivations.md, "Medium". Tested by: medium_test.
[[nodiscard]] std::string fluid_geom(const Medium& medium, double radius, double length,
                                     bool along_z);

/// Attributes of <option>, a space before each.
[[nodiscard]] std::string fluid_options(const Medium& medium);

}  // namespace tendril
