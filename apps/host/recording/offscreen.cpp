#include "apps/host/recording/offscreen.hpp"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

extern char** environ;

namespace tendril::host {
namespace {

constexpr int kSmallest = 16, kLargest = 8192;  // pixels
constexpr int kSamples = 4;                     // per pixel, against stair steps
constexpr int kSlices = 16;                     // round a cylinder
constexpr int kShadowSize = 2048;               // pixels of the shadow map
constexpr int kSceneGeoms = 10000;  // room for contact arrows and the lines that plugins draw

/// A current OpenGL context without a window.
class GlContext {
 public:
  virtual ~GlContext() = default;
  virtual void make_current() = 0;
  [[nodiscard]] virtual const char* name() const = 0;
};

/// EGL, loaded when the first picture is desired, so that a machine without it can still run
/// scenes.
class EglContext final : public GlContext {
 public:
  /// Null when there is no usable display; `why` then says so.
  static std::unique_ptr<EglContext> create(std::string& why) {
    std::unique_ptr<EglContext> context(new EglContext);
    return context->open(why) ? std::move(context) : nullptr;
  }

  ~EglContext() override {
    if (context_ != EGL_NO_CONTEXT) {
      make_current_(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
      destroy_context_(display_, context_);
    }
    if (surface_ != EGL_NO_SURFACE) destroy_surface_(display_, surface_);
    // Neither eglTerminate nor dlclose: displays are shared by the whole process, and drivers leave
    // threads behind.
  }

  void make_current() override {
    if (make_current_(display_, surface_, surface_, context_) != EGL_TRUE) {
      throw RenderError("EGL: the context cannot be made current");
    }
  }

  [[nodiscard]] const char* name() const override { return "EGL"; }

 private:
  EglContext() = default;

  bool open(std::string& why) {
    void* const library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      why = "libEGL.so.1 is not installed";
      return false;
    }
    bool complete = true;
    const auto load = [&](auto& function, const char* symbol) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
      complete = complete && function != nullptr;
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
    if (!complete) {
      why = "libEGL.so.1 is incomplete";
      return false;
    }
    for (const EGLDisplay display : displays()) {
      if (open(display)) return true;
    }
    why = "EGL finds no device that renders OpenGL";
    return false;
  }

  /// GPUs first, then Mesa without a window system, then whatever the environment says.
  std::vector<EGLDisplay> displays() {
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

  bool open(EGLDisplay display) {
    EGLint major = 0, minor = 0;
    if (initialize_(display, &major, &minor) != EGL_TRUE || bind_api_(EGL_OPENGL_API) != EGL_TRUE)
      return false;
    const EGLint desired[] = {EGL_SURFACE_TYPE,
                              EGL_PBUFFER_BIT,
                              EGL_RENDERABLE_TYPE,
                              EGL_OPENGL_BIT,
                              EGL_RED_SIZE,
                              8,
                              EGL_GREEN_SIZE,
                              8,
                              EGL_BLUE_SIZE,
                              8,
                              EGL_DEPTH_SIZE,
                              24,
                              EGL_STENCIL_SIZE,
                              8,
                              EGL_NONE};
    EGLConfig config = nullptr;
    EGLint count = 0;
    if (choose_config_(display, desired, &config, 1, &count) != EGL_TRUE || count < 1) return false;
    const EGLint size[] = {EGL_WIDTH, kSmallest, EGL_HEIGHT, kSmallest, EGL_NONE};
    const EGLSurface surface = create_surface_(display, config, size);
    if (surface == EGL_NO_SURFACE) return false;
    const EGLContext context = create_context_(display, config, EGL_NO_CONTEXT, nullptr);
    if (context == EGL_NO_CONTEXT ||
        make_current_(display, surface, surface, context) != EGL_TRUE) {
      if (context != EGL_NO_CONTEXT) destroy_context_(display, context);
      destroy_surface_(display, surface);
      return false;
    }
    display_ = display;
    surface_ = surface;
    context_ = context;
    return true;
  }

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

/// Mesa's renderer into memory, for machines whose EGL is missing or broken.
class OsMesaContext final : public GlContext {
 public:
  static std::unique_ptr<OsMesaContext> create(std::string& why) {
    std::unique_ptr<OsMesaContext> context(new OsMesaContext);
    return context->open(why) ? std::move(context) : nullptr;
  }

  ~OsMesaContext() override {
    if (context_ != nullptr) destroy_(context_);
  }

  void make_current() override {
    constexpr unsigned int kUnsignedByte = 0x1401;  // GL_UNSIGNED_BYTE
    if (make_current_(context_, buffer_.data(), kUnsignedByte, kSmallest, kSmallest) == 0) {
      throw RenderError("OSMesa: the context cannot be made current");
    }
  }

  [[nodiscard]] const char* name() const override { return "OSMesa"; }

 private:
  OsMesaContext() = default;

  bool open(std::string& why) {
    void* library = dlopen("libOSMesa.so.8", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) library = dlopen("libOSMesa.so", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      why = "libOSMesa is not installed";
      return false;
    }
    create_ = reinterpret_cast<Create>(dlsym(library, "OSMesaCreateContextExt"));
    destroy_ = reinterpret_cast<Destroy>(dlsym(library, "OSMesaDestroyContext"));
    make_current_ = reinterpret_cast<MakeCurrent>(dlsym(library, "OSMesaMakeCurrent"));
    if (create_ == nullptr || destroy_ == nullptr || make_current_ == nullptr) {
      why = "libOSMesa is incomplete";
      return false;
    }
    constexpr unsigned int kRgba = 0x1908;  // OSMESA_RGBA
    context_ = create_(kRgba, 24, 8, 0, nullptr);
    if (context_ == nullptr) {
      why = "OSMesa makes no context";
      return false;
    }
    make_current();
    return true;
  }

  using Create = void* (*)(unsigned int format, int depth, int stencil, int accumulation,
                           void* shared);
  using Destroy = void (*)(void* context);
  using MakeCurrent = unsigned char (*)(void* context, void* buffer, unsigned int type, int width,
                                        int height);
  Create create_ = nullptr;
  Destroy destroy_ = nullptr;
  MakeCurrent make_current_ = nullptr;
  void* context_ = nullptr;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(4 * kSmallest * kSmallest);
};

std::unique_ptr<GlContext> make_gl_context() {
  std::string no_egl, no_osmesa;
  if (auto context = EglContext::create(no_egl)) return context;
  if (auto context = OsMesaContext::create(no_osmesa)) return context;
  throw RenderError(
      fmt::format("no OpenGL for pictures: {}, {}; install EGL with a driver (Debian: apt install "
                  "libegl1 libgl1-mesa-dri) or OSMesa (apt install libosmesa6)",
                  no_egl, no_osmesa));
}

void check_size(int width, int height) {
  const auto good = [](int pixels) { return kSmallest <= pixels && pixels <= kLargest; };
  if (!good(width) || !good(height)) {
    throw RenderError(fmt::format("picture size: {} x {}: both must be {} to {}", width, height,
                                  kSmallest, kLargest));
  }
}

}  // namespace

mjvCamera picture_camera(const mjModel& model, const std::string& name) {
  mjvCamera camera;
  mjv_defaultFreeCamera(&model, &camera);
  int id = mj_name2id(&model, mjOBJ_CAMERA, name.empty() ? "report" : name.c_str());
  if (id < 0 && !name.empty())
    throw RenderError(fmt::format("camera: {}: the scene has no camera of that name", name));
  for (int i = 0; id < 0 && i < model.ncam; ++i) {
    if (model.cam_mode[i] == mjCAMLIGHT_FIXED) id = i;
  }
  if (id >= 0) {
    camera.type = mjCAMERA_FIXED;
    camera.fixedcamid = id;
  }
  return camera;
}

mjvOption picture_options() {
  mjvOption options;
  mjv_defaultOption(&options);
  options.flags[mjVIS_CONTACTFORCE] = 1;
  return options;
}

void scale_force_arrows(const mjModel& model, mjvScene& scene) noexcept {
  constexpr double kSlimness = 0.03;  // half width of an arrow, of its length
  const double length_per_newton = model.vis.map.force / model.stat.meanmass;
  if (!(length_per_newton > 0.0) || !(model.stat.extent > 0.0)) return;
  for (int i = 0; i < scene.ngeom; ++i) {
    mjvGeom& geom = scene.geoms[i];
    const bool is_arrow =
        geom.type == mjGEOM_ARROW || geom.type == mjGEOM_ARROW1 || geom.type == mjGEOM_ARROW2;
    if (!is_arrow || geom.category != mjCAT_DECOR) continue;
    const double small = kArrowPerNewton * geom.size[2] / length_per_newton;
    const double length = model.stat.extent * small / (1.0 + small / kLongestArrow);
    const auto width = static_cast<float>(kSlimness * length);
    geom.size[0] = std::min(geom.size[0], width);
    geom.size[1] = std::min(geom.size[1], width);
    geom.size[2] = static_cast<float>(length);
  }
}

struct OffscreenRenderer::Impl {
  const mjModel* model = nullptr;
  std::unique_ptr<GlContext> gl;
  mjrContext context;
  mjvScene scene;
  mjvOption options = picture_options();
  Image image;
  std::vector<std::uint8_t> bottom_up;

  Impl() {
    mjr_defaultContext(&context);
    mjv_defaultScene(&scene);
  }
  ~Impl() {
    mjv_freeScene(&scene);
    try {
      // Another renderer may have become current; its objects have the same numbers.
      if (gl) gl->make_current();
      mjr_freeContext(&context);
    } catch (const RenderError&) {  // the context is lost, and its objects with it
    }
  }
};

OffscreenRenderer::OffscreenRenderer(const mjModel& model, int width, int height) {
  check_size(width, height);
  std::unique_ptr<GlContext> gl = make_gl_context();
  // The size of the buffer, the samples and the shadows are the model's; pictures want their own.
  const std::unique_ptr<mjModel, void (*)(mjModel*)> view(mj_copyModel(nullptr, &model),
                                                          mj_deleteModel);
  if (!view) throw RenderError("picture: out of memory");
  view->vis.global.offwidth = width;
  view->vis.global.offheight = height;
  view->vis.quality.offsamples = std::max(view->vis.quality.offsamples, kSamples);
  view->vis.quality.shadowsize = std::max(view->vis.quality.shadowsize, kShadowSize);
  // Software rendering is bound by triangles: a tube is hundreds of capsules.
  view->vis.quality.numslices = std::min(view->vis.quality.numslices, kSlices);
  view->vis.quality.numstacks = std::min(view->vis.quality.numstacks, kSlices / 2);

  impl_ = std::make_unique<Impl>();
  impl_->model = &model;
  impl_->gl = std::move(gl);
  mjv_makeScene(&model, &impl_->scene, kSceneGeoms);
  mjr_makeContext(view.get(), &impl_->context, mjFONTSCALE_150);
  mjr_setBuffer(mjFB_OFFSCREEN, &impl_->context);
  const mjrRect buffer = mjr_maxViewport(&impl_->context);
  if (impl_->context.currentBuffer != mjFB_OFFSCREEN || buffer.width < width ||
      buffer.height < height) {
    throw RenderError(
        fmt::format("{}: no offscreen buffer of {} x {} pixels", impl_->gl->name(), width, height));
  }
  const auto bytes = static_cast<std::size_t>(3 * width) * static_cast<std::size_t>(height);
  impl_->image = {.width = width, .height = height, .rgb = std::vector<std::uint8_t>(bytes)};
  impl_->bottom_up.resize(bytes);
}

OffscreenRenderer::~OffscreenRenderer() = default;

const Image& OffscreenRenderer::render(mjData& data, const mjvCamera& camera) {
  Impl& self = *impl_;
  self.gl->make_current();
  mjvCamera view = camera;
  mjv_updateScene(self.model, &data, &self.options, nullptr, &view, mjCAT_ALL, &self.scene);
  scale_force_arrows(*self.model, self.scene);
  self.scene.flags[mjRND_REFLECTION] = 0;  // draws everything twice
  const mjrRect viewport{0, 0, self.image.width, self.image.height};
  mjr_render(viewport, &self.scene, &self.context);
  mjr_readPixels(self.bottom_up.data(), nullptr, viewport, &self.context);
  const auto row = static_cast<std::ptrdiff_t>(3 * self.image.width);
  for (int y = 0; y < self.image.height; ++y) {
    std::copy_n(self.bottom_up.begin() + (self.image.height - 1 - y) * row, row,
                self.image.rgb.begin() + y * row);
  }
  return self.image;
}

std::string OffscreenRenderer::backend() const { return impl_->gl->name(); }

void write_png(const std::filesystem::path& file, const Image& image) {
  const auto width = static_cast<std::size_t>(image.width),
             height = static_cast<std::size_t>(image.height);
  const std::size_t row = 3 * width;
  if (image.rgb.size() != row * height || image.rgb.empty())
    throw RenderError(file.string() + ": the image is empty");
  // Filter 1 of the PNG specification: each byte minus the one a pixel to the left; about halves
  // the file.
  std::vector<std::uint8_t> filtered;
  filtered.reserve((row + 1) * height);
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint8_t* line = image.rgb.data() + y * row;
    filtered.push_back(1);
    for (std::size_t x = 0; x < row; ++x) {
      filtered.push_back(static_cast<std::uint8_t>(line[x] - (x < 3 ? 0 : line[x - 3])));
    }
  }
  uLongf size = compressBound(static_cast<uLong>(filtered.size()));
  std::vector<std::uint8_t> packed(size);
  if (compress2(packed.data(), &size, filtered.data(), static_cast<uLong>(filtered.size()), 6) !=
      Z_OK) {
    throw RenderError(file.string() + ": the image cannot be compressed");
  }
  packed.resize(size);

  std::vector<std::uint8_t> png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  const auto put_number = [&](std::vector<std::uint8_t>& out, std::size_t value) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<std::uint8_t>(value >> shift));
  };
  const auto put_chunk = [&](const char* type, const std::vector<std::uint8_t>& content) {
    put_number(png, content.size());
    const std::size_t start = png.size();
    png.insert(png.end(), type, type + 4);
    png.insert(png.end(), content.begin(), content.end());
    put_number(png, crc32(0, png.data() + start, static_cast<uInt>(png.size() - start)));
  };
  std::vector<std::uint8_t> header;
  put_number(header, width);
  put_number(header, height);
  header.insert(header.end(),
                {8, 2, 0, 0, 0});  // 8 bits, RGB, deflate, adaptive filters, not interlaced
  put_chunk("IHDR", header);
  put_chunk("IDAT", packed);
  put_chunk("IEND", {});
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  if (!out.flush())
    throw RenderError(
        fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

VideoWriter::VideoWriter(std::filesystem::path file, int width, int height, double frame_rate)
    : file_(std::move(file)), width_(width), height_(height) {
  check_size(width, height);
  if (!(frame_rate > 0.0 && frame_rate <= 1000.0)) {
    throw RenderError(fmt::format("frame rate: {}: must be in (0, 1000]", frame_rate));
  }
  // A socket rather than a pipe: a write to an ffmpeg that has stopped then gives an error and no
  // signal.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw RenderError(fmt::format("video: no pipe: {}", std::strerror(errno)));
  }
  pipe_ = ends[0];
  char name[] = "/tmp/tendril_ffmpeg_XXXXXX";
  messages_ = mkostemp(name, O_CLOEXEC);
  if (messages_ >= 0) unlink(name);

  const std::string size = fmt::format("{}x{}", width, height),
                    rate = fmt::format("{}", frame_rate);
  const std::string out = "file:" + file_.string();
  // yuv420p wants even sizes: pad by one pixel where needed.
  std::vector<const char*> arguments{"ffmpeg",
                                     "-hide_banner",
                                     "-loglevel",
                                     "error",
                                     "-nostdin",
                                     "-y",
                                     "-f",
                                     "rawvideo",
                                     "-pixel_format",
                                     "rgb24",
                                     "-video_size",
                                     size.c_str(),
                                     "-framerate",
                                     rate.c_str(),
                                     "-i",
                                     "pipe:0",
                                     "-an",
                                     "-vf",
                                     "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                                     "-c:v",
                                     "libx264",
                                     "-preset",
                                     "veryfast",
                                     "-crf",
                                     "20",
                                     "-pix_fmt",
                                     "yuv420p",
                                     "-movflags",
                                     "+faststart",
                                     "-f",
                                     "mp4",
                                     out.c_str(),
                                     nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (messages_ >= 0) posix_spawn_file_actions_adddup2(&actions, messages_, STDERR_FILENO);
  const int error = posix_spawnp(&process_, "ffmpeg", &actions, nullptr,
                                 const_cast<char* const*>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    process_ = -1;
    ::close(pipe_);
    if (messages_ >= 0) ::close(messages_);
    throw RenderError(
        error == ENOENT
            ? std::string(
                  "ffmpeg is not installed: it makes the video (Debian: apt install ffmpeg)")
            : fmt::format("ffmpeg cannot be started: {}", std::strerror(error)));
  }
}

VideoWriter::~VideoWriter() {
  const bool unfinished = process_ > 0;
  if (unfinished) {
    static_cast<void>(wait());
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  if (messages_ >= 0) ::close(messages_);
}

int VideoWriter::wait() noexcept {
  if (pipe_ >= 0) ::close(pipe_);
  pipe_ = -1;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

void VideoWriter::fail() {
  if (process_ > 0) static_cast<void>(wait());
  std::string text;
  if (messages_ >= 0 && lseek(messages_, 0, SEEK_SET) == 0) {
    std::array<char, 2000> buffer{};
    const ssize_t count = read(messages_, buffer.data(), buffer.size());
    if (count > 0) text.assign(buffer.data(), static_cast<std::size_t>(count));
  }
  text = text.substr(0, text.find('\n'));
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  throw RenderError(fmt::format("{}: ffmpeg failed: {}", file_.string(),
                                text.empty() ? "it gave no reason" : text));
}

void VideoWriter::write(const Image& frame) {
  if (frame.width != width_ || frame.height != height_) {
    throw RenderError(fmt::format("{}: a frame of {} x {} in a video of {} x {}", file_.string(),
                                  frame.width, frame.height, width_, height_));
  }
  const std::uint8_t* next = frame.rgb.data();
  std::size_t left = frame.rgb.size();
  while (left > 0) {
    const ssize_t sent = pipe_ < 0 ? -1 : send(pipe_, next, left, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) fail();
    next += sent;
    left -= static_cast<std::size_t>(sent);
  }
}

void VideoWriter::close() {
  if (process_ <= 0) return;
  const int status = wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail();
}

}  // namespace tendril::host
