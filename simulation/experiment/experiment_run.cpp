#include "simulation/experiment/experiment_run.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "simulation/engine/engine_log.hpp"
#include "simulation/experiment/run_recorder.hpp"
#include "simulation/scene/model_tables.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxSteps = 1e9;

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

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

constexpr double kSmallestTime = 0.01;  // us
constexpr double kBucketWidth = 0.01;

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

/// Refuses a shift of a body whose motion says itself where it is.
void refuse_offset(const Setting& setting, std::span<const Motion> motions) {
  constexpr std::string_view kBody = "body.", kOffset = ".offset";
  const std::string& key = setting.key;
  if (!key.starts_with(kBody) || !key.ends_with(kOffset) ||
      key.size() <= kBody.size() + kOffset.size())
    return;
  const std::string pattern = key.substr(kBody.size(), key.size() - kBody.size() - kOffset.size());
  for (const Motion& motion : motions) {
    if (motion.body.empty() || !matches(pattern, motion.body)) continue;
    if (motion.kind != MotionKind::Waypoints && !motion.center) continue;
    refuse(setting, fmt::format("the [[motion]] of {} gives its position: shift the {} of that",
                                motion.body, motion.center ? "center" : "points"));
  }
}

}  // namespace

void StepTimeHistogram::add(double time_us) noexcept {
  const double bucket = std::log(std::max(time_us, kSmallestTime) / kSmallestTime) / kBucketWidth;
  counts_[std::min(static_cast<std::size_t>(bucket), counts_.size() - 1)] += 1;
  count_ += 1;
  sum_ += time_us;
  max_ = std::max(max_, time_us);
}

StepTimes StepTimeHistogram::times() const {
  if (count_ == 0) return {};
  return {sum_ / static_cast<double>(count_), quantile(0.5), quantile(0.99), quantile(0.999), max_};
}

/// The center of the bucket that contains the value of this rank.
double StepTimeHistogram::quantile(double q) const {
  const double rank = std::max(1.0, std::ceil(q * static_cast<double>(count_)));
  double below = 0.0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += static_cast<double>(counts_[i]);
    if (below < rank) continue;
    return std::min(max_, kSmallestTime * std::exp((static_cast<double>(i) + 0.5) * kBucketWidth));
  }
  return max_;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
}

const char* version() noexcept { return TENDRIL_VERSION; }

RolloutAttributes recording_attributes(const Experiment& experiment, const PreparedRun& run,
                                       const mjModel& model, std::uint64_t seed,
                                       const std::string& command_line,
                                       std::vector<std::string>& notices) {
  RolloutAttributes attributes{{"model_xml", flattened(run.scene, model, notices)},
                               {"experiment", experiment.text},
                               {"experiment_name", experiment.name},
                               {"scene", experiment.scene_name(seed)},
                               {"command_line", command_line},
                               {"seed", static_cast<std::int64_t>(seed)},
                               {"settings", settings_json(run.settings).dump()},
                               {"timestep", run.timestep},
                               {"tendril_version", version()},
                               {"mujoco_version", mj_versionString()},
                               {"plugins", plugin_names(model)}};
  if (!run.faults.empty()) attributes["faults"] = faults_text(run.faults);
  attributes.merge(model_tables(model));
  for (const auto& [name, text] : run.scene.source_files) attributes["scene_files/" + name] = text;
  for (const std::string& warning : take_engine_warnings())
    notices.push_back(fmt::format("{}: {}", experiment.scene.string(), one_line(warning)));
  return attributes;
}

int add_check(Metrics& metrics, const Check& check) {
  try {
    return metrics.add(check.metric, check.window, check.threshold);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: check: metric = {}", check.origin, error.what()));
  }
}

bool RunResult::all_checks_hold() const noexcept {
  return std::all_of(checks.begin(), checks.end(), [](const CheckResult& c) { return c.holds; });
}

PreparedRun compile_run(const Experiment& experiment, const RunChanges& changes) {
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
    if (!applied) refuse(setting, "the experiment has no motion of this body that has this field");
  }
  for (const Setting& setting : settings) refuse_offset(setting, motions);

  std::vector<Fault> faults = experiment.faults_for(settings);
  Scene scene =
      load_scene(experiment.scene, settings, faults, changes.seed.value_or(experiment.seed));
  disable_autoreset(*scene.model);
  const mjModel& model = *scene.model;
  MotionSet motion_set(model, motions, scene.robots);
  const double timestep = model.opt.timestep;
  const double duration = changes.duration.value_or(experiment.duration);
  const double steps = std::ceil(duration / timestep - 1e-6);
  if (!(steps <= kMaxSteps)) {
    throw ModelError(fmt::format("{}: duration: {} s: is more than 1e9 steps of {} s",
                                 experiment.file.string(), duration, timestep));
  }
  return {std::move(scene),
          nullptr,
          std::move(motion_set),
          std::move(faults),
          std::move(settings),
          timestep,
          std::max(1L, static_cast<long>(steps))};
}

void set_start(const Experiment& experiment, PreparedRun& run, const mjModel& model, mjData& data) {
  if (!experiment.keyframe.empty()) {
    const int key = mj_name2id(&model, mjOBJ_KEY, experiment.keyframe.c_str());
    if (key < 0) {
      const std::string names = object_names(model, mjOBJ_KEY, static_cast<int>(model.nkey));
      throw ModelError(fmt::format("{}: keyframe = {}: must be a keyframe of the scene; {}",
                                   experiment.keyframe_origin, experiment.keyframe,
                                   names.empty() ? "it has none" : "it has " + names));
    }
    mj_resetDataKeyframe(&model, &data, key);
  }
  run.motions.apply(data, data.time);
  const std::string error = guarded([&] { mj_forward(&model, &data); });
  if (!error.empty()) {
    throw ModelError(fmt::format("{}: initial state: {}", experiment.scene.string(), error));
  }

  for (const std::string& line : distant_targets(model, data, run.scene.robots))
    run.scene.notices.push_back(fmt::format("{}: {}", experiment.scene.string(), line));
}

PreparedRun prepare_run(const Experiment& experiment, const RunChanges& changes) {
  PreparedRun run = compile_run(experiment, changes);
  run.data = make_data(*run.scene.model);
  set_start(experiment, run, *run.scene.model, *run.data);
  return run;
}

ExperimentRun::ExperimentRun(const Experiment& experiment, const PreparedRun& run, mjModel& model,
                             mjData& data, const RunChanges& changes, std::string command_line,
                             OnNotices on_notices)
    : experiment_(experiment),
      run_(run),
      model_(model),
      data_(data),
      faults_(run.faults, model),
      on_notices_(std::move(on_notices)),
      metrics_(model),
      watch_(model) {
  result_.timestep = run.timestep;
  result_.duration = changes.duration.value_or(experiment.duration);
  result_.seed = changes.seed.value_or(experiment.seed);
  result_.settings = run.settings;
  result_.command_line = std::move(command_line);
  result_.notices = run.scene.notices;
  for (const Check& check : experiment.checks) {
    if (check.window.after < result_.duration) continue;
    result_.notices.push_back(fmt::format("{}: the run ends at {} s, the window begins at {} s",
                                          check.origin, result_.duration, check.window.after));
  }
  for (const std::string& warning : take_engine_warnings())
    result_.notices.push_back(fmt::format("initial state: {}", one_line(warning)));
  if (on_notices_) on_notices_(result_.notices);

  for (const Check& check : experiment.checks) check_metrics_.push_back(add_check(metrics_, check));
  first_default_ = metrics_.count();
  metrics_.add_defaults();
}

ExperimentRun::~ExperimentRun() = default;

void ExperimentRun::record(const OpenRecording& open) {
  const std::size_t known = result_.notices.size();
  const RolloutAttributes attributes = recording_attributes(experiment_, run_, model_, result_.seed,
                                                            result_.command_line, result_.notices);
  if (on_notices_) on_notices_(std::span(result_.notices).subspan(known));
  recorder_ = std::make_unique<RunRecorder>(model_, attributes, open);
  recorder_->append(data_, 0, 0.0);
}

void ExperimentRun::step() {
  if (done_) return;
  const long step = result_.steps + 1;
  if (!monitor_) {
    static_cast<void>(take_engine_warnings());
    monitor_.emplace(data_);
    start_ = Clock::now();
  }
  const double step_start = data_.time;
  run_.motions.apply(data_, step_start);
  faults_.apply(model_, data_);
  const Clock::time_point before = Clock::now();
  const std::string engine_error = guarded([&] { mj_step(&model_, &data_); });
  const double step_time_us = 1e6 * seconds(Clock::now() - before);
  if (!engine_error.empty()) {
    return diverged(fmt::format("stopped at step {}, t = {:.6g} s: MuJoCo: {}", step, step_start,
                                engine_error));
  }
  step_times_.add(step_time_us);
  result_.steps = step;
  if (!monitor_->healthy(model_, data_)) return diverged(monitor_->reason(model_, data_, step));
  metrics_.sample(model_, data_, step_start);
  if (watch_.sample(model_, data_, step_start)) {
    const std::size_t known = result_.notices.size();
    for (const std::string& warning : take_engine_warnings())
      result_.notices.push_back(fmt::format("t = {:.6g} s: {}", step_start, one_line(warning)));
    for (const std::string& line : watch_.not_following(data_))
      result_.notices.push_back(fmt::format("t = {:.6g} s: {}", step_start, line));
    if (on_notices_) on_notices_(std::span(result_.notices).subspan(known));
  }
  if (recorder_) recorder_->append(data_, step, step_time_us);
  done_ = step >= run_.steps;
}

void ExperimentRun::diverged(std::string reason) {
  result_.outcome = Outcome::Diverged;
  result_.reason = std::move(reason);
  done_ = true;
}

void ExperimentRun::interrupt() {
  if (done_) return;
  result_.outcome = Outcome::Interrupted;
  result_.reason = fmt::format("interrupted at step {}, t = {:.6g} s", result_.steps, data_.time);
  done_ = true;
}

const RunResult& ExperimentRun::finish() {
  if (finished_) return result_;
  interrupt();
  finished_ = true;
  result_.wall_time = monitor_ ? seconds(Clock::now() - start_) : 0.0;
  result_.simulated_time = static_cast<double>(result_.steps) * run_.timestep;
  result_.real_time_factor =
      result_.wall_time > 0.0 ? result_.simulated_time / result_.wall_time : 0.0;
  result_.step_times = step_times_.times();
  evaluate();
  if (recorder_)
    recorder_->close(result_.reason.empty() ? outcome_name(result_.outcome) : result_.reason);
  return result_;
}

void ExperimentRun::evaluate() {
  for (std::size_t i = 0; i < experiment_.checks.size(); ++i) {
    CheckResult check{experiment_.checks[i], metrics_.unit(check_metrics_[i])};
    const Metric& metric = check.check.metric;
    check.value = metric.of_run() ? run_metric(metric, result_) : metrics_.value(check_metrics_[i]);
    check.holds = check.check.holds(check.value);
    result_.checks.push_back(std::move(check));
  }
  result_.statuses = watch_.statuses();
  result_.saturated = watch_.saturated();
  result_.touched = watch_.touched();
  for (const RobotStatus& status : result_.statuses) {
    const auto failure = status.failure();
    if (failure && !checks_status_of(experiment_, status)) result_.failures.push_back(*failure);
  }
  for (int i = first_default_; i < metrics_.count(); ++i)
    result_.metrics.emplace_back(metrics_.metric(i), metrics_.value(i));
  for (const SignalInfo& signal : signal_table()) {
    if (signal.of != MetricOf::Run) continue;
    const Metric metric = parse_metric(signal.name);
    result_.metrics.emplace_back(metric, run_metric(metric, result_));
  }
}

std::string summary_json(const Experiment& experiment, const RunResult& result) {
  Json summary;
  summary["experiment"] = experiment.name;
  summary["file"] = experiment.file.string();
  summary["scene"] = experiment.scene_name(result.seed);
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

}  // namespace tendril::simulation
