#pragma once

#include <mujoco/mujoco.h>

#include <functional>
#include <string>

struct GLFWwindow;

namespace tendril {

/// A window with a current OpenGL context. Pixels are those of its framebuffer, from the lower
/// left. One per process, on the main thread.
class GlfwWindow {
 public:
  /// Callbacks for keys and the mouse; `modifiers` are GLFW's.
  struct Input {
    std::function<void(int key, int modifiers)> key;  ///< pressed or repeated
    std::function<void(mjtButton button, bool is_pressed, int modifiers)> button;
    /// The cursor has moved by parts of the window's height; dragging up is a negative step, as the
    /// engine counts from the top.
    std::function<void(double dx, double dy)> move;
    std::function<void(double dy)> scroll;
  };

  /// Throws RenderError if there is no display or no OpenGL.
  /// @param is_paced  swapping waits for the screen
  GlfwWindow(const std::string& title, int width, int height, bool is_paced);
  ~GlfwWindow();
  GlfwWindow(const GlfwWindow&) = delete;
  GlfwWindow& operator=(const GlfwWindow&) = delete;

  void listen(Input input);

  [[nodiscard]] mjrRect framebuffer() const;
  [[nodiscard]] int font_scale() const;  ///< one of mjtFontScale
  [[nodiscard]] double cursor_x() const noexcept { return cursor_x_; }
  [[nodiscard]] double cursor_y() const noexcept { return cursor_y_; }
  [[nodiscard]] bool is_held(mjtButton button) const;
  [[nodiscard]] bool is_shift_held() const;
  [[nodiscard]] double time() const;  ///< since the window was opened, about [s]

  [[nodiscard]] bool is_closing() const;
  void close();
  void swap();
  void handle_events();
  void wait_for_events(double seconds);

 private:
  static GlfwWindow& of(GLFWwindow* window);
  void on_move(double window_x, double window_y);

  GLFWwindow* window_ = nullptr;
  Input input_;
  double cursor_x_ = 0.0, cursor_y_ = 0.0;
};

}  // namespace tendril
