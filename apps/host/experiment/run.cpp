#include "apps/host/experiment/run.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/host/engine/divergence.hpp"
#include "apps/host/engine/engine_log.hpp"
#include "apps/host/experiment/metrics.hpp"
#include "apps/host/recording/model_tables.hpp"
#include "apps/host/recording/recorded_model.hpp"
#include "tendril/model_error.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tendril/robot_file/fault_file.hpp"

namespace tendril::host {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr double kMostSteps = 1e9;
constexpr auto kProgressInterval = std::chrono::milliseconds(100);

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Records rows without allocating: the views point into mjData, those of contacts into a buffer
/// that grows only when needed.
class Recorder {
 public:
  Recorder(const std::filesystem::path& file, const Scene& scene,
           const RolloutAttributes& attributes)
      : model_(*scene.model),
        layout_(layout_of(model_)),
        writer_(file, layout_, attributes, mjb(model_)) {
    integration_.resize(static_cast<std::size_t>(layout_.nintegration));
    contacts_.reserve(1024);
  }

  void append(const mjData& data, long step, double step_time_us) {
    contacts_.clear();
    for (int i = 0; i < data.ncon && step > 0; ++i) {
      const mjContact& contact = data.contact[i];
      mjtNum force[6];
      mj_contactForce(&model_, &data, i, force);
      ContactRow& row = contacts_.emplace_back();
      row.geom1 = contact.geom[0];
      row.geom2 = contact.geom[1];
      row.distance = contact.dist;
      std::copy_n(contact.pos, 3, row.position);
      std::copy_n(force, 3, row.force);
    }
    const bool full = step % layout_.integration_interval == 0;
    if (full) mj_getState(&model_, &data, integration_.data(), mjSTATE_INTEGRATION);
    const auto view = [](const mjtNum* values, int count) {
      return std::span<const double>(values, static_cast<std::size_t>(count));
    };
    writer_.append({.step = step,
                    .time = data.time,
                    .step_time_us = step_time_us,
                    .qpos = view(data.qpos, layout_.nq),
                    .qvel = view(data.qvel, layout_.nv),
                    .ctrl = view(data.ctrl, layout_.nu),
                    .act = view(data.act, layout_.na),
                    .sensordata = view(data.sensordata, layout_.nsensordata),
                    .plugin_state = view(data.plugin_state, layout_.npluginstate),
                    .mocap_pos = view(data.mocap_pos, 3 * layout_.nmocap),
                    .mocap_quat = view(data.mocap_quat, 4 * layout_.nmocap),
                    .contacts = contacts_,
                    .integration_state =
                        full ? std::span<const double>(integration_) : std::span<const double>()});
  }

  void close(const std::string& outcome) { writer_.close(outcome); }

 private:
  static RolloutLayout layout_of(const mjModel& model) {
    RolloutLayout layout;
    layout.nq = static_cast<int>(model.nq);
    layout.nv = static_cast<int>(model.nv);
    layout.nu = static_cast<int>(model.nu);
    layout.na = static_cast<int>(model.na);
    layout.nsensordata = static_cast<int>(model.nsensordata);
    layout.npluginstate = static_cast<int>(model.npluginstate);
    layout.nmocap = static_cast<int>(model.nmocap);
    layout.nintegration = mj_stateSize(&model, mjSTATE_INTEGRATION);
    return layout;
  }

  static std::vector<std::byte> mjb(const mjModel& model) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(mj_sizeModel(&model)));
    mj_saveModel(&model, nullptr, bytes.data(), static_cast<mjtSize>(bytes.size()));
    return bytes;
  }

  const mjModel& model_;
  RolloutLayout layout_;
  RolloutWriter writer_;
  std::vector<double> integration_;
  std::vector<ContactRow> contacts_;
};

Json json_of(const Value& value) {
  return std::visit(
      []<class T>(const T& data) {
        if constexpr (std::is_same_v<T, Value::List>) {
          Json list = Json::array();
          for (const Value& element : data) list.push_back(json_of(element));
          return list;
        } else if constexpr (std::is_same_v<T, Value::Table>) {
          Json table = Json::object();
          for (const auto& [key, element] : data) table[key] = json_of(element);
          return table;
        } else {
          return Json(data);
        }
      },
      value.data);
}

Json settings_json(std::span<const Setting> settings) {
  Json all = Json::array();
  for (const Setting& s : settings) {
    all.push_back({{"key", s.key}, {"value", json_of(s.value)}, {"origin", s.origin}});
  }
  return all;
}

RolloutAttributes attributes_of(const Experiment& experiment, const RunOptions& options,
                                const PreparedRun& run, std::uint64_t seed) {
  RolloutAttributes attributes{{"model_xml", run.scene.model_xml},
                               {"experiment", experiment.text},
                               {"experiment_name", experiment.name},
                               {"scene", experiment.scene.string()},
                               {"command_line", options.command_line},
                               {"seed", static_cast<std::int64_t>(seed)},
                               {"settings", settings_json(run.settings).dump()},
                               {"timestep", run.timestep},
                               {"tendril_version", version()},
                               {"mujoco_version", mj_versionString()},
                               {"plugins", plugin_names(*run.scene.model)}};
  if (!run.fault_list.empty()) attributes["faults"] = faults_text(run.fault_list);
  attributes.merge(model_tables(*run.scene.model));
  for (const auto& [name, text] : run.scene.source_files) attributes["scene_files/" + name] = text;
  return attributes;
}

/// Histogram of step times in constant memory, with buckets of 1 % width.
class StepTimeHistogram {
 public:
  void add(double time_us) noexcept {
    const double bucket = std::log(std::max(time_us, kSmallest) / kSmallest) / kWidth;
    counts_[std::min(static_cast<std::size_t>(bucket), counts_.size() - 1)] += 1;
    count_ += 1;
    sum_ += time_us;
    max_ = std::max(max_, time_us);
  }

  [[nodiscard]] StepTimes times() const {
    if (count_ == 0) return {};
    return {sum_ / static_cast<double>(count_), quantile(0.5), quantile(0.99), quantile(0.999),
            max_};
  }

 private:
  /// The centre of the bucket that contains the value of this rank.
  [[nodiscard]] double quantile(double q) const {
    const double rank = std::max(1.0, std::ceil(q * static_cast<double>(count_)));
    double below = 0.0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      below += static_cast<double>(counts_[i]);
      if (below < rank) continue;
      return std::min(max_, kSmallest * std::exp((static_cast<double>(i) + 0.5) * kWidth));
    }
    return max_;
  }

  static constexpr double kSmallest = 0.01;  // us
  static constexpr double kWidth = 0.01;
  std::array<std::uint64_t, 2600> counts_{};  // up to 2e9 us
  std::uint64_t count_ = 0;
  double sum_ = 0.0, max_ = 0.0;
};

double run_metric(const Metric& metric, const RunResult& result) {
  if (metric.name == "real_time_factor") return result.real_time_factor;
  return metric.name == "step_time_mean" ? result.step_times.mean : result.step_times.p999;
}

bool checks_status_of(const Experiment& experiment, const RobotStatus& status) {
  return std::any_of(experiment.checks.begin(), experiment.checks.end(), [&](const Check& check) {
    return check.metric.signal == quantity::kStatus.name ||
           (check.metric.signal == "sensor" && check.metric.object == status.sensor);
  });
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json limit(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Done:
      return "done";
    case Outcome::Diverged:
      return "diverged";
    case Outcome::Interrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
}

const char* version() noexcept { return TENDRIL_VERSION; }

bool RunResult::all_checks_hold() const noexcept {
  return std::all_of(checks.begin(), checks.end(), [](const CheckResult& c) { return c.holds; });
}

PreparedRun prepare_run(const Experiment& experiment, const RunChanges& changes) {
  std::vector<Setting> settings = experiment.settings_for(changes.seed.value_or(experiment.seed));
  if (!changes.controller.empty()) {
    settings.push_back(
        {.key = "controller.plugin", .value = {changes.controller}, .origin = "--controller"});
  }
  settings.insert(settings.end(), changes.settings.begin(), changes.settings.end());

  std::vector<Motion> motions = experiment.motions;
  for (const Setting& setting : settings) {
    if (!setting.key.starts_with("motion.")) continue;
    bool applied = false;
    for (Motion& motion : motions) applied = motion.apply(setting) || applied;
    if (!applied) refuse(setting, "the experiment has no motion of this body");
  }

  std::vector<Fault> faults = experiment.faults_for(settings);
  Scene scene = load_scene(experiment.scene, settings, faults,
                           changes.seed.value_or(experiment.seed));
  disable_autoreset(*scene.model);
  const mjModel& model = *scene.model;
  DataPtr data = make_data(model);
  MotionSet motion_set(model, motions);
  if (!experiment.keyframe.empty()) {
    const int key = mj_name2id(&model, mjOBJ_KEY, experiment.keyframe.c_str());
    if (key < 0) {
      const std::string names = object_names(model, mjOBJ_KEY, static_cast<int>(model.nkey));
      throw ModelError(fmt::format("{}: keyframe = {}: must be a keyframe of the scene; {}",
                                   experiment.keyframe_origin, experiment.keyframe,
                                   names.empty() ? "it has none" : "it has " + names));
    }
    mj_resetDataKeyframe(&model, data.get(), key);
  }
  motion_set.apply(*data, data->time);
  const std::string error = guarded([&] { mj_forward(&model, data.get()); });
  if (!error.empty()) {
    throw ModelError(fmt::format("{}: initial state: {}", experiment.scene.string(), error));
  }

  for (const std::string& line : distant_targets(model, *data))
    scene.notices.push_back(fmt::format("{}: {}", experiment.scene.string(), line));

  const double timestep = model.opt.timestep;
  const double duration = changes.duration.value_or(experiment.duration);
  const double steps = std::ceil(duration / timestep - 1e-6);
  if (!(steps <= kMostSteps)) {
    throw ModelError(fmt::format("{}: duration: {} s: is more than 1e9 steps of {} s",
                                 experiment.file.string(), duration, timestep));
  }
  PhysicalFaults physical(faults, model);
  return {std::move(scene),
          std::move(data),
          std::move(motion_set),
          std::move(faults),
          std::move(physical),
          std::move(settings),
          timestep,
          std::max(1L, static_cast<long>(steps))};
}

RunResult run_experiment(const Experiment& experiment, const RunOptions& options,
                         const OnNotices& on_notices) {
  PreparedRun run = prepare_run(experiment, options.changes);
  mjModel& model = *run.scene.model;
  mjData& data = *run.data;

  RunResult result;
  result.timestep = run.timestep;
  result.duration = options.changes.duration.value_or(experiment.duration);
  result.seed = options.changes.seed.value_or(experiment.seed);
  result.settings = run.settings;
  result.notices = run.scene.notices;
  for (const Check& check : experiment.checks) {
    if (check.window.after < result.duration) continue;
    result.notices.push_back(fmt::format("{}: the run ends at {} s, the window begins at {} s",
                                         check.origin, result.duration, check.window.after));
  }
  for (const std::string& warning : take_engine_warnings())
    result.notices.push_back(fmt::format("initial state: {}", one_line(warning)));
  result.command_line = options.command_line;
  if (on_notices) on_notices(result.notices);
  if (options.on_loaded) options.on_loaded(model);

  Metrics metrics(model);
  std::vector<int> check_metrics;
  for (const Check& check : experiment.checks) {
    try {
      check_metrics.push_back(metrics.add(check.metric, check.window, check.threshold));
    } catch (const ModelError& error) {
      throw ModelError(fmt::format("{}: check: metric = {}", check.origin, error.what()));
    }
  }
  const int first_default = metrics.count();
  metrics.add_defaults();

  std::optional<Recorder> recorder;
  if (!options.recording.empty()) {
    recorder.emplace(options.recording, run.scene,
                     attributes_of(experiment, options, run, result.seed));
    recorder->append(data, 0, 0.0);
  }
  RobotWatch watch(model);
  StepTimeHistogram step_times;
  (void)take_engine_warnings();
  const DivergenceMonitor monitor(data);

  const Clock::time_point start = Clock::now();
  Clock::time_point reported = start;
  for (long step = 1; step <= run.steps; ++step) {
    const double step_start = data.time;
    run.motions.apply(data, step_start);
    run.faults.apply(model, data);
    const Clock::time_point before = Clock::now();
    const std::string engine_error = guarded([&] { mj_step(&model, &data); });
    const Clock::time_point after = Clock::now();
    if (!engine_error.empty()) {
      result.outcome = Outcome::Diverged;
      result.reason = fmt::format("stopped at step {}, t = {:.6g} s: MuJoCo: {}", step, step_start,
                                  engine_error);
      break;
    }
    const double step_time_us = 1e6 * seconds(after - before);
    step_times.add(step_time_us);
    result.steps = step;
    if (!monitor.healthy(model, data)) {
      result.outcome = Outcome::Diverged;
      result.reason = monitor.reason(model, data, step);
      break;
    }
    metrics.sample(model, data, step_start);
    if (watch.sample(model, data, step_start)) {
      const std::size_t known = result.notices.size();
      for (const std::string& warning : take_engine_warnings())
        result.notices.push_back(fmt::format("t = {:.6g} s: {}", step_start, one_line(warning)));
      for (const std::string& line : watch.not_following(data))
        result.notices.push_back(fmt::format("t = {:.6g} s: {}", step_start, line));
      if (on_notices) on_notices(std::span(result.notices).subspan(known));
    }
    if (recorder) recorder->append(data, step, step_time_us);
    if (options.on_progress && after - reported >= kProgressInterval) {
      reported = after;
      options.on_progress({data.time, result.duration, data.time / seconds(after - start)});
    }
    if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed)) {
      result.outcome = Outcome::Interrupted;
      result.reason = fmt::format("interrupted at step {}, t = {:.6g} s", step, data.time);
      break;
    }
  }
  result.wall_time = seconds(Clock::now() - start);
  result.simulated_time = static_cast<double>(result.steps) * run.timestep;
  result.real_time_factor = result.wall_time > 0.0 ? result.simulated_time / result.wall_time : 0.0;
  if (recorder) {
    recorder->close(result.reason.empty() ? outcome_name(result.outcome) : result.reason);
  }

  result.step_times = step_times.times();
  for (std::size_t i = 0; i < experiment.checks.size(); ++i) {
    CheckResult check{experiment.checks[i], metrics.unit(check_metrics[i])};
    const Metric& metric = check.check.metric;
    check.value = metric.of_run() ? run_metric(metric, result) : metrics.value(check_metrics[i]);
    check.holds = check.check.holds(check.value);
    result.checks.push_back(std::move(check));
  }
  result.statuses = watch.statuses();
  result.saturated = watch.saturated();
  result.touched = watch.touched();
  for (const RobotStatus& status : result.statuses) {
    const auto failure = status.failure();
    if (failure && !checks_status_of(experiment, status)) result.failures.push_back(*failure);
  }
  for (int i = first_default; i < metrics.count(); ++i) {
    result.metrics.emplace_back(metrics.metric(i), metrics.value(i));
  }
  for (const SignalInfo& signal : signal_table()) {
    if (signal.of != MetricOf::Run) continue;
    const Metric metric = parse_metric(signal.name);
    result.metrics.emplace_back(metric, run_metric(metric, result));
  }
  return result;
}

std::string summary_json(const Experiment& experiment, const RunResult& result) {
  Json summary;
  summary["experiment"] = experiment.name;
  summary["file"] = experiment.file.string();
  summary["scene"] = experiment.scene.string();
  summary["seed"] = result.seed;
  summary["outcome"] = outcome_name(result.outcome);
  summary["reason"] = result.reason;
  const bool has_verdict = !result.checks.empty() || !result.failures.empty();
  summary["verdict"] = !has_verdict ? "none" : result.passes() ? "pass" : "fail";
  summary["failures"] = result.failures;
  summary["checks"] = Json::array();
  for (const CheckResult& r : result.checks) {
    Json check{{"name", r.check.name},
               {"metric", r.check.metric.name},
               {"value", finite(r.value)},
               {"unit", r.unit},
               {"min", limit(r.check.min)},
               {"max", limit(r.check.max)},
               {"after", r.check.window.after},
               {"before", finite(r.check.window.before)},
               {"holds", r.holds}};
    if (r.check.metric.statistic == Statistic::SettleTime) check["threshold"] = r.check.threshold;
    summary["checks"].push_back(std::move(check));
  }
  summary["robots"] = Json::array();
  for (const RobotStatus& robot : result.statuses) {
    Json statuses = Json::array();
    for (int i = 0; i < kStatusCount; ++i) {
      const Occurrence& o = robot.by_status[static_cast<std::size_t>(i)];
      if (o.steps == 0) continue;
      statuses.push_back({{"status", to_string(static_cast<ControllerStatus>(i))},
                          {"steps", o.steps},
                          {"first", o.first},
                          {"last", o.last}});
    }
    summary["robots"].push_back(
        {{"robot", robot.robot}, {"end", to_string(robot.end)}, {"statuses", std::move(statuses)}});
  }
  summary["saturated_servos"] = Json::array();
  for (const SaturatedServo& servo : result.saturated) {
    summary["saturated_servos"].push_back({{"actuator", servo.actuator},
                                           {"limit", servo.limit},
                                           {"steps", servo.occurrence.steps},
                                           {"first", servo.occurrence.first},
                                           {"last", servo.occurrence.last}});
  }
  summary["touched"] = Json::array();
  for (const TouchedGeom& touched : result.touched) {
    summary["touched"].push_back({{"geom", touched.geom},
                                  {"largest_force", touched.largest_force},
                                  {"steps", touched.occurrence.steps},
                                  {"first", touched.occurrence.first},
                                  {"last", touched.occurrence.last}});
  }
  summary["metrics"] = Json::object();
  for (const auto& [metric, value] : result.metrics)
    summary["metrics"][metric.name] = finite(value);
  summary["duration"] = result.duration;
  summary["simulated_time"] = result.simulated_time;
  summary["wall_time"] = result.wall_time;
  summary["real_time_factor"] = result.real_time_factor;
  summary["timestep"] = result.timestep;
  summary["steps"] = result.steps;
  const StepTimes& t = result.step_times;
  summary["step_time_us"] = {
      {"mean", t.mean}, {"p50", t.p50}, {"p99", t.p99}, {"p99.9", t.p999}, {"max", t.max}};
  summary["settings"] = settings_json(result.settings);
  summary["notices"] = result.notices;
  summary["command_line"] = result.command_line;
  summary["versions"] = {
      {"tendril", version()}, {"mujoco", mj_versionString()}, {"compiler", __VERSION__}};
  utsname system{};
  uname(&system);
  summary["machine"] = {
      {"host", system.nodename},
      {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
      {"processor", processor_name()},
      {"cores", std::thread::hardware_concurrency()}};
  double load[3] = {0.0, 0.0, 0.0};
  if (getloadavg(load, 3) == 3) summary["load_average"] = {load[0], load[1], load[2]};
  return summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void make_output_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw OutputError(
        fmt::format("{}: {}: must be a writable folder", folder.string(), error.message()));
  if (!std::filesystem::is_directory(folder)) {
    throw OutputError(fmt::format("{}: is a file: must be a writable folder", folder.string()));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw OutputError(
        fmt::format("{}: {}: must be a writable folder", folder.string(), std::strerror(errno)));
  }
}

void write_text_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out)
    throw OutputError(
        fmt::format("{}: {}: could not be written", file.string(), std::strerror(errno)));
}

}  // namespace tendril::host
