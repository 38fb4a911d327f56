#pragma once

namespace tendril {

/// Registers the decoder of model files and the controllers of Tendril in this process. Does
/// nothing if another copy has done so, such as that of the Python package, or if the version of
/// the engine is not the one that this library was built for.
void register_built_in_plugins();

}  // namespace tendril
