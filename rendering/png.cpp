#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <span>
#include <string_view>

#include "rendering/image.hpp"
#include "simulation/files/part_file.hpp"

namespace tendril::simulation {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr std::uint8_t kBitDepth = 8, kRgb = 2, kRgba = 6;
constexpr std::uint8_t kSub = 1;  // RFC 2083, 6.3: differences to the pixel on the left

void put(Bytes& bytes, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

// RFC 2083, 3.2: length, type, data, and the check sum of type and data.
void put_chunk(Bytes& png, std::string_view type, std::span<const std::uint8_t> data) {
  put(png, static_cast<std::uint32_t>(data.size()));
  const auto start = png.size();
  png.insert(png.end(), type.begin(), type.end());
  png.insert(png.end(), data.begin(), data.end());
  put(png, static_cast<std::uint32_t>(crc32_z(0, png.data() + start, png.size() - start)));
}

// Rows of pixels, each after the byte of its filter.
Bytes filtered(const Image& image) {
  const auto width = static_cast<std::size_t>(image.width);
  const auto height = static_cast<std::size_t>(image.height);
  const bool has_alpha = !image.alpha.empty();
  Bytes rows;
  rows.reserve(height * (1 + width * (has_alpha ? 4 : 3)));
  for (std::size_t y = 0; y < height; ++y) {
    rows.push_back(kSub);
    std::array<std::uint8_t, 4> left{};
    for (std::size_t i = y * width; i < (y + 1) * width; ++i) {
      const std::array<std::uint8_t, 4> pixel{image.rgb[3 * i], image.rgb[3 * i + 1],
                                              image.rgb[3 * i + 2],
                                              has_alpha ? image.alpha[i] : std::uint8_t{0}};
      for (std::size_t k = 0; k < (has_alpha ? 4 : 3); ++k)
        rows.push_back(static_cast<std::uint8_t>(pixel[k] - left[k]));
      left = pixel;
    }
  }
  return rows;
}

Bytes compressed(const Bytes& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  Bytes result(size);
  if (compress(result.data(), &size, bytes.data(), static_cast<uLong>(bytes.size())) != Z_OK)
    throw std::bad_alloc();  // the only cause with a buffer of that size
  result.resize(size);
  return result;
}

// RFC 2083, 4.1: header, pixels in one chunk, end.
Bytes encoded(const Image& image) {
  Bytes header;
  put(header, static_cast<std::uint32_t>(image.width));
  put(header, static_cast<std::uint32_t>(image.height));
  header.insert(header.end(), {kBitDepth, image.alpha.empty() ? kRgb : kRgba, 0, 0, 0});
  Bytes png(kSignature.begin(), kSignature.end());
  put_chunk(png, "IHDR", header);
  put_chunk(png, "IDAT", compressed(filtered(image)));
  put_chunk(png, "IEND", {});
  return png;
}

}  // namespace

void write_png(const std::filesystem::path& file, const Image& image) {
  const auto pixels =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  if (image.rgb.size() != 3 * pixels || pixels == 0)
    throw RenderError(file.string() + ": the image is empty");
  const Bytes png = encoded(image);
  PartFile part(file);
  std::ofstream output(part.part(), std::ios::binary);
  output.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  output.close();
  if (!output)
    throw RenderError(
        fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
  if (const std::error_code error = part.finish())
    throw RenderError(fmt::format("{}: cannot be written: {}", file.string(), error.message()));
}

}  // namespace tendril::simulation
