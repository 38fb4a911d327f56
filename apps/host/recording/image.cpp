#include "apps/host/recording/image.hpp"

#include <fmt/format.h>

namespace tendril::host {
namespace {

bool is_image_size(int pixels) { return kSmallestImage <= pixels && pixels <= kLargestImage; }

}  // namespace

void require_image_size(int width, int height) {
  if (!is_image_size(width) || !is_image_size(height)) {
    throw RenderError(fmt::format("picture size: {} x {}: both must be {} to {}", width, height,
                                  kSmallestImage, kLargestImage));
  }
}

}  // namespace tendril::host
