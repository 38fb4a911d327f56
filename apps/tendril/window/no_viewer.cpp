// The viewer of a program without a window (TENDRIL_BUILD_VIEWER=OFF).
#include "apps/tendril/window/viewer.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

struct Viewer::Impl {};

Viewer::Viewer(std::unique_ptr<simulation::ViewSource> /*source*/,
               const ViewerOptions& /*options*/) {
  throw ModelError("view: " + missing_for_window());
}
Viewer::~Viewer() = default;
void Viewer::run() {}
const simulation::ViewSource& Viewer::source() const { throw ModelError("view: no window"); }

std::string missing_for_window() {
  return "this program has no window: tendril play writes a page for the browser; a "
         "program built from source has one";
}

}  // namespace tendril
