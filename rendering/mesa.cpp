#include "rendering/mesa.hpp"

#include <cstdlib>

namespace tendril::simulation {

void disable_clip_control() { setenv("MESA_EXTENSION_OVERRIDE", "-GL_ARB_clip_control", 0); }

}  // namespace tendril::simulation
