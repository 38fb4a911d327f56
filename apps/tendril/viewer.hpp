#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "apps/host/recording/view_source.hpp"

namespace tendril {

struct ViewerOptions {
  std::string title = "tendril";
  int width = 1280, height = 800;
  std::string
      camera;  ///< to start with; empty: a free camera on the whole model, or the camera `report`
  double speed = 1.0;  ///< simulated seconds per second
  bool start_paused = false;
  std::filesystem::path
      screenshot;            ///< write the window to this PNG at `at` and end; empty: stay open
  double at = 0.0;           ///< simulated time [s]
  bool has_motions = false;  ///< the experiment moves mocap bodies: M switches that
  bool help = false;         ///< start with the help open
};

/// The window on a scene or a recording: MuJoCo's renderer in a GLFW window; keys and mouse are
/// docs/recording.md. One per process, on the main thread.
class Viewer {
 public:
  /// Opens the window. Throws RenderError when there is no display or no OpenGL.
  Viewer(host::ViewSource& source, const ViewerOptions& options);
  ~Viewer();
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  /// Runs until the window is closed or the screenshot is written. Throws RenderError.
  void run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tendril
