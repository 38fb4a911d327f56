#include "rendering/image.hpp"

#include <fmt/format.h>

namespace tendril::simulation {
namespace {

/// Rows of both, one behind the other.
std::vector<std::uint8_t> joined_rows(const std::vector<std::uint8_t>& left,
                                      const std::vector<std::uint8_t>& right, int rows) {
  std::vector<std::uint8_t> joined;
  joined.reserve(left.size() + right.size());
  const auto append = [&](const std::vector<std::uint8_t>& image, int row) {
    const auto width = static_cast<std::ptrdiff_t>(image.size()) / rows;
    joined.insert(joined.end(), image.begin() + row * width, image.begin() + (row + 1) * width);
  };
  for (int row = 0; row < rows; ++row) {
    append(left, row);
    append(right, row);
  }
  return joined;
}

bool is_image_size(int pixels) { return kSmallestImage <= pixels && pixels <= kLargestImage; }

}  // namespace

void require_image_size(int width, int height) {
  if (!is_image_size(width) || !is_image_size(height)) {
    throw RenderError(fmt::format("image size: {} x {}: both must be {} to {}", width, height,
                                  kSmallestImage, kLargestImage));
  }
}

Image side_by_side(const Image& left, const Image& right) {
  return {.width = left.width + right.width,
          .height = left.height,
          .rgb = joined_rows(left.rgb, right.rgb, left.height),
          .alpha = joined_rows(left.alpha, right.alpha, left.height)};
}

}  // namespace tendril::simulation
