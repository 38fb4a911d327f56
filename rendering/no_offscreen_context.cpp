// Of a program without images (TENDRIL_EGL=OFF).
#include "rendering/image.hpp"
#include "rendering/offscreen_context.hpp"

namespace tendril::simulation {

struct OffscreenContext::Impl {};

OffscreenContext::OffscreenContext() { throw RenderError(missing_for_images()); }
OffscreenContext::~OffscreenContext() = default;
void OffscreenContext::make_current() {}
void OffscreenContext::draw_only(const std::vector<mjrRect>& /*parts*/, const mjrRect& /*around*/) {
}
void OffscreenContext::draw_everywhere() {}

std::string missing_for_images() {
  return "this program draws no images and no videos, as on every system but Linux: tendril play "
         "writes a page for the browser";
}

}  // namespace tendril::simulation
