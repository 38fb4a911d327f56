#include "apps/tendril/window/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/tendril/window/key_map.hpp"
#include "apps/tendril/window/overlays.hpp"
#include "rendering/framing.hpp"
#include "rendering/offscreen.hpp"

namespace tendril {
namespace {

constexpr double kSlowest = 1.0 / 64.0, kFastest = 64.0;
constexpr double kLongestFrame = 1.0;  // s of wall time for which a slow frame compensates
constexpr auto kStepBudget = std::chrono::milliseconds(33);  // computing time per frame
constexpr auto kNoBudget = std::chrono::hours(24);           // a screenshot waits for its time
constexpr double kIdleWait = 1.0 / 30.0;                     // s between frames while paused
constexpr double kDoubleClick = 0.3;                         // s
constexpr double kNoticeTime = 3.0;                          // s, of a notice
constexpr int kSceneGeoms = 10000;
constexpr int kControlModifier = 2;  // of GLFW
constexpr float kSeeThrough = 0.4F;
constexpr float kCenterlineColor[4] = {0.95F, 0.2F, 0.45F, 1.0F};

/// Takes the state of another model's data over if its sizes are the same; returns whether.
bool take_state(simulation::ViewSource& from, simulation::ViewSource& to) {
  const mjModel &before = from.model(), &after = to.model();
  const auto sizes = [](const mjModel& m) {
    return std::array<mjtSize, 6>{m.nq, m.nv, m.na, m.nu, m.nmocap, m.npluginstate};
  };
  const auto state_size = mj_stateSize(&before, mjSTATE_INTEGRATION);
  if (sizes(before) != sizes(after) || !from.stopped().empty() ||
      state_size != mj_stateSize(&after, mjSTATE_INTEGRATION))
    return false;
  std::vector<mjtNum> state(static_cast<std::size_t>(state_size));
  mj_getState(&before, &from.data(), state.data(), mjSTATE_INTEGRATION);
  mj_setState(&after, &to.data(), state.data(), mjSTATE_INTEGRATION);
  to.refresh();
  return true;
}

/// The first free name of a numbered file.
template <class Name>
std::filesystem::path first_free(const Name& name) {
  std::error_code ignored;
  for (int number = 1;; ++number) {
    std::filesystem::path file = name(number);
    if (!std::filesystem::exists(file, ignored)) return file;
  }
}

}  // namespace

DrawnModel::DrawnModel(const mjModel& model, int font_scale)
    : robots(model), centerlines(model), smooth_body(model), drive_routes(model) {
  mjv_defaultScene(&scene);
  mjr_defaultContext(&context);
  mjv_makeScene(&model, &scene, kSceneGeoms);
  mjr_makeContext(&model, &context, font_scale);
}

DrawnModel::~DrawnModel() {
  mjv_freeScene(&scene);
  mjr_freeContext(&context);
}

Session::Session(std::unique_ptr<simulation::ViewSource> first, const ViewerOptions& desired)
    : source(std::move(first)),
      options(desired),
      window(options.title, options.width, options.height, options.screenshot.empty()),
      drawn(std::make_unique<DrawnModel>(source->model(), window.font_scale())),
      camera(*source, {.width = options.width, .height = options.height, .camera = options.camera}),
      plots(drawn->robots.robots().size() > 1),
      watcher(options.files),
      paused(options.start_paused),
      speed(options.speed) {
  shown.panel = options.panel;
  shown.help = options.help;
  mjv_defaultOption(&shown.scene);
  shown.scene.flags[mjVIS_CONTACTFORCE] = 1;
  shown.scene.flags[mjVIS_CONTACTPOINT] = 0;
  listen();
  attach();
}

void Session::attach() {
  source->act_before_steps([this](const mjModel& m, mjData& d) { mouse.act(m, d); });
  panel.reset();
  if (simulation::LiveRun* const run = source->live_run()) {
    panel.emplace(*run, drawn->context,
                  ControlPanel::Actions{[this] { record_or_end(); },
                                        [this](const std::string& text) { tell(text); }});
  }
}

/// Shows the scene of the changed files, in the state of the one before if its sizes are the same.
/// Reports what is wrong with the files; the scene before continues.
void Session::reopen() {
  std::unique_ptr<simulation::ViewSource> next;
  try {
    next = options.reopen();
  } catch (const std::exception& error) {
    tell(error.what());
    return;
  }
  const bool goes_on = take_state(*source, *next);
  panel.reset();
  source = std::move(next);
  mouse.forget();
  drawn.reset();  // before the next: one context at a time
  drawn = std::make_unique<DrawnModel>(model(), window.font_scale());
  attach();
  camera.keep(*source, viewport());
  tell(goes_on ? "Loaded again" : "Loaded again, from the start");
}

void Session::tell(const std::string& text) {
  notice = text;
  notice_end = window.time() + kNoticeTime;
}

bool Session::has_panel() const {
  return shown.panel && panel && window.framebuffer().width > 2 * panel->width();
}

mjrRect Session::viewport() const {
  mjrRect rectangle = window.framebuffer();
  if (has_panel()) rectangle.width -= panel->width();
  return rectangle;
}

// ---- actions

void Session::run_or_pause() {
  if (!source->is_live() && paused && !source->stopped().empty()) source->reset();
  paused = !paused;
}

void Session::step(int count) {
  paused = true;
  source->step(count);
}

void Session::jump(double fraction) {
  const auto [first, last] = *source->range();
  paused = true;
  source->seek(source->data().time + fraction * (last - first));
}

void Session::change_speed(double factor) {
  speed = std::clamp(factor * speed, kSlowest, kFastest);
}

void Session::switch_contacts() {
  shown.scene.flags[mjVIS_CONTACTFORCE] ^= 1;
  shown.scene.flags[mjVIS_CONTACTPOINT] = shown.scene.flags[mjVIS_CONTACTFORCE];
}

void Session::free_camera() {
  mouse.select({});
  camera.choose(-1, *source, viewport());
}

/// Into the first free folder, as `tendril run` names its files.
void Session::record_or_end() {
  if (source->recorded_since()) {
    source->end_recording();
    tell("Written: " + recording_.string());
    return;
  }
  const std::filesystem::path folder = first_free([&](int number) {
    return std::filesystem::absolute(fmt::format("out/{}-window{}", options.name, number));
  });
  recording_ = folder / "rollout.h5";
  try {
    simulation::make_output_folder(folder);
    source->start_recording(recording_);
    tell("Recording: " + recording_.string());
  } catch (const std::exception& error) {
    tell(error.what());
  }
}

// ---- mouse

void Session::listen() {
  window.listen({.key = [this](int key, int modifiers) { press(*this, key, modifiers); },
                 .button = [this](mjtButton button, bool is_pressed,
                                  int modifiers) { on_button(button, is_pressed, modifiers); },
                 .move = [this](double dx, double dy) { on_move(dx, dy); },
                 .scroll = [this](double dy) { on_scroll(dy); }});
}

bool Session::on_panel(mjtEvent type, mjtButton button, double scroll) {
  return has_panel() && panel->on_mouse(type, window.cursor_x(), window.cursor_y(), button, scroll);
}

void Session::on_button(mjtButton button, bool is_pressed, int modifiers) {
  if (on_panel(is_pressed ? mjEVENT_PRESS : mjEVENT_RELEASE, button)) return;
  if (is_pressed) {
    on_press(button, modifiers);
  } else {
    mouse.end();
    drag_ = Drag::None;
  }
}

void Session::on_press(mjtButton button, int modifiers) {
  const double now = window.time(), x = window.cursor_x(), y = window.cursor_y();
  const bool twice = button == mjBUTTON_LEFT && now - last_click_ < kDoubleClick;
  last_click_ = button == mjBUTTON_LEFT ? now : -1.0;
  if (source->range() && is_on(time_bar(viewport()), x, y)) {
    drag_ = Drag::Bar;
    seek_cursor();
    return;
  }
  drag_ = Drag::View;
  const MouseForce::Hit hit = MouseForce::find(model(), source->data(), shown.scene, drawn->scene,
                                               {.x = x, .y = y, .viewport = viewport()});
  if (twice) mouse.select(hit);
  if (!source->is_live() || button == mjBUTTON_MIDDLE) return;
  const bool control = (modifiers & kControlModifier) != 0;
  const bool on_target = MouseForce::is_target(model(), hit.body);
  if (!control && !on_target) return;
  // With Ctrl the body under the cursor is used unless one is selected; targets do not need Ctrl.
  if (on_target || mouse.selected() <= 0) mouse.select(hit);
  if (mouse.selected() <= 0) return;
  drag_ = Drag::Body;
  mouse.begin(model(), source->data(), drawn->scene, control && button == mjBUTTON_LEFT);
  if (MouseForce::is_target(model(), mouse.selected())) source->switch_motions(false);
}

void Session::on_move(double dx, double dy) {
  if (on_panel(mjEVENT_MOVE)) return;
  const bool left = window.is_held(mjBUTTON_LEFT), right = window.is_held(mjBUTTON_RIGHT);
  const bool shift = window.is_shift_held();
  if (drag_ == Drag::Bar) {
    seek_cursor();
  } else if (drag_ == Drag::Body) {
    mouse.move(model(), source->data(), drawn->scene, dx, dy, shift, right);
  } else if (drag_ == Drag::View) {
    const int action = right  ? (shift ? mjMOUSE_MOVE_H : mjMOUSE_MOVE_V)
                       : left ? (shift ? mjMOUSE_ROTATE_H : mjMOUSE_ROTATE_V)
                              : mjMOUSE_ZOOM;
    camera.move(model(), action, dx, dy, drawn->scene);
  }
}

void Session::on_scroll(double dy) {
  if (on_panel(mjEVENT_SCROLL, mjBUTTON_NONE, dy)) return;
  constexpr double kZoom = -0.05;
  camera.move(model(), mjMOUSE_ZOOM, 0.0, kZoom * dy, drawn->scene);
}

void Session::seek_cursor() {
  const auto [first, last] = *source->range();
  const mjrRect bar = time_bar(viewport());
  const double fraction = std::clamp((window.cursor_x() - bar.left) / bar.width, 0.0, 1.0);
  paused = true;
  source->seek(first + fraction * (last - first));
}

// ---- frames

void Session::run() {
  Clock::time_point before = Clock::now();
  while (!window.is_closing()) {
    const Clock::time_point now = Clock::now();
    move_on(std::min(kLongestFrame, std::chrono::duration<double>(now - before).count()));
    before = now;
    measure_speed();
    if (options.reopen && watcher.has_changed(window.time())) reopen();
    const Clock::time_point drawing = Clock::now();
    draw();
    if (screenshot_requested) save_screenshot();
    window.swap();
    drawing_time_ = Clock::now() - drawing;
    notice_slow_drawing();
    if (paused) {
      window.wait_for_events(kIdleWait);
    } else {
      window.handle_events();
    }
  }
}

void Session::move_on(double wall_seconds) {
  if (paused) {
    if (source->is_live() && mouse.is_active() && source->stopped().empty()) {
      mouse.move_paused(model(), source->data());
      source->refresh();
    }
    return;
  }
  const auto budget = std::max<Clock::duration>(kStepBudget, drawing_time_);
  simulated_since_ += source->advance(speed * wall_seconds, budget);
  if (!source->stopped().empty()) paused = true;
}

void Session::measure_speed() {
  const double wall = std::chrono::duration<double>(Clock::now() - measured_from_).count();
  if (!paused && wall < 1.0) return;
  measured_speed = paused ? 0.0 : simulated_since_ / wall;
  simulated_since_ = 0.0;
  measured_from_ = Clock::now();
}

void Session::draw() {
  if (const std::string error = source->take_recording_error(); !error.empty()) tell(error);
  const mjrRect whole = viewport();
  if (whole.width <= 0 || whole.height <= 0) return;
  mjvScene& scene = drawn->scene;
  const bool centerline = shown.centerline && !drawn->centerlines.robots().empty();
  shown.scene.flags[mjVIS_TRANSPARENT] = centerline ? 1 : 0;
  mjv_updateScene(&model(), &source->data(), &shown.scene, &mouse.perturb(), &camera.camera(),
                  mjCAT_ALL, &scene);
  simulation::see_from_body(model(), camera.camera(), scene);
  if (!shown.links) drawn->smooth_body.draw(scene);
  drawn->drive_routes.draw(model(), source->data(), scene);
  simulation::scale_force_arrows(model(), scene);
  drawn->shadows.add(model(), source->data());
  drawn->shadows.aim(model(), scene, drawn->context);
  if (centerline) {
    // Links overlap and have two sides: what the engine calls transparent still hides a line inside
    // them.
    for (int i = 0; i < scene.ngeom; ++i)
      if (scene.geoms[i].category == mjCAT_DYNAMIC) scene.geoms[i].rgba[3] *= kSeeThrough;
    drawn->centerlines.draw(source->data(), scene, kCenterlineColor);
  }
  scene.flags[mjRND_SHADOW] = scene.flags[mjRND_REFLECTION] = shown.shadows ? 1 : 0;
  mjr_setBuffer(mjFB_WINDOW, &drawn->context);
  mjr_render(whole, &scene, &drawn->context);
  draw_overlays(*this, whole);
  if (has_panel()) panel->draw(window.framebuffer(), paused);
}

/// Notices slow drawing: without a GPU, shadows cost most of a frame.
void Session::notice_slow_drawing() {
  constexpr auto kSlow = std::chrono::milliseconds(100);
  constexpr int kManyFrames = 10;
  slow_frames_ = drawing_time_ > kSlow ? slow_frames_ + 1 : 0;
  if (slow_frames_ == kManyFrames && !shown.shadows_chosen) shown.shadows = false;
}

// ---- images

void Session::take_screenshot() {
  if (source->is_live()) {
    source->advance(options.at, kNoBudget);
    // After a step, the poses are those of its start.
    if (source->stopped().empty()) source->refresh();
  } else {
    source->seek(options.at);
  }
  paused = true;
  // The second frame comes after the window system has settled the size.
  for (int frame = 0; frame < 2; ++frame) {
    window.handle_events();
    draw();
    if (frame == 0) window.swap();
  }
  write_screenshot(options.screenshot);
}

/// Writes what has been drawn.
void Session::write_screenshot(const std::filesystem::path& file) {
  const mjrRect whole = window.framebuffer();
  const auto row = static_cast<std::size_t>(3 * whole.width);
  std::vector<std::uint8_t> bottom_up(row * static_cast<std::size_t>(whole.height));
  mjr_readPixels(bottom_up.data(), nullptr, whole, &drawn->context);
  simulation::Image image{.width = whole.width, .height = whole.height, .rgb = {}};
  for (std::size_t y = static_cast<std::size_t>(whole.height); y-- > 0;) {
    const auto line = bottom_up.begin() + static_cast<std::ptrdiff_t>(y * row);
    image.rgb.insert(image.rgb.end(), line, line + static_cast<std::ptrdiff_t>(row));
  }
  simulation::write_png(file, image);
}

/// Saves a screenshot in the working directory, under the first free number.
void Session::save_screenshot() {
  screenshot_requested = false;
  const std::filesystem::path file =
      first_free([](int number) { return fmt::format("tendril_{:03}.png", number); });
  try {
    write_screenshot(file);
    tell("Written: " + file.string());
  } catch (const std::exception& error) {
    tell(error.what());
  }
}

}  // namespace tendril
