#pragma once

#include <filesystem>

#include "rendering/image.hpp"
#include "simulation/files/part_file.hpp"
#include "tendril/system/process.hpp"

namespace tendril::simulation {

/// Throws ModelError unless it is in (0, 1000].
void require_frame_rate(double frames_per_second);

/// Pipes images to `ffmpeg`, which writes an H.264 video (yuv420p, index at the front) that
/// browsers can play. The file gets its name when it is complete.
class VideoWriter {
 public:
  /// @param frame_rate  frames per second, see require_frame_rate
  /// Throws RenderError if ffmpeg cannot be started, ModelError for an invalid frame rate.
  VideoWriter(std::filesystem::path file, int width, int height, double frame_rate);
  /// Ends ffmpeg and, without `close` before, removes what it has written.
  ~VideoWriter() { ffmpeg_.wait(); }
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  /// Adds a frame of the size given above. Throws RenderError with ffmpeg's message if it has
  /// stopped.
  void write(const Image& frame);

  /// Waits until the video is complete and gives the file its name. Throws RenderError if ffmpeg
  /// failed.
  void close();

 private:
  [[noreturn]] void fail();

  PartFile file_;
  int width_, height_;
  system::Process ffmpeg_;
  bool closed_ = false;
};

}  // namespace tendril::simulation
