#include "apps/tendril/window/glfw_window.hpp"

#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "rendering/driver_options.hpp"
#include "rendering/image.hpp"

namespace tendril {
namespace {

using simulation::RenderError;

/// GLFW reports through a callback; the last message is kept for the exception.
std::string& glfw_message() {
  static std::string text;
  return text;
}

mjtButton button_of(int button) {
  return button == GLFW_MOUSE_BUTTON_LEFT    ? mjBUTTON_LEFT
         : button == GLFW_MOUSE_BUTTON_RIGHT ? mjBUTTON_RIGHT
                                             : mjBUTTON_MIDDLE;
}

}  // namespace

GlfwWindow::GlfwWindow(const std::string& title, int width, int height, bool is_paced) {
  simulation::set_driver_options();
  glfwSetErrorCallback([](int, const char* text) { glfw_message() = text; });
  if (glfwInit() != GLFW_TRUE) {
    throw RenderError(fmt::format(
        "no window: {}; a window needs a display (over ssh: ssh -X), images without one: "
        "tendril run --video",
        glfw_message().empty() ? "GLFW does not start" : glfw_message()));
  }
  glfwWindowHint(GLFW_SAMPLES, 4);
  glfwWindowHint(GLFW_FOCUS_ON_SHOW, GLFW_TRUE);
  window_ = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
  if (window_ == nullptr) {
    glfwTerminate();
    throw RenderError(fmt::format(
        "no window: {}; OpenGL 1.5 or newer is needed (Debian: apt install libgl1-mesa-dri)",
        glfw_message()));
  }
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(is_paced ? 1 : 0);
  glfwSetWindowUserPointer(window_, this);
}

GlfwWindow::~GlfwWindow() {
  glfwDestroyWindow(window_);
  glfwTerminate();
}

GlfwWindow& GlfwWindow::of(GLFWwindow* window) {
  return *static_cast<GlfwWindow*>(glfwGetWindowUserPointer(window));
}

void GlfwWindow::listen(Input input) {
  input_ = std::move(input);
  glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int, int action, int modifiers) {
    if (action != GLFW_RELEASE) of(w).input_.key(key, modifiers);
  });
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int modifiers) {
    of(w).input_.button(button_of(button), action != GLFW_RELEASE, modifiers);
  });
  glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double x, double y) { of(w).on_move(x, y); });
  glfwSetScrollCallback(window_, [](GLFWwindow* w, double, double dy) { of(w).input_.scroll(dy); });
}

void GlfwWindow::on_move(double window_x, double window_y) {
  int width = 1, height = 1;
  glfwGetWindowSize(window_, &width, &height);
  const mjrRect pixels = framebuffer();
  if (width <= 0 || height <= 0) return;
  const double x = window_x * pixels.width / width;
  const double y = pixels.height - window_y * pixels.height / height;
  const double dx = (x - cursor_x_) / pixels.height, dy = (cursor_y_ - y) / pixels.height;
  cursor_x_ = x;
  cursor_y_ = y;
  input_.move(dx, dy);
}

mjrRect GlfwWindow::framebuffer() const {
  mjrRect rectangle{0, 0, 0, 0};
  glfwGetFramebufferSize(window_, &rectangle.width, &rectangle.height);
  return rectangle;
}

int GlfwWindow::font_scale() const {
  float scale = 1.0F, ignored = 1.0F;
  glfwGetWindowContentScale(window_, &scale, &ignored);
  return std::clamp(50 * static_cast<int>(std::lround(2.0F * scale)),
                    static_cast<int>(mjFONTSCALE_50), static_cast<int>(mjFONTSCALE_300));
}

bool GlfwWindow::is_held(mjtButton button) const {
  const int of_glfw = button == mjBUTTON_LEFT    ? GLFW_MOUSE_BUTTON_LEFT
                      : button == mjBUTTON_RIGHT ? GLFW_MOUSE_BUTTON_RIGHT
                                                 : GLFW_MOUSE_BUTTON_MIDDLE;
  return glfwGetMouseButton(window_, of_glfw) == GLFW_PRESS;
}

bool GlfwWindow::is_shift_held() const {
  return glfwGetKey(window_, GLFW_KEY_LEFT_SHIFT) == GLFW_PRESS ||
         glfwGetKey(window_, GLFW_KEY_RIGHT_SHIFT) == GLFW_PRESS;
}

double GlfwWindow::time() const { return glfwGetTime(); }
bool GlfwWindow::is_closing() const { return glfwWindowShouldClose(window_) != GLFW_FALSE; }
void GlfwWindow::close() { glfwSetWindowShouldClose(window_, GLFW_TRUE); }
void GlfwWindow::swap() { glfwSwapBuffers(window_); }
void GlfwWindow::handle_events() { glfwPollEvents(); }
void GlfwWindow::wait_for_events(double seconds) { glfwWaitEventsTimeout(seconds); }

}  // namespace tendril
