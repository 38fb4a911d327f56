#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "simulation/engine/setting.hpp"

namespace tendril::python {

/// The settings of a mapping of keys to values, in its order: booleans, integers, numbers, text,
/// and sequences and mappings of these (NumPy's too). Throws ModelError
/// `set: key: value: must be ...`.
[[nodiscard]] std::vector<simulation::Setting> settings_of(nanobind::handle mapping);

}  // namespace tendril::python
