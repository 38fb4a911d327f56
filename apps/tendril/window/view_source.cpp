#include "apps/tendril/window/view_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "rendering/framing.hpp"
#include "simulation/engine/engine_log.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"
#include "tendril/recording/rollout_file.hpp"

namespace tendril::simulation {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLiveWindow = 10.0;      // s of a running scene that plots show
constexpr std::size_t kPlotPoints = 500;  // intervals of a plot
constexpr std::int64_t kMaxRows = 20000;  // read to plot a recording

std::string_view name_of(const mjModel& model, mjtObj type, int id) {
  const char* name = mj_id2name(&model, type, id);
  return name == nullptr ? std::string_view() : name;
}

std::span<const double> sensordata(const mjModel& model, const mjData& data) {
  return {data.sensordata, static_cast<std::size_t>(model.nsensordata)};
}

/// The larger of two values, each of which may be NaN.
double larger(double a, double b) { return std::isnan(a) || b > a ? b : a; }

}  // namespace

// ---- signals and history ---------------------------------------------------------------------

ViewSignals::ViewSignals(const mjModel& model) : model_(model), robots_(model) {}

double ViewSignals::sensor(const char* ending, std::span<const double> values) const {
  double largest = kNotKnown;
  for (int i = 0; i < model_.nsensor; ++i) {
    if (!name_of(model_, mjOBJ_SENSOR, i).ends_with(ending)) continue;
    largest = larger(largest, mju_norm(values.data() + model_.sensor_adr[i], model_.sensor_dim[i]));
  }
  return largest;
}

double ViewSignals::wall_force(const mjData& data) const noexcept {
  if (robots_.empty()) return kNotKnown;
  double sum = 0.0;
  for (int i = 0; i < data.ncon; ++i) {
    if (!robots_.meets_surroundings(data.contact[i].geom[0], data.contact[i].geom[1])) continue;
    mjtNum force[6];
    mj_contactForce(&model_, &data, i, force);
    sum += force[0];
  }
  return sum;
}

double ViewSignals::wall_force(std::span<const ContactRow> contacts) const noexcept {
  if (robots_.empty()) return kNotKnown;
  double sum = 0.0;
  for (const ContactRow& contact : contacts) {
    if (robots_.meets_surroundings(contact.geom1, contact.geom2)) sum += contact.force[0];
  }
  return sum;
}

void ViewHistory::add(const Point& point) {
  if (!points_.empty() && point.time < points_.back().time) points_.clear();
  if (!points_.empty() && point.time < points_.back().time + stretch_) {
    Point& last = points_.back();
    last.tip_error = larger(last.tip_error, point.tip_error);
    last.wall_force = larger(last.wall_force, point.wall_force);
    return;
  }
  points_.push_back(point);
  if (points_.size() > capacity_) points_.pop_front();
}

// ---- running scene ------------------------------------------------------------------------

namespace {

/// Calls of the engine in which manual controls take the place of those that controllers write:
/// after the controllers, before the actuators.
class ByHand {
 public:
  explicit ByHand(const std::vector<LiveRun::Control>& controls) {
    ours = &controls;
    mjcb_control = [](const mjModel* m, mjData* d) {
      for (int i = 0; i < m->nu; ++i) {
        const LiveRun::Control& control = (*ours)[static_cast<std::size_t>(i)];
        if (control.by_hand) d->ctrl[i] = control.command;
      }
    };
  }
  ~ByHand() { mjcb_control = nullptr; }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

 private:
  static thread_local const std::vector<LiveRun::Control>* ours;
};
thread_local const std::vector<LiveRun::Control>* ByHand::ours = nullptr;

/// Everything that the next step depends on. The memory of a controller's last faults, which one of
/// the two lacks, is at its own end.
void copy_state(const mjModel& from_model, const mjData& from, const mjModel& to_model,
                mjData& to) {
  constexpr unsigned kState = mjSTATE_INTEGRATION & ~static_cast<unsigned>(mjSTATE_PLUGIN);
  std::vector<mjtNum> state(static_cast<std::size_t>(mj_stateSize(&from_model, kState)));
  mj_getState(&from_model, &from, state.data(), kState);
  const auto put = [&] {
    mj_setState(&to_model, &to, state.data(), kState);
    for (int i = 0; i < from_model.nplugin; ++i) {
      std::copy_n(from.plugin_state + from_model.plugin_stateadr[i],
                  std::min(from_model.plugin_statenum[i], to_model.plugin_statenum[i]),
                  to.plugin_state + to_model.plugin_stateadr[i]);
    }
  };
  put();
  mj_forward(&to_model, &to);  // what is drawn
  put();
}

}  // namespace

LiveRun::LiveRun(Experiment experiment, RunChanges changes, std::string command_line)
    : experiment_(std::move(experiment)),
      changes_(std::move(changes)),
      command_line_(std::move(command_line)),
      run_(prepare_run(experiment_, changes_)),
      faults_(run_.faults, *run_.scene.model),
      start_(make_data(*run_.scene.model)),
      signals_(*run_.scene.model),
      history_(kLiveWindow / kPlotPoints, kPlotPoints),
      monitor_(*run_.data) {
  mj_copyData(start_.get(), &model(), run_.data.get());
  std::erase_if(experiment_.checks, [](const Check& check) { return check.metric.of_run(); });
  controls.resize(static_cast<std::size_t>(model().nu));
  start_checks();
  record();
}

LiveRun::~LiveRun() { end_recording(); }

void LiveRun::start_checks() {
  metrics_.emplace(*run_.scene.model);
  for (const Check& check : experiment_.checks) add_check(*metrics_, check);
}

std::vector<LiveCheck> LiveRun::checks() const {
  std::vector<LiveCheck> all;
  all.reserve(experiment_.checks.size());
  for (const Check& check : experiment_.checks) {
    const int index = static_cast<int>(all.size());
    const double value = metrics_->value(index);
    all.push_back({check, metrics_->unit(index), value, check.holds(value)});
  }
  return all;
}

void LiveRun::record() {
  const auto sensors = sensordata(model(), data());
  history_.add({.time = data().time,
                .tip_error = signals_.sensor("tip_error", sensors),
                .wall_force = signals_.wall_force(data())});
}

bool LiveRun::step_once() {
  if (!stopped_.empty()) return false;
  mjData& d = data();
  const double time = d.time;
  if (motions_on_) run_.motions.apply(d, time);
  faults_.apply(*now().scene.model, d);
  if (before_step_) before_step_(model(), d);
  const ByHand by_hand(controls);
  const Clock::time_point before = Clock::now();
  const std::string error = guarded([&] { mj_step(&model(), &d); });
  const Clock::duration taken = Clock::now() - before;
  ++steps_;
  if (!error.empty()) {
    stopped_ = fmt::format("stopped at step {}, t = {:.6g} s: MuJoCo: {}", steps_, time, error);
  } else if (!monitor_.healthy(model(), d)) {
    stopped_ = monitor_.reason(model(), d, steps_);
  } else {
    metrics_->sample(model(), d, time);
    record();
    if (recorder_) {
      try {
        recorder_->append(d, ++recorded_rows_,
                          std::chrono::duration<double, std::micro>(taken).count());
      } catch (const RolloutError& failed) {
        recorder_.reset();
        recording_error_ = failed.what();
      }
    }
  }
  return stopped_.empty();
}

// ---- faults injected manually

void LiveRun::inject(const std::string& kind_and_fields) {
  const auto parsed = [&](double start) {
    return parse_faults(fmt::format("[[fault]]\nname = \"by_hand_{}\"\nstart = {}\n{}\n",
                                    injections_ + 1, start, kind_and_fields),
                        "fault")
        .front();
  };
  Fault fault = parsed(data().time);
  if (std::holds_alternative<fault::ActuatorDelay>(fault.kind))
    throw ModelError(
        "fault: kind = actuator_delay: must be in the experiment: it acts in whole runs");
  if (const fault::OfMeasurement* const seen = fault.of_measurement()) {
    // What is frozen or late has been seen before.
    const auto* const delay = std::get_if<fault::Delay>(&seen->kind);
    const double lag = delay != nullptr ? delay->time : 0.0;
    fault = parsed(data().time + lag + 0.5 * model().opt.timestep);
    injected_.push_back(fault);
    try {
      set_measurement_faults();
    } catch (...) {
      injected_.pop_back();
      throw;
    }
  } else {
    faults_.add(fault, model());
    injected_.push_back(fault);
  }
  ++injections_;
}

void LiveRun::take_back() {
  const bool measured = with_faults_.has_value();
  for (const Fault& fault : injected_) faults_.end(fault.name);
  injected_.clear();
  if (measured) set_measurement_faults();
}

void LiveRun::set_measurement_faults() {
  Experiment changed = experiment_;
  std::copy_if(injected_.begin(), injected_.end(), std::back_inserter(changed.faults),
               [](const Fault& fault) { return fault.of_measurement() != nullptr; });
  std::optional<PreparedRun> next;
  if (changed.faults.size() > experiment_.faults.size()) next = prepare_run(changed, changes_);
  end_recording();
  const PreparedRun& to = next ? *next : run_;
  copy_state(model(), data(), *to.scene.model, *to.data);
  faults_.move(*now().scene.model, *to.scene.model);
  with_faults_ = std::move(next);
  monitor_ = DivergenceMonitor(data());
}

// ---- recording started manually

void LiveRun::start_recording(const std::filesystem::path& file) {
  end_recording();
  std::vector<std::string> ignored;
  recorder_ = std::make_unique<RunRecorder>(
      model(),
      recording_attributes(experiment_, now(), model(), changes_.seed.value_or(experiment_.seed),
                           command_line_, ignored),
      [&](const auto& layout, const auto& attributes, const auto& model_mjb) {
        return std::make_unique<RolloutWriter>(file, layout, attributes, model_mjb);
      });
  recorded_rows_ = 0;
  recorded_since_ = data().time;
  recorder_->append(data(), 0, 0.0);
}

void LiveRun::end_recording() {
  const std::unique_ptr<RunRecorder> ended = std::move(recorder_);
  if (!ended) return;
  try {
    ended->close(stopped_.empty() ? "done" : stopped_);
  } catch (const RolloutError& error) {
    recording_error_ = error.what();
  }
}

double LiveRun::advance(double seconds, Clock::duration budget) {
  const Clock::time_point limit = Clock::now() + budget;
  const double start = data().time, timestep = model().opt.timestep;
  due_ += seconds;
  constexpr double kRounding = 1e-6;  // of a step, from summation
  const auto step_is_due = [&] { return due_ >= (1.0 - kRounding) * timestep; };
  while (step_is_due() && step_once()) {
    due_ -= timestep;
    if (step_is_due() && Clock::now() >= limit) due_ = 0.0;
  }
  return data().time - start;
}

void LiveRun::step(int count) {
  for (int i = 0; i < count && step_once(); ++i) {
  }
}

void LiveRun::reset() {
  end_recording();
  take_back();
  for (Control& control : controls) control.by_hand = false;
  mj_copyData(&data(), &model(), start_.get());
  monitor_ = DivergenceMonitor(data());
  history_.clear();
  due_ = 0.0;
  steps_ = 0;
  stopped_.clear();
  motions_on_ = true;
  start_checks();
  record();
}

void LiveRun::refresh() {
  const ByHand by_hand(controls);
  const std::string error = guarded([&] { mj_forward(&model(), &data()); });
  if (!error.empty())
    stopped_ = fmt::format("stopped at t = {:.6g} s: MuJoCo: {}", data().time, error);
}

// ---- recording -------------------------------------------------------------------------------

Playback::Playback(const std::filesystem::path& file)
    : scene_(file),
      signals_(scene_.model()),
      history_(std::max(1e-9, (scene_.end_time() - scene_.start_time()) / kPlotPoints),
               kPlotPoints + 2) {
  const std::int64_t stride = std::max<std::int64_t>(1, scene_.row_count() / kMaxRows);
  for (std::int64_t i = 0; i < scene_.row_count(); i += stride) {
    const RolloutReader::Row& row = scene_.reader().row(i);
    history_.add({.time = row.time,
                  .tip_error = signals_.sensor("tip_error", row.sensordata),
                  .wall_force = signals_.wall_force(row.contacts)});
  }
  go_to(0);
}

void Playback::go_to(std::int64_t row) {
  row_ = std::clamp(row, std::int64_t{0}, scene_.row_count() - 1);
  scene_.show(row_);
  time_ = scene_.data().time;
}

double Playback::advance(double seconds, Clock::duration /*budget*/) {
  const double before = time_;
  time_ = std::clamp(time_ + seconds, scene_.start_time(), scene_.end_time());
  const std::int64_t row = scene_.row_at(time_);
  if (row != row_) {
    row_ = row;
    scene_.show(row_);
  }
  return time_ - before;
}

void Playback::step(int count) { go_to(row_ + count); }

void Playback::seek(double time) { go_to(scene_.row_at(time)); }

mjvCamera ViewSource::start_camera(const ImageOptions& options) {
  const mjvCamera own = image_camera(model(), options.camera);
  const double aspect = static_cast<double>(options.width) / options.height;
  if (own.type != mjCAMERA_FIXED) return scene_camera(model(), data(), own, aspect);
  return options.camera.empty() ? complete_camera(model(), data(), own, aspect) : own;
}

mjvCamera Playback::start_camera(const ImageOptions& options) {
  const mjvCamera camera =
      recording_camera(scene_, options, scene_.start_time(), scene_.end_time());
  go_to(row_);
  return camera;
}

std::string Playback::stopped() const {
  return row_ == scene_.row_count() - 1 ? "end of the recording" : "";
}

std::optional<std::pair<double, double>> Playback::range() const {
  return std::pair(scene_.start_time(), scene_.end_time());
}

std::string Playback::outcome() {
  const auto& attributes = scene_.reader().attributes();
  const auto found = attributes.find("outcome");
  return found == attributes.end() ? "unknown" : found->second;
}

// ---- centerlines -----------------------------------------------------------------------------

Centerlines::Centerlines(const mjModel& model) {
  const RobotBodies scene_robots(model);
  std::vector<int> depth(static_cast<std::size_t>(model.nbody), 0);
  for (const RobotBodies::Robot& robot : scene_robots.robots()) {
    // Parents come before their children.
    int end = robot.base;
    for (int body = robot.base + 1; body < model.nbody; ++body) {
      if (scene_robots.base_of_body(body) != robot.base) continue;
      int& own = depth[static_cast<std::size_t>(body)];
      own = depth[static_cast<std::size_t>(model.body_parentid[body])] + 1;
      if (own > depth[static_cast<std::size_t>(end)]) end = body;
    }
    if (end == robot.base) continue;
    Robot line;
    for (int body = end; body != robot.base; body = model.body_parentid[body])
      line.bodies.push_back(body);
    std::reverse(line.bodies.begin(), line.bodies.end());
    if (model.body_geomnum[end] > 0) line.radius = model.geom_size[3 * model.body_geomadr[end]];
    line.tip_site = mj_name2id(&model, mjOBJ_SITE, robot.names(names::kTip).c_str());
    robots_.push_back(std::move(line));
  }
}

void Centerlines::draw(const mjData& data, mjvScene& scene, const float color[4]) const noexcept {
  constexpr double kFraction = 0.25, kThinnest = 5e-4;  // of the link's radius; m
  for (const Robot& robot : robots_) {
    const double radius = std::max(kThinnest, kFraction * robot.radius);
    const auto connect = [&](const mjtNum* from, const mjtNum* to) {
      if (scene.ngeom >= scene.maxgeom) return;
      mjvGeom* const geom = scene.geoms + scene.ngeom;
      mjv_initGeom(geom, mjGEOM_CAPSULE, nullptr, nullptr, nullptr, color);
      mjv_connector(geom, mjGEOM_CAPSULE, radius, from, to);
      geom->category = mjCAT_DECOR;
      geom->emission = 0.7F;
      ++scene.ngeom;
    };
    for (std::size_t i = 1; i < robot.bodies.size(); ++i) {
      connect(data.xpos + 3 * robot.bodies[i - 1], data.xpos + 3 * robot.bodies[i]);
    }
    if (robot.tip_site >= 0)
      connect(data.xpos + 3 * robot.bodies.back(), data.site_xpos + 3 * robot.tip_site);
  }
}

}  // namespace tendril::simulation
