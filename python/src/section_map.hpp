#pragma once

#include <vector>

#include "python/src/arrays.hpp"
#include "tendril/ik/section_map.hpp"

namespace tendril::python {

/// The maps of the argument `section_maps`, a sequence of SectionMap or None; none if it is None.
struct SectionMaps {
  std::vector<SectionMap> maps;
  bool calls_python = false;  ///< solves must then run in the thread that waits for them
};
[[nodiscard]] SectionMaps section_maps_of(nb::handle value);

/// Throws what a function of the user has raised in this thread since the last call, if it has. The
/// map has had no numbers since.
void rethrow_raised();

void bind_section_map(nb::module_& module);

}  // namespace tendril::python
