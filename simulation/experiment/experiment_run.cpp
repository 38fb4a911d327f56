#include "simulation/experiment/experiment_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "simulation/engine/engine.hpp"
#include "simulation/engine/engine_log.hpp"
#include "simulation/experiment/run_recorder.hpp"
#include "simulation/scene/start_checks.hpp"
#include "simulation/scene/switched_off.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation {
namespace {

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double run_metric(const Metric& metric, const RunResult& result) {
  if (metric.name == "real_time_factor") return result.real_time_factor;
  return metric.name == "step_time_mean" ? result.step_times.mean : result.step_times.p999;
}

/// Whether a check is about a robot's status and lets it be this one. A fault is meant only where
/// it is asked for: a limit of all statuses up to it was written for others.
bool asks_for(const Check& check, const RobotStatus& robot, ControllerStatus status) {
  const bool is_of_robot = check.metric.signal == quantity::kStatus.name ||
                           (check.metric.signal == "sensor" && check.metric.object == robot.sensor);
  const auto value = static_cast<double>(status);
  if (!is_of_robot || !check.holds(value)) return false;
  return status != ControllerStatus::Fault || (check.min && *check.min == value);
}

/// Why a robot's status lets the run fail, unless a check asks for that status.
std::optional<std::string> failure_of(const RobotStatus& robot, const Experiment& experiment) {
  const auto fails = robot.failed_status();
  if (!fails) return std::nullopt;
  const bool is_meant =
      std::any_of(experiment.checks.begin(), experiment.checks.end(),
                  [&](const Check& check) { return asks_for(check, robot, *fails); });
  return is_meant ? std::nullopt : robot.failure();
}

/// Refuses checks of a scene in which what they rest on is switched off.
void require_physics(const Experiment& experiment, const mjModel& model) {
  if (experiment.checks.empty()) return;
  const RobotBodies robots(model);
  const std::vector<std::string> off = switched_off(model, robots);
  if (!off.empty())
    throw ModelError(fmt::format("{}: {}: checks would be of another robot: must be enabled",
                                 experiment.scene.string(), off.front()));
  for (const Check& check : experiment.checks) {
    const SignalInfo* const info = find_signal(check.metric.signal);
    if (info == nullptr || info->of != MetricOf::Robots) continue;
    const bool is_of_self = info->name == std::string_view("self_contact_count");
    const auto why = is_of_self ? self_contacts_switched_off(model, robots)
                                : contacts_switched_off(model, robots);
    if (why)
      throw ModelError(
          fmt::format("{}: check: metric = {}: {}", check.origin, check.metric.name, *why));
  }
}

/// What motions and controllers write.
std::vector<OwnedInput> owned_inputs(const PreparedRun& run, const mjModel& model) {
  std::vector<OwnedInput> inputs = run.motions.inputs();
  const std::vector<std::string> drivers = drivers_of(model, run.scene.robots);
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    if (drivers[i].empty()) continue;
    inputs.push_back({&mjData::ctrl, model.actuator_ctrladr[i], model.actuator_ctrlnum[i],
                      "ctrl of " + object_name(model, mjOBJ_ACTUATOR, static_cast<int>(i)),
                      fmt::format("the controller {}; take [controller] out of the robot file to "
                                  "write it yourself",
                                  drivers[i])});
  }
  return inputs;
}

}  // namespace

int add_check(Metrics& metrics, const Check& check) {
  try {
    return metrics.add(check.metric, check.window, check.threshold);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: check: metric = {}", check.origin, error.what()));
  }
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
      watch_(model),
      owned_(owned_inputs(run, model), data) {
  const StandardArithmetic standard;
  require_physics(experiment, model_);
  result_.timestep = run.timestep;
  result_.duration = changes.duration.value_or(experiment.duration);
  result_.seed = changes.seed.value_or(experiment.seed);
  result_.settings = run.settings;
  result_.command_line = std::move(command_line);
  result_.notices = run.scene.notices;
  for (const Check& check : experiment.checks) {
    if (check.window.after < result_.duration) continue;
    result_.notices.push_back(notice_text(
        "check-window-empty", fmt::format("{}: the run ends at {} s, the window begins at {} s",
                                          check.origin, result_.duration, check.window.after)));
  }
  for (const std::string& warning : take_engine_warnings())
    result_.notices.push_back(
        notice_text("engine-warning", fmt::format("initial state: {}", one_line(warning))));
  tell_since(0);

  for (const Check& check : experiment.checks) check_metrics_.push_back(add_check(metrics_, check));
  first_default_ = metrics_.count();
  metrics_.add_defaults();
}

ExperimentRun::~ExperimentRun() = default;

void ExperimentRun::record(const OpenRecording& open, const RolloutAttributes& more) {
  const std::size_t known = result_.notices.size();
  RolloutAttributes attributes = recording_attributes(experiment_, run_, model_, result_.seed,
                                                      result_.command_line, result_.notices);
  for (const auto& [key, text] : more) attributes[key] = text;
  tell_since(known);
  recorder_ = std::make_unique<RunRecorder>(model_, attributes, open);
  recorder_->append(data_, 0, 0.0);
}

void ExperimentRun::step(const ForeignStep* other) {
  const StandardArithmetic standard;
  if (done_) return;
  const long step = result_.steps + 1;
  if (!monitor_) {
    static_cast<void>(take_engine_warnings());
    monitor_.emplace(data_);
    start_ = Clock::now();
  }
  const double step_start = data_.time;
  faults_.apply(model_, data_);  // sees the controls of the step before
  owned_.before_step(data_);
  run_.motions.apply(data_, step_start);
  if (other != nullptr) {
    std::ranges::copy(other->mocap_pos, data_.mocap_pos);
    std::ranges::copy(other->mocap_quat, data_.mocap_quat);
    std::ranges::copy(other->ctrl, data_.ctrl);
  }
  const Clock::time_point before = Clock::now();
  const std::string engine_error = guarded([&] { mj_step(&model_, &data_); });
  const double step_time_us = 1e6 * seconds(Clock::now() - before);
  if (!engine_error.empty()) {
    return diverged(fmt::format("stopped at step {}, t = {:.6g} s: MuJoCo: {}", step, step_start,
                                engine_error));
  }
  if (other != nullptr) {
    std::ranges::copy(other->ctrl, data_.ctrl);  // controllers have written theirs
    std::ranges::copy(other->qpos, data_.qpos);
    std::ranges::copy(other->qvel, data_.qvel);
    std::ranges::copy(other->act, data_.act);
  }
  step_times_.add(step_time_us);
  result_.steps = step;
  if (!monitor_->healthy(model_, data_)) return diverged(monitor_->reason(model_, data_, step));
  metrics_.sample(model_, data_, step_start);
  if (watch_.sample(model_, data_, step_start)) {
    const std::size_t known = result_.notices.size();
    for (const std::string& warning : take_engine_warnings())
      notice_at(step_start, "engine-warning", one_line(warning));
    for (const std::string& line : watch_.not_following(data_))
      notice_at(step_start, "controller-not-followed", line);
    tell_since(known);
  }
  if (owned_.after_step(data_)) {
    notice_at(step_start, "input-overwritten", owned_.overwritten());
    tell_since(result_.notices.size() - 1);
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
  const StandardArithmetic standard;
  if (finished_) return result_;
  interrupt();
  finished_ = true;
  result_.wall_time = monitor_ ? seconds(Clock::now() - start_) : 0.0;
  result_.simulated_time = static_cast<double>(result_.steps) * run_.timestep;
  result_.real_time_factor =
      result_.wall_time > 0.0 ? result_.simulated_time / result_.wall_time : 0.0;
  result_.step_times = step_times_.times();
  evaluate();
  if (result_.outcome != Outcome::Diverged) tell_passing_robots();
  if (recorder_)
    recorder_->close(result_.reason.empty() ? to_string(result_.outcome) : result_.reason);
  return result_;
}

void ExperimentRun::notice_at(double time, NoticeCode code, const std::string& text) {
  result_.notices.push_back(notice_text(code, fmt::format("t = {:.6g} s: {}", time, text)));
}

void ExperimentRun::tell_passing_robots() {
  const std::size_t known = result_.notices.size();
  for (const std::string& line : passing_robots(model_, data_))
    result_.notices.push_back(fmt::format("{}: {}", experiment_.scene.string(), line));
  if (result_.notices.size() > known) tell_since(known);
}

void ExperimentRun::tell_since(std::size_t known) {
  if (on_notices_) on_notices_(std::span(result_.notices).subspan(known));
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
    if (auto failure = failure_of(status, experiment_))
      result_.failures.push_back(*std::move(failure));
  }
  for (int i = first_default_; i < metrics_.count(); ++i)
    result_.metrics.emplace_back(metrics_.metric(i), metrics_.value(i));
  for (const SignalInfo& signal : signal_table()) {
    if (signal.of != MetricOf::Run) continue;
    const Metric metric = parse_metric(signal.name);
    result_.metrics.emplace_back(metric, run_metric(metric, result_));
  }
}

}  // namespace tendril::simulation
