#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/tendril/window/view_source.hpp"

namespace tendril {

struct ViewerOptions {
  std::string title = "tendril";
  int width = 1280, height = 800;
  std::string camera;  ///< initial camera; empty: see simulation::ViewSource::start_camera
  double speed = 1.0;  ///< simulated seconds per second
  bool start_paused = false;
  std::filesystem::path
      screenshot;      ///< write the window to this PNG at time `at` and exit; empty: stay open
  double at = 0.0;     ///< simulated time [s]
  bool help = false;   ///< start with the help open
  bool panel = false;  ///< start with the panel open
  std::string name;    ///< of the experiment; recordings go to out/<name>-window<n>
  /// Opens the source again when one of `files` has changed; throws as the first time. Empty:
  /// never.
  std::function<std::unique_ptr<simulation::ViewSource>()> reopen;
  std::vector<std::filesystem::path> files;
};

/// Window for a scene or a recording: MuJoCo's renderer in a GLFW window. Keys and mouse:
/// docs/guide/view.md. One per process, on the main thread.
class Viewer {
 public:
  /// Opens the window. Throws RenderError if there is no display or no OpenGL.
  Viewer(std::unique_ptr<simulation::ViewSource> source, const ViewerOptions& options);
  ~Viewer();
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  /// Runs until the window is closed or the screenshot is written. Throws RenderError.
  void run();

  /// Returns what is shown now.
  [[nodiscard]] const simulation::ViewSource& source() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Says that this program has no window, and what does its work; empty: it has one.
[[nodiscard]] std::string missing_for_window();

}  // namespace tendril
