#include "simulation/experiment/summary.hpp"

#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "simulation/engine/engine.hpp"
#include "simulation/experiment/settings_json.hpp"
#include "tendril/system/machine.hpp"

namespace tendril::simulation {

namespace {

using Json = nlohmann::ordered_json;

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json limit(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json checks_json(const std::vector<CheckResult>& results) {
  Json checks = Json::array();
  for (const CheckResult& r : results) {
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
    checks.push_back(std::move(check));
  }
  return checks;
}

/// Appends steps, first and last to a row.
Json with_occurrence(Json row, const Occurrence& occurrence) {
  row["steps"] = occurrence.steps;
  row["first"] = occurrence.first;
  row["last"] = occurrence.last;
  return row;
}

Json robots_json(const std::vector<RobotStatus>& robots) {
  Json all = Json::array();
  for (const RobotStatus& robot : robots) {
    Json statuses = Json::array();
    for (int i = 0; i < kStatusCount; ++i) {
      const Occurrence& o = robot.by_status[static_cast<std::size_t>(i)];
      if (o.steps == 0) continue;
      statuses.push_back(
          with_occurrence({{"status", to_string(static_cast<ControllerStatus>(i))}}, o));
    }
    all.push_back({{"robot", robot.robot},
                   {"measured", robot.is_sensed ? "sensors" : "truth"},
                   {"end", to_string(robot.end)},
                   {"statuses", std::move(statuses)}});
  }
  return all;
}

Json saturated_json(const std::vector<SaturatedServo>& servos) {
  Json all = Json::array();
  for (const SaturatedServo& servo : servos)
    all.push_back(
        with_occurrence({{"actuator", servo.actuator}, {"limit", servo.limit}}, servo.occurrence));
  return all;
}

Json touched_json(const std::vector<TouchedGeom>& geoms) {
  Json all = Json::array();
  for (const TouchedGeom& touched : geoms)
    all.push_back(with_occurrence(
        {{"geom", touched.geom}, {"largest_force", touched.largest_force}}, touched.occurrence));
  return all;
}

Json metrics_json(const RunResult& result) {
  Json all = Json::object();
  for (const auto& [metric, value] : result.metrics) all[metric.name] = finite(value);
  return all;
}

Json machine_json() {
  const system::Machine machine = system::this_machine();
  return {{"host", machine.host},
          {"system", machine.system},
          {"processor", machine.processor},
          {"cores", std::thread::hardware_concurrency()}};
}

}  // namespace

std::string summary_json(const Experiment& experiment, const RunResult& result) {
  Json summary;
  summary["experiment"] = experiment.name;
  summary["file"] = experiment.file.string();
  summary["scene"] = experiment.scene_name(result.seed);
  summary["seed"] = result.seed;
  summary["outcome"] = to_string(result.outcome);
  summary["reason"] = result.reason;
  summary["verdict"] = result.verdict();
  summary["measured"] = result.measured();
  summary["failures"] = result.failures;
  summary["checks"] = checks_json(result.checks);
  summary["robots"] = robots_json(result.statuses);
  summary["saturated_servos"] = saturated_json(result.saturated);
  summary["touched"] = touched_json(result.touched);
  summary["metrics"] = metrics_json(result);
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
  summary["machine"] = machine_json();
  if (const auto load = system::load_average()) summary["load_average"] = *load;
  return summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tendril::simulation
