#include "apps/tendril/window/viewer.hpp"

#include <utility>

#include "apps/tendril/window/session.hpp"

namespace tendril {

struct Viewer::Impl : Session {
  using Session::Session;
};

Viewer::Viewer(std::unique_ptr<simulation::ViewSource> source, const ViewerOptions& options)
    : impl_(std::make_unique<Impl>(std::move(source), options)) {}

Viewer::~Viewer() = default;

const simulation::ViewSource& Viewer::source() const { return *impl_->source; }

void Viewer::run() {
  if (impl_->options.screenshot.empty()) {
    impl_->run();
  } else {
    impl_->take_screenshot();
  }
}

std::string missing_for_window() { return {}; }

}  // namespace tendril
