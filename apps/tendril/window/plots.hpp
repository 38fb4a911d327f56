#pragma once

#include <mujoco/mujoco.h>

#include <memory>

#include "apps/tendril/window/view_source.hpp"

namespace tendril {

/// Tip error and wall force over time, at the lower right.
class Plots {
 public:
  /// @param several  robots: the plots are of the worst, and of all together
  explicit Plots(bool several);

  void draw(simulation::ViewSource& source, const mjrRect& whole, const mjrContext& context);

 private:
  std::unique_ptr<mjvFigure> tip_, force_;
};

}  // namespace tendril
