#include "apps/tendril/window/viewer.hpp"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/tendril/window/check_text.hpp"
#include "apps/tendril/window/control_panel.hpp"
#include "rendering/driver_options.hpp"
#include "rendering/framing.hpp"
#include "rendering/offscreen.hpp"
#include "rendering/shadow_volume.hpp"
#include "rendering/smooth_body.hpp"

namespace tendril {
namespace {

using simulation::RenderError;
using Clock = std::chrono::steady_clock;

constexpr double kSlowest = 1.0 / 64.0, kFastest = 64.0;
constexpr double kLongestFrame = 1.0;  // s of wall time for which a slow frame compensates
constexpr auto kStepBudget = std::chrono::milliseconds(33);  // computing time per frame
constexpr auto kNoBudget = std::chrono::hours(24);           // a screenshot waits for its time
constexpr double kIdleWait = 1.0 / 30.0;                     // s between frames while paused
constexpr double kDoubleClick = 0.3;                         // s
constexpr int kSceneGeoms = 10000;
constexpr int kTimeIntervals = 5;          // of a plot's grid, at most
constexpr double kLookAgain = 0.5;         // s, between looks at the scene's files
constexpr double kNoticeTime = 3.0;        // s, of a notice
constexpr std::size_t kNamedContacts = 4;  // pairs of bodies in the list of contacts
/// Of the spring that pulls a body: force over the weight of its robot, at a tenth of the scene's
/// size.
constexpr double kPullWeights = 3.0;
constexpr double kEarthGravity = 9.81;  // m/s^2
constexpr float kSeeThrough = 0.4F;
constexpr float kCenterlineColor[4] = {0.95F, 0.2F, 0.45F, 1.0F};

struct HelpLine {
  const char* keys;
  const char* what;
};
constexpr HelpLine kLiveHelp[] = {{"Space", "run / pause"},
                                  {"Right", "one step (Shift: ten)"},
                                  {"Backspace", "reset"},
                                  {"+  -", "faster, slower"},
                                  {"F3", "panel: commands, joints, faults"},
                                  {"R", "record, end the recording"}};
constexpr HelpLine kMotionHelp[] = {{"M", "motion of the experiment on, off"}};
constexpr HelpLine kRecordingHelp[] = {{"Space", "play / pause"},
                                       {"Left, Right", "one row (Shift: ten)"},
                                       {"Page up, down", "a tenth of the recording"},
                                       {"Home, End", "first, last row"},
                                       {"Backspace", "first row"},
                                       {"+  -", "faster, slower"},
                                       {"Drag bar below", "go to a time"}};
constexpr HelpLine kHelp[] = {{"C", "contact points, forces, names"},
                              {"P", "planned and actual centerline"},
                              {"K", "links of continuum arms instead of their smooth body"},
                              {"L", "plots"},
                              {"I", "numbers"},
                              {"S", "shadows (switched off automatically if rendering is slow)"},
                              {"Tab", "next camera (Esc: free)"},
                              {"Left drag", "rotate the view"},
                              {"Right drag", "move the view (Shift: horizontally)"},
                              {"Scroll, middle drag", "zoom"},
                              {"Double click", "select a body"}};
constexpr HelpLine kDragHelp[] = {{"Drag a target", "move it (left: across, right: deep)"},
                                  {"G", "select the next target"},
                                  {"Ctrl + right drag", "pull the selected body"},
                                  {"Ctrl + left drag", "rotate the selected body"}};
constexpr HelpLine kLastHelp[] = {
    {"F1", "this help"}, {"F2", "picture of the window (PNG)"}, {"Q", "close"}};

/// GLFW reports through a callback; the last message is kept for the exception.
std::string& glfw_message() {
  static std::string text;
  return text;
}

const char* status_text(double status) {
  return to_string(static_cast<ControllerStatus>(std::clamp(status, 0.0, kStatusCount - 1.0)));
}

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

std::string speed_text(double speed) {
  return speed >= 1.0 ? fmt::format("{:g} x", speed) : fmt::format("1/{:g} x", 1.0 / speed);
}

/// The least of 1, 2 and 5 times a power of ten by which `intervals` cover `span` > 0.
double round_step(double span, int intervals) {
  const double step = span / intervals;
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1.0 - 1e-9)) return factor * power;
  return 10.0 * power;
}

/// The least times between round ticks that contain [first, last].
void fit_times(mjvFigure& figure, double first, double last) {
  constexpr double kShortest = 0.1, kRounding = 1e-6;  // s; of a step
  const double step = round_step(std::max(last - first, kShortest), kTimeIntervals);
  const double begin = std::floor(first / step + kRounding);
  const double end = std::max(std::ceil(last / step - kRounding), begin + 1.0);
  figure.range[0][0] = static_cast<float>(begin * step);
  figure.range[0][1] = static_cast<float>(end * step);
  figure.gridsize[0] = static_cast<int>(end - begin) + 1;
}

/// From zero to the least multiple of a power of ten that contains `largest` > 0, as the engine
/// rounds it, with round ticks.
void fit_values(mjvFigure& figure, double largest) {
  constexpr int kIntervals[] = {5, 5, 4, 3, 4, 5, 3, 7, 4, 3, 5};  // by the multiple
  constexpr double kRounding = 1e-4;                               // the engine's is upwards
  const double power = std::pow(10.0, std::floor(std::log10(largest)));
  const int multiple = std::clamp(static_cast<int>(std::ceil(largest / power - kRounding)), 1, 10);
  figure.range[1][0] = 0.0F;
  figure.range[1][1] = static_cast<float>((multiple - kRounding) * power);
  figure.gridsize[1] = kIntervals[multiple] + 1;
}

std::unique_ptr<mjvFigure> make_figure(const char* title, const float color[3]) {
  auto figure = std::make_unique<mjvFigure>();
  mjv_defaultFigure(figure.get());
  mju_strncpy(figure->title, title, sizeof figure->title);
  mju_strncpy(figure->xformat, "%g", sizeof figure->xformat);
  mju_strncpy(figure->yformat, "%g", sizeof figure->yformat);
  mju_strncpy(figure->minwidth, "0.000", sizeof figure->minwidth);
  figure->flg_legend = 0;
  figure->flg_extend = 0;
  figure->flg_selection = 1;
  figure->linewidth = 2.0F;
  figure->gridwidth = 1.0F;
  const std::array<float, 4> back{0.08F, 0.10F, 0.13F, 0.75F};
  std::copy(back.begin(), back.end(), figure->figurergba);
  std::copy_n(color, 3, figure->linergb[0]);
  return figure;
}

/// Rectangle of the slider, in pixels of the framebuffer.
struct Slider {
  mjrRect bar{};
  [[nodiscard]] bool contains(double x, double y) const {  // with a margin
    constexpr double kMargin = 10.0;
    return x >= bar.left - kMargin && x <= bar.left + bar.width + kMargin &&
           y >= bar.bottom - kMargin && y <= bar.bottom + bar.height + kMargin;
  }
  [[nodiscard]] double fraction(double x) const {
    return std::clamp((x - bar.left) / bar.width, 0.0, 1.0);
  }
};

}  // namespace

struct Viewer::Impl {
  std::unique_ptr<simulation::ViewSource> source;
  simulation::LiveRun* live;  ///< null for a recording
  ViewerOptions options;
  /// What is drawn of a model beside what the engine draws.
  struct Drawn {
    simulation::RobotBodies robots;
    simulation::Centerlines centerlines;
    simulation::SmoothBody smooth_body;
    simulation::ShadowVolume shadows;
    explicit Drawn(const mjModel& model) : robots(model), centerlines(model), smooth_body(model) {}
  };
  std::optional<Drawn> drawn;
  GLFWwindow* window = nullptr;

  mjvCamera camera{};
  mjvOption view{};
  mjvPerturb perturb{};
  mjvScene scene{};
  mjrContext context{};
  std::unique_ptr<mjvFigure> tip_figure, force_figure;
  std::optional<ControlPanel> panel;  ///< of a running scene
  Slider slider;

  bool paused = false;
  bool show_panel = false;
  bool show_help = false, show_info = true, show_plots = true, show_centerline = false,
       show_links = false;
  bool picture_desired = false;                             ///< of the next frame
  std::vector<std::filesystem::file_time_type> file_times;  ///< of options.files
  double next_look = 0.0;                                   ///< at the files; s, of GLFW's clock
  std::string notice;                                       ///< shown until `notice_end`
  int numbers_width = 0;            ///< of those in the upper left corner, pixels
  double notice_end = 0.0;          ///< s, of GLFW's clock
  std::filesystem::path recording;  ///< the last one
  double pull_force = 0.0;          ///< of the mouse, N
  int pulled_body = 0;
  double speed = 1.0;
  double measured_speed = 0.0;  ///< simulated over wall time of the last second
  double simulated_since = 0.0;
  Clock::time_point measured_from{};
  int camera_index = -1;  ///< -1: free
  bool shadows = true, shadows_chosen = false;
  int slow_frames = 0;
  Clock::duration drawing_time{};  ///< of the last frame

  enum class Drag { None, View, Body, Slider };
  Drag drag = Drag::None;
  double cursor_x = 0.0, cursor_y = 0.0;  ///< framebuffer pixels, y up
  double last_click = -1.0;

  Impl(std::unique_ptr<simulation::ViewSource> shown, const ViewerOptions& desired)
      : source(std::move(shown)),
        live(dynamic_cast<simulation::LiveRun*>(source.get())),
        options(desired),
        drawn(source->model()),
        paused(desired.start_paused),
        show_panel(desired.panel),
        show_help(desired.help),
        speed(desired.speed) {
    mjv_defaultOption(&view);
    mjv_defaultPerturb(&perturb);
    mjv_defaultScene(&scene);
    mjr_defaultContext(&context);
    view.flags[mjVIS_CONTACTFORCE] = 1;
    view.flags[mjVIS_CONTACTPOINT] = 0;
    start_camera();
  }

  ~Impl() {
    if (window != nullptr) {
      mjv_freeScene(&scene);
      mjr_freeContext(&context);
      glfwDestroyWindow(window);
    }
    glfwTerminate();
  }

  const mjModel& model() const { return source->model(); }

  // ---- window --------------------------------------------------------------------------------

  void open() {
    glfwSetErrorCallback([](int, const char* text) { glfw_message() = text; });
    simulation::set_driver_options();
    if (glfwInit() != GLFW_TRUE) {
      throw RenderError(fmt::format(
          "no window: {}; a window needs a display (over ssh: ssh -X), pictures without one: "
          "tendril run --video",
          glfw_message().empty() ? "GLFW does not start" : glfw_message()));
    }
    glfwWindowHint(GLFW_SAMPLES, 4);
    glfwWindowHint(GLFW_FOCUS_ON_SHOW, GLFW_TRUE);
    window =
        glfwCreateWindow(options.width, options.height, options.title.c_str(), nullptr, nullptr);
    if (window == nullptr) {
      throw RenderError(fmt::format(
          "no window: {}; OpenGL 1.5 or newer is needed (Debian: apt install libgl1-mesa-dri)",
          glfw_message()));
    }
    glfwMakeContextCurrent(window);
    glfwSwapInterval(options.screenshot.empty() ? 1 : 0);
    mjv_makeScene(&model(), &scene, kSceneGeoms);
    mjr_makeContext(&model(), &context, font_scale());
    make_panel();
    const float blue[3] = {0.35F, 0.70F, 1.0F}, orange[3] = {1.0F, 0.65F, 0.2F};
    const bool several = drawn->robots.robots().size() > 1;
    tip_figure = make_figure(several ? "Tip error, worst robot (mm)" : "Tip error (mm)", blue);
    force_figure = make_figure(several ? "Wall force, all robots (N)" : "Wall force (N)", orange);
    glfwSetWindowUserPointer(window, this);
    glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int, int action, int modifiers) {
      if (action != GLFW_RELEASE) self(w).on_key(key, modifiers);
    });
    glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int button, int action, int modifiers) {
      self(w).on_button(button, action, modifiers);
    });
    glfwSetCursorPosCallback(window,
                             [](GLFWwindow* w, double x, double y) { self(w).on_move(x, y); });
    glfwSetScrollCallback(window, [](GLFWwindow* w, double, double dy) { self(w).on_scroll(dy); });
    take_mouse();
    remember_files();
    measured_from = Clock::now();
  }

  void make_panel() {
    if (live == nullptr) return;
    panel.emplace(*live, context,
                  ControlPanel::Actions{[this] { record_or_end(); },
                                        [this](const std::string& text) { tell(text); }});
  }

  // ---- recordings ----------------------------------------------------------------------------

  /// Into the first free folder, as `tendril run` names its files.
  void record_or_end() {
    if (live == nullptr) return;
    if (live->recording()) {
      live->end_recording();
      tell("Written: " + recording.string());
      return;
    }
    std::error_code ignored;
    int number = 1;
    do {
      recording =
          std::filesystem::absolute(fmt::format("out/{}-window{}", options.name, number++)) /
          "rollout.h5";
    } while (std::filesystem::exists(recording.parent_path(), ignored));
    try {
      simulation::make_output_folder(recording.parent_path());
      live->start_recording(recording);
      tell("Recording: " + recording.string());
    } catch (const std::exception& error) {
      tell(error.what());
    }
  }

  void take_mouse() {
    if (live != nullptr) {
      live->before_step = [this](const mjModel& m, mjData& d) { pull(m, d); };
    }
  }

  // ---- files that change ---------------------------------------------------------------------

  void remember_files() {
    file_times.clear();
    std::error_code gone;
    for (const std::filesystem::path& file : options.files)
      file_times.push_back(std::filesystem::last_write_time(file, gone));
  }

  /// Looks now and then; an editor may have taken the file away for a moment.
  void notice_changed_files() {
    if (!options.reopen || glfwGetTime() < next_look) return;
    next_look = glfwGetTime() + kLookAgain;
    for (std::size_t i = 0; i < options.files.size(); ++i) {
      std::error_code gone;
      const auto time = std::filesystem::last_write_time(options.files[i], gone);
      if (gone || time == file_times[i]) continue;
      remember_files();
      reopen();
      return;
    }
  }

  /// Shows the scene of the changed files, in the state of the one before if its sizes are the
  /// same. What is wrong with the files is told, and the scene before goes on.
  void reopen() {
    std::unique_ptr<simulation::ViewSource> next;
    try {
      next = options.reopen();
    } catch (const std::exception& error) {
      tell(error.what());
      return;
    }
    const mjModel &before = model(), &after = next->model();
    const auto sizes = [](const mjModel& m) {
      return std::array<mjtSize, 6>{m.nq, m.nv, m.na, m.nu, m.nmocap, m.npluginstate};
    };
    const bool same =
        sizes(before) == sizes(after) && source->stopped().empty() &&
        mj_stateSize(&before, mjSTATE_INTEGRATION) == mj_stateSize(&after, mjSTATE_INTEGRATION);
    if (same) {
      std::vector<mjtNum> state(
          static_cast<std::size_t>(mj_stateSize(&before, mjSTATE_INTEGRATION)));
      mj_getState(&before, &source->data(), state.data(), mjSTATE_INTEGRATION);
      mj_setState(&after, &next->data(), state.data(), mjSTATE_INTEGRATION);
      next->refresh();
    }
    panel.reset();
    source = std::move(next);
    live = dynamic_cast<simulation::LiveRun*>(source.get());
    drawn.emplace(model());
    mjv_defaultPerturb(&perturb);
    pulled_body = 0;
    mjv_freeScene(&scene);
    mjr_freeContext(&context);
    mjv_makeScene(&model(), &scene, kSceneGeoms);
    mjr_makeContext(&model(), &context, font_scale());
    make_panel();
    if (camera_index >= model().ncam) choose_camera(-1);
    take_mouse();
    tell(same ? "Loaded again" : "Loaded again, from the start");
  }

  void tell(const std::string& text) {
    notice = text;
    notice_end = glfwGetTime() + kNoticeTime;
  }

  static Impl& self(GLFWwindow* w) { return *static_cast<Impl*>(glfwGetWindowUserPointer(w)); }

  int font_scale() const {
    float scale = 1.0F, ignored = 1.0F;
    glfwGetWindowContentScale(window, &scale, &ignored);
    return std::clamp(50 * static_cast<int>(std::lround(2.0F * scale)),
                      static_cast<int>(mjFONTSCALE_50), static_cast<int>(mjFONTSCALE_300));
  }

  mjrRect framebuffer() const {
    mjrRect rectangle{0, 0, 0, 0};
    glfwGetFramebufferSize(window, &rectangle.width, &rectangle.height);
    return rectangle;
  }

  bool has_panel() const { return show_panel && panel && framebuffer().width > 2 * panel->width(); }

  /// Of the scene: all but the panel.
  mjrRect picture() const {
    mjrRect rectangle = framebuffer();
    if (has_panel()) rectangle.width -= panel->width();
    return rectangle;
  }

  void start_camera() {
    camera = source->start_camera(
        {.width = options.width, .height = options.height, .camera = options.camera});
    if (camera.type == mjCAMERA_FIXED) camera_index = camera.fixedcamid;
  }

  void choose_camera(int index) {
    camera_index = index;
    if (index < 0) {
      mjv_defaultFreeCamera(&model(), &camera);
      const mjrRect shown = picture();
      if (shown.width > 0 && shown.height > 0)
        camera = simulation::scene_camera(model(), source->data(), camera,
                                          static_cast<double>(shown.width) / shown.height);
    } else {
      camera.type = mjCAMERA_FIXED;
      camera.fixedcamid = index;
    }
  }

  /// A fixed camera cannot be rotated: switches to the free camera with, as far as possible, the
  /// same view.
  void free_camera() {
    if (camera.type == mjCAMERA_FREE) return;
    const mjvGLCamera& eye = scene.camera[0];
    const double x = eye.forward[0], y = eye.forward[1], z = eye.forward[2];
    const mjtNum* const center = model().stat.center;
    double along = 0.0;  // to the point of the line of sight nearest to the model's center
    for (int i = 0; i < 3; ++i) along += (center[i] - eye.pos[i]) * eye.forward[i];
    camera.type = mjCAMERA_FREE;
    camera.distance = std::max(along, 0.1 * model().stat.extent);
    for (int i = 0; i < 3; ++i) camera.lookat[i] = eye.pos[i] + camera.distance * eye.forward[i];
    camera.azimuth = std::atan2(y, x) * 180.0 / mjPI;
    camera.elevation = std::atan2(z, std::hypot(x, y)) * 180.0 / mjPI;
    camera_index = -1;
  }

  // ---- keys ----------------------------------------------------------------------------------

  void on_key(int key, int modifiers) {
    const int many = (modifiers & GLFW_MOD_SHIFT) != 0 ? 10 : 1;
    const auto range = source->range();
    const auto jump = [&](double fraction) {
      paused = true;
      source->seek(source->data().time + fraction * (range->second - range->first));
    };
    switch (key) {
      case GLFW_KEY_SPACE:
        if (range && paused && !source->stopped().empty()) source->reset();
        paused = !paused;
        break;
      case GLFW_KEY_RIGHT:
        paused = true;
        source->step(many);
        break;
      case GLFW_KEY_LEFT:
        paused = true;
        if (range) source->step(-many);
        break;
      case GLFW_KEY_PAGE_UP:
        if (range) jump(-0.1);
        break;
      case GLFW_KEY_PAGE_DOWN:
        if (range) jump(0.1);
        break;
      case GLFW_KEY_HOME:
        if (range) jump(-1.0);
        break;
      case GLFW_KEY_END:
        if (range) jump(1.0);
        break;
      case GLFW_KEY_BACKSPACE:
        source->reset();
        break;
      case GLFW_KEY_EQUAL:
      case GLFW_KEY_KP_ADD:
        speed = std::min(kFastest, 2.0 * speed);
        break;
      case GLFW_KEY_MINUS:
      case GLFW_KEY_KP_SUBTRACT:
        speed = std::max(kSlowest, 0.5 * speed);
        break;
      case GLFW_KEY_C:
        view.flags[mjVIS_CONTACTFORCE] ^= 1;
        view.flags[mjVIS_CONTACTPOINT] = view.flags[mjVIS_CONTACTFORCE];
        break;
      case GLFW_KEY_P:
        show_centerline = !show_centerline;
        break;
      case GLFW_KEY_K:
        show_links = !show_links;
        break;
      case GLFW_KEY_L:
        show_plots = !show_plots;
        break;
      case GLFW_KEY_I:
        show_info = !show_info;
        break;
      case GLFW_KEY_M:
        if (options.has_motions) live->motions_on = !live->motions_on;
        break;
      case GLFW_KEY_S:
        shadows = !shadows;
        shadows_chosen = true;
        break;
      case GLFW_KEY_G:
        select_next_target();
        break;
      case GLFW_KEY_TAB:
        choose_camera(camera_index + 1 < model().ncam ? camera_index + 1 : -1);
        break;
      case GLFW_KEY_ESCAPE:
        perturb.select = 0;
        choose_camera(-1);
        break;
      case GLFW_KEY_F1:
        show_help = !show_help;
        break;
      case GLFW_KEY_F2:
        picture_desired = true;
        break;
      case GLFW_KEY_F3:
        show_panel = !show_panel;
        break;
      case GLFW_KEY_R:
        record_or_end();
        break;
      case GLFW_KEY_Q:
        glfwSetWindowShouldClose(window, GLFW_TRUE);
        break;
      default:
        break;
    }
  }

  // ---- mouse ---------------------------------------------------------------------------------

  /// The mocap body within kFinger pixels of the cursor, also if inside another body; -1: none.
  int target_under_cursor() const {
    constexpr double kFinger = 14.0;  // pixels
    const mjrRect window_rectangle = picture();
    const mjvGLCamera eye = mjv_averageCamera(&scene.camera[0], &scene.camera[1]);
    const double height = eye.frustum_top - eye.frustum_bottom;
    if (!(height > 0.0)) return -1;
    int nearest = -1;
    double nearest_distance = kFinger;
    for (int body = 1; body < model().nbody; ++body) {
      if (!is_target(body)) continue;
      mjtNum from_eye[3], right[3];
      const mjtNum forward[3] = {eye.forward[0], eye.forward[1], eye.forward[2]};
      const mjtNum up[3] = {eye.up[0], eye.up[1], eye.up[2]};
      for (int i = 0; i < 3; ++i) from_eye[i] = source->data().xpos[3 * body + i] - eye.pos[i];
      mju_cross(right, forward, up);
      const double depth = mju_dot3(from_eye, forward);
      if (depth <= eye.frustum_near) continue;
      // In the plane of the frustum's near side, then in pixels.
      const double shrink = eye.orthographic != 0 ? 1.0 : eye.frustum_near / depth;
      const double pixels = window_rectangle.height / height;
      const double x = 0.5 * window_rectangle.width +
                       pixels * (shrink * mju_dot3(from_eye, right) - eye.frustum_center);
      const double y = pixels * (shrink * mju_dot3(from_eye, up) - eye.frustum_bottom);
      const double distance = std::hypot(x - cursor_x, y - cursor_y);
      if (distance >= nearest_distance) continue;
      nearest = body;
      nearest_distance = distance;
    }
    return nearest;
  }

  bool is_target(int body) const { return body > 0 && model().body_mocapid[body] >= 0; }

  void select_next_target() {
    for (int i = 1; i < model().nbody; ++i) {
      const int body = (std::max(0, perturb.select) + i) % static_cast<int>(model().nbody);
      if (!is_target(body)) continue;
      perturb.select = body;
      mju_zero3(perturb.localpos);
      return;
    }
  }

  /// The body under the cursor, -1: none; its point in body coordinates to `local`.
  int body_under_cursor(mjtNum local[3]) {
    const mjrRect window_rectangle = picture();
    mjtNum point[3];
    int geom = -1, flex = -1, skin = -1;
    const int body =
        mjv_select(&model(), &source->data(), &view,
                   static_cast<mjtNum>(window_rectangle.width) / window_rectangle.height,
                   cursor_x / window_rectangle.width, cursor_y / window_rectangle.height, &scene,
                   point, &geom, &flex, &skin);
    if (body > 0) {
      mju_subFrom3(point, source->data().xpos + 3 * body);
      mju_mulMatTVec3(local, source->data().xmat + 9 * body, point);
    }
    return body;
  }

  void select(int body, const mjtNum local[3]) {
    perturb.select = std::max(0, body);
    perturb.flexselect = perturb.skinselect = -1;
    mju_copy3(perturb.localpos, local);
  }

  bool on_panel(mjtEvent type, mjtButton button = mjBUTTON_NONE, double scroll = 0.0) {
    return has_panel() && panel->on_mouse(type, cursor_x, cursor_y, button, scroll);
  }

  void on_button(int button, int action, int modifiers) {
    const mjtButton pressed = button == GLFW_MOUSE_BUTTON_LEFT    ? mjBUTTON_LEFT
                              : button == GLFW_MOUSE_BUTTON_RIGHT ? mjBUTTON_RIGHT
                                                                  : mjBUTTON_MIDDLE;
    if (on_panel(action == GLFW_RELEASE ? mjEVENT_RELEASE : mjEVENT_PRESS, pressed)) return;
    if (action == GLFW_RELEASE) {
      perturb.active = 0;
      drag = Drag::None;
      return;
    }
    const double now = glfwGetTime();
    const bool twice = button == GLFW_MOUSE_BUTTON_LEFT && now - last_click < kDoubleClick;
    last_click = button == GLFW_MOUSE_BUTTON_LEFT ? now : -1.0;
    if (source->range() && slider.contains(cursor_x, cursor_y)) {
      drag = Drag::Slider;
      seek_cursor();
      return;
    }
    mjtNum local[3] = {0, 0, 0};
    int body = target_under_cursor();
    if (body < 0) body = body_under_cursor(local);
    if (twice) select(body, local);
    const bool control = (modifiers & GLFW_MOD_CONTROL) != 0;
    const bool on_target = live != nullptr && is_target(body) && button != GLFW_MOUSE_BUTTON_MIDDLE;
    drag = Drag::View;
    if (live == nullptr || button == GLFW_MOUSE_BUTTON_MIDDLE || (!control && !on_target)) return;
    // With Ctrl the body under the cursor is used unless one is selected; targets do not need Ctrl.
    if (on_target || perturb.select <= 0) select(body, local);
    if (perturb.select <= 0) return;
    drag = Drag::Body;
    const bool rotates = control && button == GLFW_MOUSE_BUTTON_LEFT;
    mjv_initPerturb(&model(), &source->data(), &scene, &perturb);
    perturb.active = rotates ? mjPERT_ROTATE : mjPERT_TRANSLATE;
    if (is_target(perturb.select)) live->motions_on = false;
  }

  void on_move(double window_x, double window_y) {
    int width = 1, height = 1;
    glfwGetWindowSize(window, &width, &height);
    const mjrRect pixels = framebuffer();
    if (width <= 0 || height <= 0) return;
    const double x = window_x * pixels.width / width,
                 y = pixels.height - window_y * pixels.height / height;
    // Dragging up is a negative step: the engine counts from the top.
    const double dx = (x - cursor_x) / pixels.height, dy = (cursor_y - y) / pixels.height;
    cursor_x = x;
    cursor_y = y;
    if (on_panel(mjEVENT_MOVE)) return;
    const bool left = glfwGetMouseButton(window, GLFW_MOUSE_BUTTON_LEFT) == GLFW_PRESS;
    const bool right = glfwGetMouseButton(window, GLFW_MOUSE_BUTTON_RIGHT) == GLFW_PRESS;
    const bool shift = glfwGetKey(window, GLFW_KEY_LEFT_SHIFT) == GLFW_PRESS ||
                       glfwGetKey(window, GLFW_KEY_RIGHT_SHIFT) == GLFW_PRESS;
    if (drag == Drag::Slider) {
      seek_cursor();
    } else if (drag == Drag::Body) {
      const bool rotates = perturb.active == mjPERT_ROTATE;
      const bool horizontal = rotates ? shift : shift || (right && is_target(perturb.select));
      const int action = rotates ? (horizontal ? mjMOUSE_ROTATE_H : mjMOUSE_ROTATE_V)
                                 : (horizontal ? mjMOUSE_MOVE_H : mjMOUSE_MOVE_V);
      mjv_movePerturb(&model(), &source->data(), action, dx, dy, &scene, &perturb);
    } else if (drag == Drag::View) {
      free_camera();
      const int action = right  ? (shift ? mjMOUSE_MOVE_H : mjMOUSE_MOVE_V)
                         : left ? (shift ? mjMOUSE_ROTATE_H : mjMOUSE_ROTATE_V)
                                : mjMOUSE_ZOOM;
      mjv_moveCamera(&model(), action, dx, dy, &camera);
    }
  }

  void on_scroll(double dy) {
    if (on_panel(mjEVENT_SCROLL, mjBUTTON_NONE, dy)) return;
    free_camera();
    constexpr double kZoom = -0.05;
    mjv_moveCamera(&model(), mjMOUSE_ZOOM, 0.0, kZoom * dy, &camera);
  }

  void seek_cursor() {
    const auto range = *source->range();
    paused = true;
    source->seek(range.first + slider.fraction(cursor_x) * (range.second - range.first));
  }

  /// Applies the perturbation by the mouse in each step: the engine's, but a pull by a spring that
  /// is scaled to the whole robot; the engine's is scaled to one light link.
  void pull(const mjModel& m, mjData& d) {
    // Those of the experiment's faults stay.
    if (pulled_body > 0) mju_zero(d.xfrc_applied + 6 * pulled_body, 6);
    pulled_body = 0;
    pull_force = 0.0;
    if (perturb.active == 0) return;
    mjv_applyPerturbPose(&m, &d, &perturb, 0);
    const int body = perturb.select;
    if (!is_target(body)) pulled_body = body;
    if (perturb.active != mjPERT_TRANSLATE || is_target(body)) {
      mjv_applyPerturbForce(&m, &d, &perturb);
      return;
    }
    const double weight = m.body_subtreemass[m.body_rootid[body]] * kEarthGravity;
    const double stiffness = kPullWeights * weight / (0.1 * m.stat.extent);
    mjtNum point[3], force[3], lever[3];
    mju_mulMatVec3(point, d.xmat + 9 * body, perturb.localpos);
    mju_addTo3(point, d.xpos + 3 * body);
    mju_sub3(force, perturb.refselpos, point);
    mju_scl3(force, force, stiffness);
    mju_sub3(lever, point, d.xipos + 3 * body);
    mju_copy3(d.xfrc_applied + 6 * body, force);
    mju_cross(d.xfrc_applied + 6 * body + 3, lever, force);
    pull_force = mju_norm3(force);
  }

  // ---- frames --------------------------------------------------------------------------------

  void move_on(double wall_seconds) {
    if (paused) {
      if (live != nullptr && perturb.active != 0 && perturb.select > 0 &&
          source->stopped().empty()) {
        mjv_applyPerturbPose(&model(), &source->data(), &perturb, 1);
        source->refresh();
      }
      return;
    }
    simulated_since +=
        source->advance(speed * wall_seconds, std::max<Clock::duration>(kStepBudget, drawing_time));
    if (!source->stopped().empty()) paused = true;
  }

  void measure_speed() {
    const double wall = std::chrono::duration<double>(Clock::now() - measured_from).count();
    if (paused) {
      measured_speed = 0.0;
    } else if (wall < 1.0) {
      return;
    } else {
      measured_speed = simulated_since / wall;
    }
    simulated_since = 0.0;
    measured_from = Clock::now();
  }

  void draw() {
    if (live != nullptr) {
      if (const std::string error = live->take_recording_error(); !error.empty()) tell(error);
    }
    const mjrRect whole = picture();
    if (whole.width <= 0 || whole.height <= 0) return;
    const bool centerline = show_centerline && !drawn->centerlines.robots().empty();
    view.flags[mjVIS_TRANSPARENT] = centerline ? 1 : 0;
    mjv_updateScene(&model(), &source->data(), &view, &perturb, &camera, mjCAT_ALL, &scene);
    if (!show_links) drawn->smooth_body.draw(scene);
    simulation::scale_force_arrows(model(), scene);
    drawn->shadows.add(model(), source->data());
    drawn->shadows.aim(model(), scene, context);
    if (centerline) {
      // Links overlap and have two sides: what the engine calls transparent still hides a line
      // inside them.
      for (int i = 0; i < scene.ngeom; ++i) {
        if (scene.geoms[i].category == mjCAT_DYNAMIC) scene.geoms[i].rgba[3] *= kSeeThrough;
      }
      drawn->centerlines.draw(source->data(), scene, kCenterlineColor);
    }
    scene.flags[mjRND_SHADOW] = scene.flags[mjRND_REFLECTION] = shadows ? 1 : 0;
    mjr_setBuffer(mjFB_WINDOW, &context);
    mjr_render(whole, &scene, &context);
    if (show_plots && !show_help) draw_plots(whole);  // both need the right side
    if (source->range()) draw_slider(whole);
    if (show_info) draw_info(whole);
    if (show_info && live != nullptr) draw_checks(whole);
    if (show_help) draw_help(whole);
    mjrRect beside = whole;  // the numbers
    if (show_info) beside.left += numbers_width;
    beside.width -= beside.left - whole.left;
    if (glfwGetTime() < notice_end) {
      mjr_overlay(mjFONT_NORMAL, mjGRID_TOP, beside, wrapped(notice, beside.width).c_str(), nullptr,
                  &context);
    }
    if (has_panel()) panel->draw(framebuffer(), paused);
    const std::string stopped = source->stopped();
    if (!stopped.empty() && !source->range()) {
      mjr_overlay(mjFONT_BIG, mjGRID_TOP, beside, "\n\nThe simulation stopped", nullptr, &context);
      mjr_overlay(
          mjFONT_NORMAL, mjGRID_TOP, beside,
          fmt::format("\n\n\n\n\n\n{}\nBackspace: reset", wrapped(stopped, beside.width)).c_str(),
          nullptr, &context);
    }
  }

  [[nodiscard]] int width_of(char c) const {
    return context.charWidth[std::clamp(static_cast<int>(c), 0, 126)];
  }

  /// Of the longest line, in pixels.
  [[nodiscard]] int width_of(const std::string& text) const {
    int widest = 0, line = 0;
    for (const char c : text) {
      line = c == '\n' ? 0 : line + width_of(c);
      widest = std::max(widest, line);
    }
    return widest;
  }

  /// In lines that fit into a width, in pixels: broken at spaces, long words anywhere.
  [[nodiscard]] std::string wrapped(const std::string& text, int width) const {
    const int most = std::min(width - 2 * context.charHeight, 70 * width_of('n'));
    std::string out, word;
    int column = 0;
    const auto put = [&] {
      const int size = width_of(word);
      if (column > 0 && column + size > most) {
        out.back() = '\n';  // the space before the word
        column = 0;
      }
      for (const char c : word) {
        if (column > 0 && column + width_of(c) > most) {
          out += '\n';
          column = 0;
        }
        out += c;
        column += width_of(c);
      }
      word.clear();
    };
    for (const char c : text) {
      if (c != ' ' && c != '\n') {
        word += c;
        continue;
      }
      put();
      out += c;
      column = c == '\n' ? 0 : column + width_of(c);
    }
    put();
    return out;
  }

  void draw_info(mjrRect whole) {
    const mjData& d = source->data();
    std::string names, values;
    const auto line = [&](const char* name, const std::string& value) {
      append_line(names, name);
      append_line(values, value);
    };
    line("Time", fmt::format("{:.3f} s", d.time));
    line("Speed",
         fmt::format("{}{}", speed_text(speed),
                     paused ? ", paused" : fmt::format(", real {:.2g} x", measured_speed)));
    const std::span<const double> sensors(d.sensordata,
                                          static_cast<std::size_t>(model().nsensordata));
    const bool several = drawn->robots.robots().size() > 1;
    for (const simulation::RobotBodies::Robot& robot : drawn->robots.robots()) {
      const auto value = [&](const char* name) {
        const int id = mj_name2id(&model(), mjOBJ_SENSOR, (robot.prefix + name).c_str());
        return id < 0 ? std::nan("") : sensors[static_cast<std::size_t>(model().sensor_adr[id])];
      };
      if (several) line("Robot", robot.name());
      const double tip_error = value("tip_error"), status = value("status"),
                   progress = value("progress");
      if (!std::isnan(tip_error)) line("Tip error", fmt::format("{:.2f} mm", 1e3 * tip_error));
      if (!std::isnan(status)) line("Status", status_text(status));
      if (!std::isnan(progress)) line("Progress", fmt::format("{:.0f} %", 100.0 * progress));
    }
    if (several) line("All", "");
    const double force = source->signals().wall_force(d);
    if (!std::isnan(force)) line("Wall force", fmt::format("{:.2f} N", force));
    line("Contacts", fmt::format("{}", d.ncon));
    if (view.flags[mjVIS_CONTACTPOINT] != 0)
      for (const NamedForce& pair : strongest_contacts())
        line(pair.names.c_str(), fmt::format("{:.2f} N", pair.force));
    if (options.has_motions && !live->motions_on) line("Motions", "off (M)");
    if (perturb.select > 0) {
      const char* name = mj_id2name(&model(), mjOBJ_BODY, perturb.select);
      line("Selected", name != nullptr ? name : fmt::format("body {}", perturb.select));
    }
    if (pull_force > 0.0) line("Pull", fmt::format("{:.2f} N", pull_force));
    if (live != nullptr && live->recording())
      line("Recording", fmt::format("{:.2f} s", d.time - live->recorded_since()));
    line("Help", "F1");
    if (panel && !show_panel) line("Panel", "F3");
    mjr_overlay(mjFONT_NORMAL, mjGRID_TOPLEFT, whole, names.c_str(), values.c_str(), &context);
    numbers_width = width_of(names) + width_of(values) + 3 * context.charHeight;  // with margins
  }

  static const char* verdict(const simulation::LiveRun::LiveCheck& live_check) {
    const simulation::Check& check = live_check.check;
    if (live_check.holds) return "ok";
    const bool too_high = check.metric.statistic == simulation::Statistic::Max && check.max &&
                          live_check.value > *check.max;
    const bool too_low = check.metric.statistic == simulation::Statistic::Min && check.min &&
                         live_check.value < *check.min;
    return too_high || too_low ? "failed" : "not yet";
  }

  /// The checks of the experiment, with their values so far.
  void draw_checks(mjrRect whole) {
    std::string names, values;
    for (const simulation::LiveRun::LiveCheck& live_check : live->checks()) {
      append_line(names, live_check.check.name);
      append_line(values,
                  fmt::format("{}  ({})  {}", readable(live_check.value, live_check.unit),
                              limits(live_check.check, live_check.unit), verdict(live_check)));
    }
    if (!names.empty())
      mjr_overlay(mjFONT_NORMAL, mjGRID_BOTTOMLEFT, whole, names.c_str(), values.c_str(), &context);
  }

  struct NamedForce {
    std::string names;
    double force;  ///< sum of the normal forces [N]
  };

  /// The pairs of bodies that press most on each other.
  std::vector<NamedForce> strongest_contacts() {
    mjData& d = source->data();
    std::map<std::pair<int, int>, double> forces;
    for (int i = 0; i < d.ncon; ++i) {
      mjtNum force[6];
      mj_contactForce(&model(), &d, i, force);
      if (d.contact[i].geom[0] < 0 || d.contact[i].geom[1] < 0) continue;
      forces[{d.contact[i].geom[0], d.contact[i].geom[1]}] += force[0];
    }
    std::vector<NamedForce> named;
    named.reserve(forces.size());
    for (const auto& [pair, force] : forces)
      named.push_back({geom_name(pair.first) + " - " + geom_name(pair.second), force});
    const std::size_t count = std::min(kNamedContacts, named.size());
    std::partial_sort(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(count),
                      named.end(),
                      [](const NamedForce& a, const NamedForce& b) { return a.force > b.force; });
    named.resize(count);
    return named;
  }

  /// Of the geom, or of its body if it has none.
  std::string geom_name(int geom) const {
    if (const char* name = mj_id2name(&model(), mjOBJ_GEOM, geom)) return name;
    const char* body = mj_id2name(&model(), mjOBJ_BODY, model().geom_bodyid[geom]);
    return body != nullptr ? body : fmt::format("geom {}", geom);
  }

  void draw_help(mjrRect whole) {
    std::string keys, texts;
    const auto add = [&](std::span<const HelpLine> lines) {
      for (const HelpLine& line : lines) {
        append_line(keys, line.keys);
        append_line(texts, line.what);
      }
    };
    if (live != nullptr) {
      add(kLiveHelp);
      if (options.has_motions) add(kMotionHelp);
      add(kHelp);
      add(kDragHelp);
    } else {
      add(kRecordingHelp);
      add(kHelp);
    }
    add(kLastHelp);
    if (!drawn->centerlines.robots().empty()) {
      keys += "\n \nYellow line\nBlue line\nRed line";
      texts += "\n \npath\nplanned centerline\nactual centerline";
    }
    mjr_overlay(mjFONT_NORMAL, mjGRID_TOPRIGHT, whole, keys.c_str(), texts.c_str(), &context);
  }

  void draw_plots(mjrRect whole) {
    const auto& points = source->history().points();
    // From zero to the largest value, but at least to `smallest_top`, so that noise is not
    // magnified.
    const auto fill = [&](mjvFigure& figure, double scale, double smallest_top, auto value) {
      int count = 0;
      double largest = 0.0;
      for (const auto& point : points) {
        const double y = value(point) * scale;
        if (!std::isfinite(y) || count >= mjMAXLINEPNT) continue;
        figure.linedata[0][2 * count] = static_cast<float>(point.time);
        figure.linedata[0][2 * count + 1] = static_cast<float>(y);
        largest = std::max(largest, y);
        ++count;
      }
      figure.linepnt[0] = count;
      figure.selection = static_cast<float>(source->data().time);
      figure.flg_selection = source->range() ? 1 : 0;
      if (count == 0) return false;
      const double first = figure.linedata[0][0], last = figure.linedata[0][2 * count - 2];
      fit_times(figure, first, last);
      fit_values(figure, std::max(largest, smallest_top));
      return true;
    };
    const int bottom = source->range() ? 52 : 10;
    mjrRect place{0, bottom, std::min(360, 3 * whole.width / 10), std::min(190, whole.height / 4)};
    place.left = whole.width - place.width - 10;
    if (fill(*force_figure, 1.0, 0.2, [](const auto& p) { return p.wall_force; })) {
      mjr_figure(place, force_figure.get(), &context);
      place.bottom += place.height + 8;
    }
    if (fill(*tip_figure, 1e3, 0.2, [](const auto& p) { return p.tip_error; })) {
      mjr_figure(place, tip_figure.get(), &context);
    }
  }

  void draw_slider(mjrRect whole) {
    const auto [first, last] = *source->range();
    constexpr int kMargin = 24, kHeight = 10, kBottom = 14;
    slider.bar = {kMargin, kBottom, std::max(1, whole.width - 2 * kMargin), kHeight};
    const double fraction =
        last > first ? std::clamp((source->data().time - first) / (last - first), 0.0, 1.0) : 0.0;
    const int done = static_cast<int>(std::lround(fraction * slider.bar.width));
    mjr_rectangle({0, 0, whole.width, 2 * kBottom + kHeight}, 0.08F, 0.10F, 0.13F, 0.75F);
    mjr_rectangle(slider.bar, 0.35F, 0.38F, 0.42F, 1.0F);
    mjr_rectangle({slider.bar.left, slider.bar.bottom, done, kHeight}, 0.35F, 0.70F, 1.0F, 1.0F);
    constexpr int kKnob = 20;
    mjr_rectangle(
        {slider.bar.left + done - kKnob / 4, kBottom + (kHeight - kKnob) / 2, kKnob / 2, kKnob},
        1.0F, 1.0F, 1.0F, 1.0F);
    const std::string text = fmt::format("{:.2f} / {:.2f} s", source->data().time, last);
    mjrRect above = whole;
    above.bottom = 2 * kBottom + kHeight;
    above.height = std::max(1, whole.height - above.bottom);
    mjr_overlay(mjFONT_NORMAL, mjGRID_BOTTOMLEFT, above, paused ? "Paused" : "Playing",
                text.c_str(), &context);
  }

  void run() {
    Clock::time_point before = Clock::now();
    while (glfwWindowShouldClose(window) == GLFW_FALSE) {
      const Clock::time_point now = Clock::now();
      move_on(std::min(kLongestFrame, std::chrono::duration<double>(now - before).count()));
      before = now;
      measure_speed();
      notice_changed_files();
      const Clock::time_point drawing = Clock::now();
      draw();
      if (picture_desired) take_picture();
      glfwSwapBuffers(window);
      drawing_time = Clock::now() - drawing;
      notice_slow_drawing();
      if (paused) {
        glfwWaitEventsTimeout(kIdleWait);
      } else {
        glfwPollEvents();
      }
    }
  }

  /// Without a GPU, shadows cost most of a frame.
  void notice_slow_drawing() {
    constexpr auto kSlow = std::chrono::milliseconds(100);
    constexpr int kStallTimeout = 10;  // frames
    slow_frames = drawing_time > kSlow ? slow_frames + 1 : 0;
    if (slow_frames == kStallTimeout && !shadows_chosen) shadows = false;
  }

  void take_screenshot() {
    if (source->range()) {
      source->seek(options.at);
    } else {
      source->advance(options.at, kNoBudget);
      // After a step, the poses are those of its start.
      if (source->stopped().empty()) source->refresh();
    }
    paused = true;
    for (int frame = 0; frame < 2;
         ++frame) {  // the second after the window system has settled the size
      glfwPollEvents();
      draw();
      if (frame == 0) glfwSwapBuffers(window);
    }
    write_picture(options.screenshot);
  }

  /// Writes what has been drawn.
  void write_picture(const std::filesystem::path& file) {
    const mjrRect whole = framebuffer();
    const auto row = static_cast<std::size_t>(3 * whole.width);
    std::vector<std::uint8_t> bottom_up(row * static_cast<std::size_t>(whole.height));
    mjr_readPixels(bottom_up.data(), nullptr, whole, &context);
    simulation::Image image{.width = whole.width, .height = whole.height, .rgb = {}};
    for (std::size_t y = static_cast<std::size_t>(whole.height); y-- > 0;) {
      const auto line = bottom_up.begin() + static_cast<std::ptrdiff_t>(y * row);
      image.rgb.insert(image.rgb.end(), line, line + static_cast<std::ptrdiff_t>(row));
    }
    simulation::write_png(file, image);
  }

  /// In the working directory, under the first free number.
  void take_picture() {
    picture_desired = false;
    std::filesystem::path file;
    std::error_code ignored;
    int number = 1;
    do {
      file = fmt::format("tendril_{:03}.png", number++);
    } while (std::filesystem::exists(file, ignored));
    try {
      write_picture(file);
      tell("Written: " + file.string());
    } catch (const std::exception& error) {
      tell(error.what());
    }
  }
};

Viewer::Viewer(std::unique_ptr<simulation::ViewSource> source, const ViewerOptions& options)
    : impl_(std::make_unique<Impl>(std::move(source), options)) {
  impl_->open();
}

Viewer::~Viewer() = default;

const simulation::ViewSource& Viewer::source() const { return *impl_->source; }

void Viewer::run() {
  if (impl_->options.screenshot.empty()) {
    impl_->run();
  } else {
    impl_->take_screenshot();
  }
}

}  // namespace tendril
