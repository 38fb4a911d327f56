#pragma once

namespace tendril::simulation {

/// Keeps Mesa's software from leaving dark dots on floors. It draws a floor twice, with its shadows
/// the second time, and the depths differ in some pixels in the range of depths that the engine
/// sets with GL_ARB_clip_control. Acts on drivers loaded afterwards, so it comes before the first
/// call of EGL or GLFW; a value of MESA_EXTENSION_OVERRIDE that the user has set stays.
void disable_clip_control();

}  // namespace tendril::simulation
