#pragma once

#include <string>

#include "apps/tendril/command_line.hpp"
#include "rendering/render_recording.hpp"

namespace tendril {

/// The options `--camera` and `--size` of commands that draw.
struct ImageArguments {
  std::string camera;
  std::string size;

  Option add_camera(const Command& command, const std::string& what);
  Option add_size(const Command& command, const std::string& what);

  /// Throws ModelError for an invalid size.
  [[nodiscard]] simulation::ImageOptions options() const;
};

}  // namespace tendril
