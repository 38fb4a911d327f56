#pragma once

#include <EGL/egl.h>
#include <GL/gl.h>
#include <mujoco/mujoco.h>

#include <vector>

namespace tendril::simulation {

/// A current OpenGL context without a window. EGL is loaded when the first one is created, so that
/// scenes can be run without it.
class EglContext {
 public:
  /// Throws RenderError if there is no usable display.
  EglContext();
  ~EglContext();
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;

  /// Throws RenderError if the context is lost.
  void make_current();

  /// Restricts drawing into the current buffer to rectangles, until draw_everywhere. What else
  /// there is may be drawn nevertheless: for speed.
  /// @param around  all of them; its lower left corner is that of the buffer
  void draw_only(const std::vector<mjrRect>& parts, const mjrRect& around);
  void draw_everywhere();

 private:
  void load();
  void load_stencil();
  [[nodiscard]] std::vector<EGLDisplay> displays();
  [[nodiscard]] bool open(EGLDisplay display);

  decltype(&eglGetProcAddress) get_proc_address_ = nullptr;
  decltype(&eglGetDisplay) get_display_ = nullptr;
  decltype(&eglInitialize) initialize_ = nullptr;
  decltype(&eglBindAPI) bind_api_ = nullptr;
  decltype(&eglChooseConfig) choose_config_ = nullptr;
  decltype(&eglCreatePbufferSurface) create_surface_ = nullptr;
  decltype(&eglDestroySurface) destroy_surface_ = nullptr;
  decltype(&eglCreateContext) create_context_ = nullptr;
  decltype(&eglDestroyContext) destroy_context_ = nullptr;
  decltype(&eglMakeCurrent) make_current_ = nullptr;
  decltype(&glEnable) gl_enable_ =
      nullptr;  // with the next five: null if there is one that is not found
  decltype(&glDisable) gl_disable_ = nullptr;
  decltype(&glClear) gl_clear_ = nullptr;
  decltype(&glClearStencil) gl_clear_stencil_ = nullptr;
  decltype(&glScissor) gl_scissor_ = nullptr;
  decltype(&glStencilFunc) gl_stencil_func_ = nullptr;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLSurface surface_ = EGL_NO_SURFACE;
  EGLContext context_ = EGL_NO_CONTEXT;
};

}  // namespace tendril::simulation
