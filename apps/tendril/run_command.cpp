#include "apps/tendril/run_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/run_results.hpp"
#include "apps/tendril/terminal.hpp"
#include "apps/tendril/window/check_text.hpp"
#include "rendering/render_recording.hpp"
#include "simulation/experiment/input_files.hpp"
#include "simulation/experiment/summary.hpp"
#include "simulation/families/families.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/files/manifest.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"
#include "tendril/number_text.hpp"
#include "tendril/visible_text.hpp"

namespace tendril {
namespace {

constexpr int kExitDiverged = 3;
constexpr int kExitInputOutput = 4;

}  // namespace

double run_duration(const RunArguments& arguments) {
  const std::optional<double> duration = read_number(arguments.duration);
  if (!duration || !(*duration > 0.0) || !(*duration <= simulation::kLongestRun))
    throw ModelError(
        fmt::format("--duration: {}: must be a time in (0, 1e6] s", arguments.duration));
  return *duration;
}

namespace {

simulation::RunChanges changes_of(const RunArguments& arguments) {
  simulation::RunChanges changes;
  if (!arguments.duration.empty()) changes.duration = run_duration(arguments);
  if (!arguments.seed.empty()) {
    const auto seed = read_integer<std::int64_t>(arguments.seed);
    if (!seed || *seed < 0) {
      throw ModelError(fmt::format("--seed: {}: must be an integer in [0, 2^63)", arguments.seed));
    }
    changes.seed = static_cast<std::uint64_t>(*seed);
  }
  for (const std::string& text : arguments.set)
    changes.settings.push_back(simulation::parse_setting(text));
  if (arguments.sensed)
    changes.settings.push_back(simulation::parse_setting("controller.measured=sensors"));
  changes.controller = arguments.controller;
  return changes;
}

void print_checks(const simulation::RunResult& result) {
  if (result.checks.empty()) return;
  std::size_t width = 5;
  for (const simulation::CheckResult& r : result.checks)
    width = std::max(width, visible(r.check.name).size());
  say("{:<{}}  {:>18}  {:>20}  verdict\n", "check", width, "value", "limit");
  for (const simulation::CheckResult& r : result.checks) {
    const bool is_over = result.outcome == simulation::Outcome::Done;
    say("{:<{}}  {:>18}  {:>20}  ", visible(r.check.name), width, readable(r.value, r.unit),
        limits(r.check, r.unit));
    if (r.holds && !is_over)
      say("run not finished");
    else
      print_colored(r.holds ? "32" : "31", r.holds ? "ok" : "FAILED");
    say("\n");
  }
}

/// "12 % of the steps, from 1.2 s to 3 s".
std::string when(const simulation::Occurrence& occurrence, long steps) {
  const double fraction =
      100.0 * static_cast<double>(occurrence.steps) / static_cast<double>(std::max(1L, steps));
  const std::string share = fraction < 0.1 ? "< 0.1" : fmt::format("{:.3g}", fraction);
  return fmt::format("{} % of the steps, from {:.4g} s to {:.4g} s", share, occurrence.first,
                     occurrence.last);
}

/// Prints what the robots said, where their servos were at their limits, and what they touched.
void print_robots(const simulation::RunResult& result) {
  constexpr std::size_t kMax = 5;
  for (const simulation::RobotStatus& robot : result.statuses) {
    say("{}{}: {} at the end", robot.robot, robot.is_sensed ? ", by its sensors" : "",
        to_string(robot.end));
    for (int i = 0; i < kStatusCount; ++i) {
      const simulation::Occurrence& o = robot.by_status[static_cast<std::size_t>(i)];
      const auto status = static_cast<ControllerStatus>(i);
      if (o.steps == 0 || (o.steps == result.steps && status == robot.end)) continue;
      if (status == ControllerStatus::Working) continue;
      say("; {} in {}", to_string(status), when(o, result.steps));
    }
    say("\n");
  }
  for (std::size_t i = 0; i < result.saturated.size(); ++i) {
    if (i == kMax) {
      say("and {} more servos at their limits\n", result.saturated.size() - kMax);
      break;
    }
    const simulation::SaturatedServo& servo = result.saturated[i];
    say("servo {}: at its limit of {:.3g} in {}\n", servo.actuator, servo.limit,
        when(servo.occurrence, result.steps));
  }
  for (std::size_t i = 0; i < result.touched.size(); ++i) {
    if (i == kMax) {
      say("and {} more geoms touched\n", result.touched.size() - kMax);
      break;
    }
    const simulation::TouchedGeom& touched = result.touched[i];
    say("touched {}: at most {:.3g} N, in {}\n", touched.geom, touched.largest_force,
        when(touched.occurrence, result.steps));
  }
}

int exit_code_of(const simulation::RunResult& result) {
  if (result.outcome == simulation::Outcome::Diverged) return kExitDiverged;
  if (result.outcome == simulation::Outcome::Interrupted) return kExitInterrupted;
  return result.passes() ? 0 : kExitCheckFailed;
}

void print_notice(const RunArguments& arguments, const std::string& text) {
  if (!arguments.quiet) tendril::print_notice(text);
}

void print_result(const RunArguments& arguments, const simulation::RunResult& result,
                  const std::filesystem::path& out, const std::vector<std::string>& files,
                  const std::string& more_lines) {
  print_checks(result);
  if (result.outcome != simulation::Outcome::Done && !result.checks.empty())
    say("the run {}: it does not pass, whatever the checks of its part say\n",
        result.outcome == simulation::Outcome::Diverged ? "diverged" : "was interrupted");
  if (arguments.quiet) return;
  print_robots(result);
  say("{}", more_lines);
  say("{:.2f} s simulated in {:.2f} s, {:.1f} x real time; step {:.0f} us mean, {:.0f} us p99.9\n",
      result.simulated_time, result.wall_time, result.real_time_factor, result.step_times.mean,
      result.step_times.p999);
  say("{}: {}\n", (out / "").string(), fmt::join(files, " "));
}

std::filesystem::path default_folder(const simulation::Experiment& experiment,
                                     const simulation::RunChanges& changes) {
  return std::filesystem::path("out") /
         fmt::format("{}-seed{}", experiment.name, changes.seed.value_or(experiment.seed));
}

/// Prints the files that a run reads, as JSON.
int list_files(const simulation::Experiment& experiment, const simulation::RunChanges& changes) {
  std::vector<simulation::Setting> settings = changes.settings;
  if (!changes.controller.empty())
    settings.push_back({"controller.plugin", {changes.controller}, "--controller"});
  std::vector<std::string> names;
  for (const std::filesystem::path& file : simulation::input_files(experiment, settings))
    names.push_back(file.string());
  print_data(nlohmann::json(names).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
             '\n');
  return 0;
}

}  // namespace

int run_experiment_command(const RunArguments& arguments,
                           const std::function<void(simulation::RunOptions&)>& change,
                           const std::function<std::string()>& more_lines) {
  simulation::require_kind(arguments.file, "run", simulation::kRunnable);
  simulation::Experiment experiment = simulation::load_experiment(arguments.file);
  simulation::RunOptions options;
  options.changes = changes_of(arguments);
  if (arguments.list_files) return list_files(experiment, options.changes);
  static_cast<void>(video_options(arguments));  // refuses them before the run
  const std::filesystem::path out = arguments.out.empty()
                                        ? default_folder(experiment, options.changes)
                                        : std::filesystem::path(arguments.out);
  const ResultFolder folder(out);
  experiment = simulation::with_scene(
      std::move(experiment), options.changes.seed.value_or(experiment.seed), out / "scene");
  if (!arguments.no_record) options.recording = out / "rollout.h5";
  options.command_line = command_line_text();
  if (change) change(options);
  options.on_loaded = [&](const mjModel& model) {
    simulation::require_camera(model, arguments.image.camera);
    folder.clear(arguments);
  };
  const InterruptRequest interrupt;
  options.stop = &interrupt.flag();
  ProgressBar bar(arguments.quiet);
  options.on_progress = [&](const simulation::Progress& progress) { bar.show(progress); };

  const simulation::RunResult result =
      simulation::run_experiment(experiment, options, [&](std::span<const std::string> notices) {
        for (const std::string& text : notices) print_notice(arguments, text);
      });
  bar.finish();

  const std::string summary = simulation::summary_json(experiment, result);
  simulation::write_text_file(out / "summary.json", summary);
  std::vector<std::string> files{"summary.json"};
  Renderings renderings;
  if (!arguments.no_record) {
    files.push_back("rollout.h5");
    renderings = make_renderings(arguments, interrupt, out);
    files.insert(files.end(), renderings.files.begin(), renderings.files.end());
  }
  simulation::seal_manifest(out);

  if (arguments.json) {
    print_data(summary);
  } else {
    print_result(arguments, result, out, files, more_lines ? more_lines() : std::string());
  }
  std::fflush(stdout);
  if (!result.reason.empty()) {
    complain(experiment.scene.string() + ": " + result.reason);
  }
  for (const std::string& failure : result.failures)
    complain(experiment.scene.string() + ": " + failure);
  for (const std::string& problem : renderings.problems) complain(problem);
  if (result.outcome == simulation::Outcome::Done && !renderings.missing.empty()) {
    complain(fmt::format("interrupted after the run: its recording is whole; missing: {}",
                         fmt::join(renderings.missing, ", ")));
    return kExitInterrupted;
  }
  const int exit_code = exit_code_of(result);
  return exit_code == 0 && !renderings.problems.empty() ? kExitInputOutput : exit_code;
}

void add_run_options(const Command& command, const std::shared_ptr<RunArguments>& arguments) {
  command
      .option(
          "--out", arguments->out,
          "folder of the results; earlier results are replaced [out/<experiment name>-seed<seed>]")
      .output();
  command.option("--duration", arguments->duration,
                 "simulated time, s [that of the experiment, or 10]");
  command.option("--seed", arguments->seed,
                 "seed of [vary], integer >= 0 [that of the experiment, or 0]");
  command.option("--set", arguments->set,
                 "change a setting: key=value, e.g. option.timestep=0.004; may be repeated");
  command.flag("--json", arguments->json, "print summary.json instead of the table");
  const Option video =
      command.flag("--video", arguments->video, "render video.mp4 from the recording");
  const Option camera = arguments->image.add_camera(command, "video and report");
  arguments->image.add_size(command, "the video").needs(video);
  command.option("--fps", arguments->frame_rate, "frames per second of the video [25]")
      .needs(video);
  command.flag("--no-record", arguments->no_record, "do not write rollout.h5, report and video")
      .excludes(video)
      .excludes(camera);
  command.flag("--no-report", arguments->no_report, "do not write report.html");
  command.flag("--quiet", arguments->quiet, "no progress bar, no notices");
}

void add_run_command(CommandLine& line) {
  const Command command = line.command("run", "Runs an experiment or a scene headless");
  const auto arguments = std::make_shared<RunArguments>();
  command.option("file", arguments->file, "experiment (.toml), scene (.xml) or robot (.toml)")
      .required();
  add_run_options(command, arguments);
  command.option("--controller", arguments->controller,
                 "plugin for the robots, e.g. tendril.reach");
  command.flag("--sensed", arguments->sensed,
               "controllers see what an estimator makes of the robots' sensors, not the truth");
  command.flag("--list-files", arguments->list_files,
               "print the files that the run reads, as JSON, and run nothing");
  command.footer(
      "Example: tendril run scenes/tube_insertion/tube_insertion.toml --seed 3 --set "
      "option.timestep=0.004 --out "
      "out/tube\n"
      "With an additional controller library: tendril run SCENE.xml --plugin FILE.so\n"
      "Exit codes: 0 all checks hold, 1 a check failed or a robot ended with a fault, jammed or "
      "without reaching its target, 2 bad input, 3 diverged, 4 input/output or no video or report, "
      "130 interrupted");
  command.action([arguments] { return run_experiment_command(*arguments); });
}

}  // namespace tendril
