#pragma once

namespace tendril::simulation {

/// Sets what OpenGL drivers read from the environment, unless the user has set it; to be called
/// before the first context of the process is made.
void set_driver_options() noexcept;

}  // namespace tendril::simulation
