#pragma once

#include <EGL/egl.h>

#include <vector>

namespace tendril::host {

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

 private:
  void load();
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
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLSurface surface_ = EGL_NO_SURFACE;
  EGLContext context_ = EGL_NO_CONTEXT;
};

}  // namespace tendril::host
