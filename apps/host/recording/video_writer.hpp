#pragma once

#include <filesystem>

#include "apps/host/process.hpp"
#include "apps/host/recording/image.hpp"

namespace tendril::host {

/// Pipes images to `ffmpeg`, which writes an H.264 video (yuv420p, index at the front) that
/// browsers can play.
class VideoWriter {
 public:
  /// @param frame_rate  frames per second, in (0, 1000]
  /// Throws RenderError if ffmpeg cannot be started.
  VideoWriter(std::filesystem::path file, int width, int height, double frame_rate);
  /// Ends ffmpeg and removes the unfinished file if `close` was not called.
  ~VideoWriter();
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  /// Adds a frame of the size given above. Throws RenderError with ffmpeg's message if it has
  /// stopped.
  void write(const Image& frame);

  /// Waits until the video is complete. Throws RenderError if ffmpeg failed.
  void close();

 private:
  void remove_film() const noexcept;
  [[noreturn]] void fail();

  std::filesystem::path file_;
  int width_, height_;
  Process ffmpeg_;
  bool closed_ = false;
};

}  // namespace tendril::host
