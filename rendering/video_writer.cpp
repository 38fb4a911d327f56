#include "rendering/video_writer.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <utility>

#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

std::vector<std::string> ffmpeg_command(const std::filesystem::path& file, int width, int height,
                                        double frame_rate) {
  require_image_size(width, height);
  require_frame_rate(frame_rate);
  // clang-format off
  return {"ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-y",
          "-f", "rawvideo", "-pixel_format", "rgb24",
          "-video_size", fmt::format("{}x{}", width, height),
          "-framerate", fmt::format("{}", frame_rate), "-i", "pipe:0", "-an",
          "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2",  // yuv420p requires even sizes
          "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p",
          "-movflags", "+faststart", "-f", "mp4", "file:" + file.string()};
  // clang-format on
}

system::Process start(const std::vector<std::string>& command) {
  try {
    return system::Process(command);
  } catch (const std::system_error& error) {
    throw RenderError(
        error.code() == std::errc::no_such_file_or_directory
            ? std::string(
                  "ffmpeg is not installed: it makes the video (Debian: apt install ffmpeg)")
            : fmt::format("ffmpeg cannot be started: {}", error.code().message()));
  }
}

}  // namespace

void require_frame_rate(double frames_per_second) {
  constexpr double kMax = 1000.0;
  if (frames_per_second > 0.0 && frames_per_second <= kMax) return;
  throw ModelError(fmt::format("--fps: {:g}: must be in (0, {:g}]", frames_per_second, kMax));
}

VideoWriter::VideoWriter(std::filesystem::path file, int width, int height, double frame_rate)
    : file_(std::move(file)),
      width_(width),
      height_(height),
      ffmpeg_(start(ffmpeg_command(file_.part(), width, height, frame_rate))) {}

void VideoWriter::fail() {
  ffmpeg_.wait();
  closed_ = true;
  const std::string messages = ffmpeg_.messages();
  const std::string_view reason = std::string_view(messages).substr(0, messages.find('\n'));
  throw RenderError(fmt::format("{}: ffmpeg failed: {}", file_.file().string(),
                                reason.empty() ? "it gave no reason" : reason));
}

void VideoWriter::write(const Image& frame) {
  if (frame.width != width_ || frame.height != height_) {
    throw RenderError(fmt::format("{}: a frame of {} x {} in a video of {} x {}",
                                  file_.file().string(), frame.width, frame.height, width_,
                                  height_));
  }
  const std::string_view bytes(reinterpret_cast<const char*>(frame.rgb.data()), frame.rgb.size());
  if (closed_ || !ffmpeg_.write(bytes)) fail();
}

void VideoWriter::close() {
  if (closed_) return;
  if (ffmpeg_.wait() != 0) fail();
  closed_ = true;
  if (const std::error_code error = file_.finish())
    throw RenderError(
        fmt::format("{}: cannot be written: {}", file_.file().string(), error.message()));
}

}  // namespace tendril::simulation
