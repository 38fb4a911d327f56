#pragma once

#include <mujoco/mujoco.h>

#include "apps/tendril/window/session.hpp"

namespace tendril {

/// Draws plots, the bar of a recording and all texts over the image of the scene.
void draw_overlays(Session& session, const mjrRect& whole);

/// Returns the rectangle of a recording's time bar in an image, in pixels.
[[nodiscard]] mjrRect time_bar(const mjrRect& whole);
/// Tells whether a point is on the bar, with a margin.
[[nodiscard]] bool is_on(const mjrRect& bar, double x, double y);

}  // namespace tendril
