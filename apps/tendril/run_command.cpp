#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "apps/host/experiment/report.hpp"
#include "apps/host/experiment/run.hpp"
#include "apps/host/file_kind.hpp"
#include "apps/host/recording/render_recording.hpp"
#include "apps/tendril/commands.hpp"
#include "apps/tendril/progress.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr int kExitCheckFailed = 1;
constexpr int kExitDiverged = 3;
constexpr int kExitInterrupted = 130;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // may be set in a signal handler

extern "C" void on_interrupt(int) { stop_requested.store(true); }

struct RunArguments {
  std::string file;
  std::string out;
  std::string duration;
  std::string seed;
  std::string controller;
  std::vector<std::string> set;
  bool json = false;
  bool video = false;
  bool no_record = false;
  bool no_report = false;
  bool quiet = false;
};

template <class Number>
std::optional<Number> parsed(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

host::RunChanges changes_of(const RunArguments& arguments) {
  host::RunChanges changes;
  if (!arguments.duration.empty()) {
    changes.duration = parsed<double>(arguments.duration);
    if (!changes.duration || !(*changes.duration > 0.0) ||
        !(*changes.duration <= host::kLongestRun)) {
      throw ModelError(
          fmt::format("--duration: {}: must be a time in (0, 1e6] s", arguments.duration));
    }
  }
  if (!arguments.seed.empty()) {
    const auto seed = parsed<std::int64_t>(arguments.seed);
    if (!seed || *seed < 0) {
      throw ModelError(fmt::format("--seed: {}: must be an integer in [0, 2^63)", arguments.seed));
    }
    changes.seed = static_cast<std::uint64_t>(*seed);
  }
  for (const std::string& text : arguments.set)
    changes.settings.push_back(host::parse_setting(text));
  changes.controller = arguments.controller;
  return changes;
}

std::string number_with_unit(double value, const std::string& unit) {
  if (std::isnan(value)) return "no data";
  return unit.empty() ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, unit);
}

std::string limits(const host::Check& check) {
  if (check.min && check.max) return fmt::format("{:.4g} .. {:.4g}", *check.min, *check.max);
  return check.min ? fmt::format(">= {:.4g}", *check.min) : fmt::format("<= {:.4g}", *check.max);
}

void print_checks(const host::RunResult& result) {
  if (result.checks.empty()) return;
  const bool colour = wants_colour();
  std::size_t width = 5;
  for (const host::CheckResult& r : result.checks) width = std::max(width, r.check.name.size());
  fmt::print("{:<{}}  {:>18}  {:>20}  verdict\n", "check", width, "value", "limit");
  for (const host::CheckResult& r : result.checks) {
    const char* const verdict = r.holds ? (colour ? "\033[32mok\033[0m" : "ok")
                                        : (colour ? "\033[31mFAILED\033[0m" : "FAILED");
    fmt::print("{:<{}}  {:>18}  {:>20}  {}\n", r.check.name, width,
               number_with_unit(r.value, r.unit), limits(r.check), verdict);
  }
}

int exit_code_of(const host::RunResult& result) {
  if (result.outcome == host::Outcome::Diverged) return kExitDiverged;
  if (result.outcome == host::Outcome::Interrupted) return kExitInterrupted;
  return result.all_checks_hold() ? 0 : kExitCheckFailed;
}

void notice(const RunArguments& arguments, const std::string& text) {
  if (!arguments.quiet) std::cerr << "tendril: notice: " << text << '\n';
}

/// Video and report from the recording. Failures are only notices, because the results do not
/// depend on them.
std::vector<std::string> make_pictures(const RunArguments& arguments,
                                       const std::filesystem::path& out) {
  std::vector<std::string> files;
  if (arguments.video) {
    ProgressBar bar(arguments.quiet);
    try {
      host::render_video(out / "rollout.h5", out / "video.mp4", {}, [&](int frame, int count) {
        bar.show(fmt::format("video: frame {}/{}", frame, count),
                 static_cast<double>(frame) / count);
        return !stop_requested.load();
      });
      files.push_back("video.mp4");
    } catch (const host::RenderError& error) {
      bar.finish();
      notice(arguments, fmt::format("no video: {}", error.what()));
    }
  }
  if (!arguments.no_report && !stop_requested.load()) {
    for (const std::string& warning : host::write_report(out)) notice(arguments, warning);
    if (std::filesystem::exists(out / "report.html")) files.push_back("report.html");
  }
  return files;
}

void print_result(const RunArguments& arguments, const host::RunResult& result,
                  const std::filesystem::path& out, const std::vector<std::string>& files) {
  print_checks(result);
  if (arguments.quiet) return;
  fmt::print(
      "{:.2f} s simulated in {:.2f} s, {:.1f} x real time; step {:.0f} us mean, {:.0f} us p99.9\n",
      result.simulated_time, result.wall_time, result.real_time_factor, result.step_times.mean,
      result.step_times.p999);
  fmt::print("{}: {}\n", (out / "").string(), fmt::join(files, " "));
}

int run(const RunArguments& arguments) {
  host::require_kind(arguments.file, "run", host::kRunnable);
  const host::Experiment experiment = host::load_experiment(arguments.file);
  host::RunOptions options;
  options.changes = changes_of(arguments);
  const std::filesystem::path out = arguments.out.empty()
                                        ? std::filesystem::path("out") / experiment.name
                                        : std::filesystem::path(arguments.out);
  host::make_output_folder(out);
  if (!arguments.no_record) options.recording = out / "rollout.h5";
  options.command_line = command_line_text();
  options.stop = &stop_requested;
  ProgressBar bar(arguments.quiet);
  options.on_progress = [&](const host::Progress& progress) { bar.show(progress); };

  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const host::RunResult result =
      host::run_experiment(experiment, options, [&](std::span<const std::string> notices) {
        for (const std::string& text : notices) notice(arguments, text);
      });
  bar.finish();

  const std::string summary = host::summary_json(experiment, result);
  host::write_text_file(out / "summary.json", summary);
  std::vector<std::string> files{"summary.json"};
  if (!arguments.no_record) {
    files.push_back("rollout.h5");
    const std::vector<std::string> pictures = make_pictures(arguments, out);
    files.insert(files.end(), pictures.begin(), pictures.end());
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);

  if (arguments.json) {
    std::cout << summary;
  } else {
    print_result(arguments, result, out, files);
  }
  std::fflush(stdout);
  if (!result.reason.empty()) {
    std::cerr << "tendril: " << experiment.scene.string() << ": " << result.reason << '\n';
  }
  return exit_code_of(result);
}

}  // namespace

void add_run_command(CommandLine& line) {
  const Command command = line.command("run", "Runs an experiment or a scene headless");
  const auto arguments = std::make_shared<RunArguments>();
  command.option("file", arguments->file, "experiment (.toml), scene (.xml) or robot (.toml)")
      .required();
  command.option("--out", arguments->out, "folder of the results [out/<experiment name>]");
  command.option("--duration", arguments->duration,
                 "simulated time, s [that of the experiment, or 10]");
  command.option("--seed", arguments->seed,
                 "seed of [vary], integer >= 0 [that of the experiment, or 0]");
  command.option("--controller", arguments->controller,
                 "plugin for the robots, e.g. tendril.reach");
  command.option("--set", arguments->set,
                 "change a setting: key=value, e.g. option.timestep=0.004; may be repeated");
  command.flag("--json", arguments->json, "print summary.json instead of the table");
  const Option video =
      command.flag("--video", arguments->video, "render video.mp4 from the recording");
  command.flag("--no-record", arguments->no_record, "do not write rollout.h5, report and video")
      .excludes(video);
  command.flag("--no-report", arguments->no_report, "do not write report.html");
  command.flag("--quiet", arguments->quiet, "no progress bar, no notices");
  command.footer(
      "Example: tendril run scenes/tube_insertion/tube_insertion.toml --seed 3 --set "
      "option.timestep=0.004 --out "
      "out/tube\n"
      "With an additional controller library: tendril run SCENE.xml --plugin FILE.so\n"
      "Exit codes: 0 all checks hold, 1 a check failed, 2 bad input, 3 diverged, 4 input/output, "
      "130 interrupted");
  command.action([arguments] { return run(*arguments); });
}

}  // namespace tendril
