#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace tendril::simulation {

/// Thrown if an image or a video cannot be made; the message names the reason.
class RenderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Eight-bit RGB, rows from the top.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;         ///< 3 * width * height
  std::vector<std::uint8_t> alpha = {};  ///< width * height, 0: transparent; empty: opaque
};

inline constexpr int kSmallestImage = 16, kLargestImage = 8192;  // pixels

/// Throws RenderError unless both are in the range of kSmallestImage to kLargestImage.
void require_image_size(int width, int height);

/// Two images of the same height side by side.
[[nodiscard]] Image side_by_side(const Image& left, const Image& right);

/// Writes a PNG, with transparency if the image has it. Throws RenderError if the file cannot be
/// written.
void write_png(const std::filesystem::path& file, const Image& image);

}  // namespace tendril::simulation
