#include <fmt/format.h>
#include <png.h>

#include "rendering/image.hpp"
#include "simulation/files/part_file.hpp"

namespace tendril::simulation {

void write_png(const std::filesystem::path& file, const Image& image) {
  const auto pixels =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  if (image.rgb.size() != 3 * pixels || pixels == 0)
    throw RenderError(file.string() + ": the image is empty");
  std::vector<std::uint8_t> rgba;
  for (std::size_t i = 0; i < image.alpha.size(); ++i) {
    rgba.insert(rgba.end(), image.rgb.data() + 3 * i, image.rgb.data() + 3 * (i + 1));
    rgba.push_back(image.alpha[i]);
  }
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = rgba.empty() ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  const std::vector<std::uint8_t>& bytes = rgba.empty() ? image.rgb : rgba;
  PartFile part(file);
  if (png_image_write_to_file(&png, part.part().c_str(), 0, bytes.data(), 0, nullptr) == 0)
    throw RenderError(fmt::format("{}: cannot be written: {}", file.string(), png.message));
  if (const std::error_code error = part.finish())
    throw RenderError(fmt::format("{}: cannot be written: {}", file.string(), error.message()));
}

}  // namespace tendril::simulation
