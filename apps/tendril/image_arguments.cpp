#include "apps/tendril/image_arguments.hpp"

#include <fmt/format.h>

#include <charconv>

#include "tendril/model_error.hpp"

namespace tendril {

Option ImageArguments::add_camera(const Command& command, const std::string& what) {
  return command.option("--camera", camera,
                        "camera of the scene, for " + what +
                            " [the scene's camera, moved back if a robot leaves its image]");
}

Option ImageArguments::add_size(const Command& command, const std::string& what) {
  const simulation::ImageOptions defaults;
  return command.option(
      "--size", size,
      fmt::format("of {}, WIDTHxHEIGHT pixels [{}x{}]", what, defaults.width, defaults.height));
}

simulation::ImageOptions ImageArguments::options() const {
  simulation::ImageOptions options{.camera = camera};
  if (size.empty()) return options;
  const char* const end = size.data() + size.size();
  const auto width = std::from_chars(size.data(), end, options.width);
  const bool divided = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
  const auto height = std::from_chars(divided ? width.ptr + 1 : end, end, options.height);
  const auto is_allowed = [](int pixels) {
    return pixels >= simulation::kSmallestImage && pixels <= simulation::kLargestImage;
  };
  if (height.ec != std::errc() || height.ptr != end || !is_allowed(options.width) ||
      !is_allowed(options.height)) {
    throw ModelError(fmt::format("--size: {}: must be WIDTHxHEIGHT, both {} to {} pixels", size,
                                 simulation::kSmallestImage, simulation::kLargestImage));
  }
  return options;
}

}  // namespace tendril
