#include "rendering/driver_options.hpp"

#include "tendril/system/process.hpp"

namespace tendril::simulation {

void set_driver_options() noexcept {
  // Mesa's software draws a floor twice, with its shadows the second time, and its depths then
  // differ in some pixels, which stay dark: not in the other range of depths that the engine can
  // use.
  system::set_default_environment("MESA_EXTENSION_OVERRIDE", "-GL_ARB_clip_control");
}

}  // namespace tendril::simulation
