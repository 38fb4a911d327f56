#pragma once

#include <mujoco/mujoco.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "apps/tendril/window/camera_control.hpp"
#include "apps/tendril/window/control_panel.hpp"
#include "apps/tendril/window/file_watcher.hpp"
#include "apps/tendril/window/glfw_window.hpp"
#include "apps/tendril/window/mouse_force.hpp"
#include "apps/tendril/window/plots.hpp"
#include "apps/tendril/window/viewer.hpp"
#include "rendering/drive_routes.hpp"
#include "rendering/shadow_volume.hpp"
#include "rendering/smooth_body.hpp"

namespace tendril {

/// Drawing state of one model: the engine's scene, with its textures and meshes on the GPU, and
/// what is drawn next to it.
struct DrawnModel {
  DrawnModel(const mjModel& model, int font_scale);
  ~DrawnModel();
  DrawnModel(const DrawnModel&) = delete;
  DrawnModel& operator=(const DrawnModel&) = delete;

  mjvScene scene{};
  mjrContext context{};
  simulation::RobotBodies robots;
  simulation::Centerlines centerlines;
  simulation::SmoothBody smooth_body;
  simulation::DriveRoutes drive_routes;
  simulation::ShadowVolume shadows;
};

/// Switches that keys turn on and off.
struct Shown {
  bool panel = false, help = false, numbers = true, plots = true;
  bool centerline = false, links = false;
  bool shadows = true;
  bool shadows_chosen = false;  ///< by the key: they stay
  mjvOption scene{};            ///< of the engine
};

/// The window at work: holds its parts together and has the actions that keys name
/// (key_map.hpp). Its texts are drawn by overlays.hpp.
struct Session {
  using Clock = std::chrono::steady_clock;

  /// Opens the window. Throws RenderError.
  Session(std::unique_ptr<simulation::ViewSource> shown, const ViewerOptions& desired);

  void run();              ///< until the window is closed
  void take_screenshot();  ///< at its time, without waiting for anyone

  // ---- actions
  void run_or_pause();
  void step(int count);
  void jump(double fraction);  ///< of a recording
  void change_speed(double factor);
  void switch_contacts();
  void record_or_end();
  void next_camera() { camera.choose_next(*source, viewport()); }
  void free_camera();

  void tell(const std::string& text);  ///< shows a notice
  [[nodiscard]] const mjModel& model() const { return source->model(); }
  [[nodiscard]] bool has_panel() const;
  [[nodiscard]] mjrRect viewport() const;  ///< of the scene: all but the panel

  std::unique_ptr<simulation::ViewSource> source;
  ViewerOptions options;
  GlfwWindow window;
  std::unique_ptr<DrawnModel> drawn;
  CameraControl camera;
  MouseForce mouse;
  Plots plots;
  FileWatcher watcher;
  std::optional<ControlPanel> panel;  ///< of a source that can be commanded
  Shown shown;

  bool paused = false;
  double speed = 1.0;
  double measured_speed = 0.0;        ///< simulated over wall time of the last second
  bool screenshot_requested = false;  ///< of the next frame
  std::string notice;
  double notice_end = 0.0;  ///< s, of the window's clock

 private:
  enum class Drag { None, View, Body, Bar };

  void listen();
  void on_button(mjtButton button, bool is_pressed, int modifiers);
  void on_press(mjtButton button, int modifiers);
  void on_move(double dx, double dy);
  void on_scroll(double dy);
  bool on_panel(mjtEvent type, mjtButton button = mjBUTTON_NONE, double scroll = 0.0);
  void seek_cursor();

  void attach();  // the mouse and the panel to the source
  void reopen();
  void move_on(double wall_seconds);
  void measure_speed();
  void draw();
  void notice_slow_drawing();
  void write_screenshot(const std::filesystem::path& file);
  void save_screenshot();

  Drag drag_ = Drag::None;
  double last_click_ = -1.0;
  std::filesystem::path recording_;  // the last one
  double simulated_since_ = 0.0;
  Clock::time_point measured_from_ = Clock::now();
  int slow_frames_ = 0;
  Clock::duration drawing_time_{};  // of the last frame
};

}  // namespace tendril
