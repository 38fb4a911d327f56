#pragma once

#include <mujoco/mujoco.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tendril::host {

/// Thrown when a picture or a film cannot be made; the message says what is missing.
class RenderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Eight-bit RGB, rows from the top.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;  ///< 3 * width * height
};

/// The camera for pictures of a scene: the one named `name`; with an empty name the camera
/// `report`, else the first fixed one, else a free one that looks at the whole model. Throws
/// RenderError for an unknown name.
[[nodiscard]] mjvCamera picture_camera(const mjModel& model, const std::string& name = {});

/// What pictures show: geoms and sites of the default groups, contact forces as arrows.
[[nodiscard]] mjvOption picture_options();

/// Draws force arrows at a length that suits the scene, where the engine divides by the mean mass
/// of the bodies, which makes them longer than the scene for a light robot: a small force f has the
/// length kArrowPerNewton f extent, a large one approaches kLongestArrow extent. To be called
/// between mjv_updateScene and mjr_render.
///
///     length / extent = a f / (1 + a f / b),  a = kArrowPerNewton, b = kLongestArrow
void scale_force_arrows(const mjModel& model, mjvScene& scene) noexcept;
inline constexpr double kArrowPerNewton = 0.1;  ///< share of the model's extent per newton
inline constexpr double kLongestArrow = 0.25;   ///< share of the model's extent

/// Renders states of one model without a window: EGL (a GPU or Mesa's software renderer), else
/// OSMesa. Belongs to the thread that made it.
class OffscreenRenderer {
 public:
  /// @param width, height  pixels, 16 to 8192
  /// Throws RenderError when there is no OpenGL.
  OffscreenRenderer(const mjModel& model, int width, int height);
  ~OffscreenRenderer();
  OffscreenRenderer(const OffscreenRenderer&) = delete;
  OffscreenRenderer& operator=(const OffscreenRenderer&) = delete;

  /// The state as the camera sees it; positions and contacts must be computed (mj_forward). The
  /// image is valid until the next call.
  const Image& render(mjData& data, const mjvCamera& camera);

  /// "EGL" or "OSMesa", and the name of the OpenGL renderer.
  [[nodiscard]] std::string backend() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes a PNG. Throws RenderError when the file cannot be written.
void write_png(const std::filesystem::path& file, const Image& image);

/// Pipes images to `ffmpeg`, which writes an H.264 film (yuv420p, index at the front) that every
/// browser plays.
class VideoWriter {
 public:
  /// @param frame_rate  frames per second, > 0
  /// Throws RenderError when ffmpeg cannot be started.
  VideoWriter(std::filesystem::path file, int width, int height, double frame_rate);
  /// Ends ffmpeg and removes the unfinished file if `close` was not called.
  ~VideoWriter();
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  /// Adds a frame of the size given above. Throws RenderError with ffmpeg's own words when it has
  /// stopped.
  void write(const Image& frame);

  /// Waits until the film is complete. Throws RenderError when ffmpeg failed.
  void close();

 private:
  [[noreturn]] void fail();
  [[nodiscard]] int wait() noexcept;

  std::filesystem::path file_;
  int width_, height_;
  int pipe_ = -1;
  int messages_ = -1;  ///< temporary file with what ffmpeg says
  int process_ = -1;
};

}  // namespace tendril::host
