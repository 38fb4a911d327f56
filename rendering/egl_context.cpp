#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <type_traits>

#include "rendering/driver_options.hpp"
#include "rendering/image.hpp"
#include "rendering/offscreen_context.hpp"
#include "tendril/system/library.hpp"

namespace tendril::simulation {
namespace {

constexpr const char* kLibrary = "libEGL.so.1";
constexpr int kSurfaceSize = 16;  // pixels; images are drawn into a separate buffer

[[noreturn]] void refuse(std::string_view why) {
  throw RenderError(
      fmt::format("no OpenGL for images: {}; install EGL with a driver (Debian: apt install "
                  "libegl1 libgl1-mesa-dri)",
                  why));
}

}  // namespace

struct OffscreenContext::Impl {
  Impl();
  ~Impl();
  void make_current();
  void draw_only(const std::vector<mjrRect>& parts, const mjrRect& around);
  void draw_everywhere();

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
  // Null if there is one of these six that is not found.
  decltype(&glEnable) gl_enable_ = nullptr;
  decltype(&glDisable) gl_disable_ = nullptr;
  decltype(&glClear) gl_clear_ = nullptr;
  decltype(&glClearStencil) gl_clear_stencil_ = nullptr;
  decltype(&glScissor) gl_scissor_ = nullptr;
  decltype(&glStencilFunc) gl_stencil_func_ = nullptr;
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLSurface surface_ = EGL_NO_SURFACE;
  EGLContext context_ = EGL_NO_CONTEXT;
};

OffscreenContext::Impl::Impl() {
  set_driver_options();
  load();
  for (const EGLDisplay display : displays()) {
    if (!open(display)) continue;
    load_stencil();
    return;
  }
  refuse("EGL finds no device that renders OpenGL");
}

OffscreenContext::Impl::~Impl() {
  make_current_(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  destroy_context_(display_, context_);
  destroy_surface_(display_, surface_);
  // Neither eglTerminate nor dlclose: displays are shared by the whole process, and drivers leave
  // threads behind.
}

void OffscreenContext::Impl::make_current() {
  if (make_current_(display_, surface_, surface_, context_) != EGL_TRUE)
    throw RenderError("EGL: the context cannot be made current");
}

void OffscreenContext::Impl::load() {
  void* const library = system::load_library(kLibrary);
  if (library == nullptr) refuse(fmt::format("{} is not installed", kLibrary));
  const auto load = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        system::symbol_in(library, symbol));
    if (function == nullptr) refuse(fmt::format("{} has no {}", kLibrary, symbol));
  };
  load(get_proc_address_, "eglGetProcAddress");
  load(get_display_, "eglGetDisplay");
  load(initialize_, "eglInitialize");
  load(bind_api_, "eglBindAPI");
  load(choose_config_, "eglChooseConfig");
  load(create_surface_, "eglCreatePbufferSurface");
  load(destroy_surface_, "eglDestroySurface");
  load(create_context_, "eglCreateContext");
  load(destroy_context_, "eglDestroyContext");
  load(make_current_, "eglMakeCurrent");
}

void OffscreenContext::Impl::load_stencil() {
  bool all = true;
  const auto load = [&](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(get_proc_address_(symbol));
    all = all && function != nullptr;
  };
  load(gl_disable_, "glDisable");
  load(gl_clear_, "glClear");
  load(gl_clear_stencil_, "glClearStencil");
  load(gl_scissor_, "glScissor");
  load(gl_stencil_func_, "glStencilFunc");
  load(gl_enable_, "glEnable");
  if (!all) gl_enable_ = nullptr;
}

void OffscreenContext::Impl::draw_only(const std::vector<mjrRect>& parts, const mjrRect& around) {
  if (gl_enable_ == nullptr) return;
  gl_enable_(GL_SCISSOR_TEST);
  gl_scissor_(0, 0, around.width, around.height);
  gl_clear_stencil_(0);
  gl_clear_(GL_STENCIL_BUFFER_BIT);
  gl_clear_stencil_(1);
  for (const mjrRect& part : parts) {
    gl_scissor_(part.left - around.left, part.bottom - around.bottom, part.width, part.height);
    gl_clear_(GL_STENCIL_BUFFER_BIT);
  }
  gl_disable_(GL_SCISSOR_TEST);
  gl_stencil_func_(GL_EQUAL, 1, 1);
  gl_enable_(GL_STENCIL_TEST);
}

void OffscreenContext::Impl::draw_everywhere() {
  if (gl_enable_ != nullptr) gl_disable_(GL_STENCIL_TEST);
}

/// GPUs first, then Mesa without a window system, then the default of the environment.
std::vector<EGLDisplay> OffscreenContext::Impl::displays() {
  std::vector<EGLDisplay> found;
  const auto add = [&](EGLDisplay display) {
    if (display != EGL_NO_DISPLAY) found.push_back(display);
  };
  const auto get_platform_display = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      get_proc_address_("eglGetPlatformDisplayEXT"));
  const auto query_devices =
      reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(get_proc_address_("eglQueryDevicesEXT"));
  if (get_platform_display != nullptr) {
    std::array<EGLDeviceEXT, 16> devices{};
    EGLint count = 0;
    if (query_devices != nullptr &&
        query_devices(static_cast<EGLint>(devices.size()), devices.data(), &count) == EGL_TRUE) {
      for (EGLint i = 0; i < count; ++i) {
        add(get_platform_display(EGL_PLATFORM_DEVICE_EXT, devices[static_cast<std::size_t>(i)],
                                 nullptr));
      }
    }
    add(get_platform_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr));
  }
  add(get_display_(EGL_DEFAULT_DISPLAY));
  return found;
}

bool OffscreenContext::Impl::open(EGLDisplay display) {
  EGLint major = 0, minor = 0;
  if (initialize_(display, &major, &minor) != EGL_TRUE || bind_api_(EGL_OPENGL_API) != EGL_TRUE)
    return false;
  // clang-format off
  constexpr EGLint kDesired[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT,
                                 EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                 EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8,
                                 EGL_DEPTH_SIZE, 24, EGL_STENCIL_SIZE, 8,
                                 EGL_NONE};
  constexpr EGLint kSize[] = {EGL_WIDTH, kSurfaceSize, EGL_HEIGHT, kSurfaceSize, EGL_NONE};
  // clang-format on
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (choose_config_(display, kDesired, &config, 1, &count) != EGL_TRUE || count < 1) return false;
  const EGLSurface surface = create_surface_(display, config, kSize);
  if (surface == EGL_NO_SURFACE) return false;
  const EGLContext context = create_context_(display, config, EGL_NO_CONTEXT, nullptr);
  if (context == EGL_NO_CONTEXT || make_current_(display, surface, surface, context) != EGL_TRUE) {
    if (context != EGL_NO_CONTEXT) destroy_context_(display, context);
    destroy_surface_(display, surface);
    return false;
  }
  display_ = display;
  surface_ = surface;
  context_ = context;
  return true;
}

OffscreenContext::OffscreenContext() : impl_(std::make_unique<Impl>()) {}
OffscreenContext::~OffscreenContext() = default;
void OffscreenContext::make_current() { impl_->make_current(); }
void OffscreenContext::draw_only(const std::vector<mjrRect>& parts, const mjrRect& around) {
  impl_->draw_only(parts, around);
}
void OffscreenContext::draw_everywhere() { impl_->draw_everywhere(); }

std::string missing_for_images() {
  if (system::load_library(kLibrary) != nullptr) return {};
  return fmt::format("no {}: required for images without a window (Debian: libegl1)", kLibrary);
}

}  // namespace tendril::simulation
