#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/run_command.hpp"
#include "apps/tendril/run_results.hpp"
#include "apps/tendril/terminal.hpp"
#ifdef TENDRIL_DYNAMIXEL
#include "drive/dynamixel/dynamixel_link.hpp"
#endif
#include "drive/combined_link.hpp"
#include "drive/real_time_loop.hpp"
#include "drive/udp_link.hpp"
#include "simulation/drive/drive_recorder.hpp"
#include "simulation/files/csv_table.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/files/manifest.hpp"
#include "simulation/rollout/drive_log.hpp"
#include "tendril/model/value.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr int kExitDifferent = 1;
constexpr int kExitNotDriven = 1;
constexpr int kExitInputOutput = 4;

struct DriveArguments {
  std::string robot;
  std::vector<std::string> links;
  simulation::DriveOptions options;
  std::optional<double> stale, speed, cut, stop, rate;
  std::optional<std::int64_t> link_seed;
  std::string target;
};

/// The kind and the file of a link, `sim:FILE`.
struct LinkName {
  std::string kind, address;
  [[nodiscard]] bool is_real() const { return kind == "udp" || kind == "dynamixel"; }
};

LinkName link_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon == std::string::npos ||
      (kind != "sim" && kind != "log" && kind != "udp" && kind != "dynamixel"))
    throw ModelError(fmt::format(
        "--link: {}: must be sim:EXPERIMENT, log:RECORDING, udp:HOST:PORT or dynamixel:BUS.toml",
        text));
  return {kind, text.substr(colon + 1)};
}

simulation::DriveOptions options_of(const DriveArguments& arguments) {
  simulation::DriveOptions options = arguments.options;
  const auto take = [](const char* name, const std::optional<double>& value, double& out) {
    if (!value) return;
    if (!(*value > 0.0)) throw ModelError(fmt::format("{}: {}: must be positive", name, *value));
    out = *value;
  };
  take("--stale", arguments.stale, options.safety.stale_after);
  take("--speed-limit", arguments.speed, options.safety.speed_limit);
  take("--cut", arguments.cut, options.cut_at);
  take("--stop", arguments.stop, options.stop_at);
  require_valid(options.link);
  return options;
}

std::string counts_text(const DriveLoop::Counts& counts, DriveState state) {
  return fmt::format(
      "driver: {} at the end; {} steps, {} of them held, {} without a message (the "
      "longest silence {:.3g} s), {} slowed down, {} readings not finite\n",
      to_string(state), counts.steps, counts.held, counts.without_message, counts.longest_silence,
      counts.limited, counts.discarded);
}

int drive_simulation(const DriveArguments& arguments, RunArguments run) {
  const simulation::DriveOptions options = options_of(arguments);
  std::unique_ptr<simulation::DrivenRobot> driven;
  run.sensed = true;
  std::string lines;
  return run_experiment_command(
      run,
      [&](simulation::RunOptions& of) {
        of.attributes["driven_by"] = arguments.robot;
        of.on_ready = [&](simulation::PreparedRun& prepared) {
          driven = std::make_unique<simulation::DrivenRobot>(
              arguments.robot, *prepared.scene.model, *prepared.data, options,
              static_cast<std::uint64_t>(arguments.link_seed.value_or(0)));
          of.attributes["driven_robot"] = driven->names().label();
        };
        of.on_end = [&] {
          lines = counts_text(driven->loop().counts(), driven->loop().state());
          if (!driven->loop().driver().fault().empty())
            lines += fmt::format("driver: {}\n", driven->loop().driver().fault());
          driven.reset();
        };
      },
      [&] { return lines; });
}

int drive_by_log(const DriveArguments& arguments, const std::string& file, bool quiet) {
  simulation::require_kind(file, "drive", {simulation::FileKind::Recording});
  RolloutReader reader(file);
  ProgressBar bar(quiet);
  const std::int64_t rows = reader.row_count();
  const simulation::DriveComparison result =
      simulation::drive_by_log(reader, arguments.robot, options_of(arguments),
                               static_cast<std::uint64_t>(arguments.link_seed.value_or(0)),
                               [&](std::int64_t row, double time) {
                                 bar.show(fmt::format("{:.2f} s", time),
                                          static_cast<double>(row) / static_cast<double>(rows));
                               });
  bar.finish();
  if (result.equal_steps == result.steps) {
    say("{} steps: every command is bitwise identical\n", result.steps);
    return 0;
  }
  say("{} of {} steps: every command is bitwise identical; the first other one is step {}; largest "
      "difference {:.3g} of the range of {}\n",
      result.equal_steps, result.steps, result.first_step, result.largest, result.actuator);
  return kExitDifferent;
}

/// Targets of a table with the columns t, x, y, z.
TargetTable read_targets(const std::string& file) {
  simulation::CsvReader reader(
      file, {.columns = {{"t"}, {"x"}, {"y"}, {"z"}}, .ignored = {}, .allowed = "t,x,y,z"});
  std::vector<TargetTable::Row> rows;
  std::array<double, 4> numbers{};
  while (reader.read(numbers)) {
    if (!rows.empty() && numbers[0] <= rows.back().time)
      reader.refuse(fmt::format("column t: {}: must be later than the row before", numbers[0]));
    rows.emplace_back().time = numbers[0];
    rows.back().X_BG.translation() = Eigen::Vector3d(numbers.data() + 1);
  }
  if (rows.empty()) throw ModelError(file + ": no rows: must have a target");
  return TargetTable(std::move(rows));
}

/// Upright targets: one at a position, or those of a table; none if the text is empty.
TargetTable targets_of(const std::string& text) {
  if (text.empty()) return {};
  if (text.ends_with(".csv")) return read_targets(text);
  constexpr std::size_t kNumbers = 3;
  const std::optional<std::vector<double>> numbers = Value::parse("[" + text + "]").numbers();
  if (!numbers || numbers->size() != kNumbers)
    throw ModelError(
        fmt::format("--target: {}: must be three numbers x,y,z, m, or a table .csv", text));
  TargetTable::Row row;
  row.X_BG.translation() = Eigen::Vector3d(numbers->data());
  return TargetTable({row});
}

std::unique_ptr<RobotDriver> driver_of(const std::string& robot, const ComputerOptions& options) {
  try {
    return make_driver(load_robot(robot), options);
  } catch (const ModelError& error) {
    const std::string text = error.what();
    throw ModelError(text.starts_with(robot) ? text : robot + ": " + text);
  }
}

/// Runs the loop until its end or Ctrl-C.
LoopTimes run_until_end(DriveLoop& loop, RobotLink& link, RealTimeOptions times, bool quiet) {
  const InterruptRequest interrupt;
  times.stop = &interrupt.flag();
  ProgressBar bar(quiet);
  times.on_progress = [&](double time) {
    bar.show(fmt::format("{:.1f} s: {}, {}", time, to_string(loop.state()),
                         to_string(loop.driver().report().status)),
             times.duration > 0.0 ? time / times.duration : 0.0);
  };
  const LoopTimes result = run_real_time(loop, link, times);
  bar.finish();
  InterruptRequest::clear();
  return result;
}

/// Opens a link to a robot, `udp` or `dynamixel`.
std::unique_ptr<RobotLink> open_link(const std::string& text, const RobotPorts& ports,
                                     [[maybe_unused]] double timestep,
                                     [[maybe_unused]] bool is_alone) {
  const auto [kind, address] = link_of(text);
  if (kind == "udp") return std::make_unique<UdpLink>(address, ports);
#ifdef TENDRIL_DYNAMIXEL
  return std::make_unique<DynamixelLink>(address, ports, timestep, is_alone);
#else
  throw ModelError(fmt::format("--link: dynamixel:{}: {}", address, kNoServos));
#endif
}

/// Opens the links: the first one has the actuators, the others are programs that measure.
std::unique_ptr<RobotLink> open_links(const std::vector<std::string>& texts,
                                      const RobotPorts& ports, double timestep) {
  if (texts.size() == 1) return open_link(texts[0], ports, timestep, true);
  std::vector<CombinedLink::Part> parts;
  for (const std::string& text : texts)
    parts.push_back({.name = text, .link = open_link(text, ports, timestep, false)});
  return std::make_unique<CombinedLink>(ports, std::move(parts));
}

/// A robot elsewhere, in real time, until Ctrl-C.
int drive_robot(const DriveArguments& arguments, const RunArguments& run) {
  constexpr double kSpeedLimit = 1.0;  // ranges/s
  simulation::DriveOptions options = options_of(arguments);
  if (!arguments.speed) options.safety.speed_limit = kSpeedLimit;
  const double rate = arguments.rate.value_or(100.0);
  if (!(rate >= 1.0 && rate <= 10000.0))
    throw ModelError(fmt::format("--rate: {}: must be in [1, 10000] Hz", rate));
  RealTimeOptions times{.timestep = 1.0 / rate};
  if (!run.duration.empty()) times.duration = run_duration(run);
  times.targets = targets_of(arguments.target);
  static_cast<void>(video_options(run));  // refuses them before the run
  const ComputerOptions settings{.timestep = times.timestep,
                                 .link_delay = 2.0 * options.link.delay + options.link.jitter,
                                 .are_forces_late = false};
  const std::unique_ptr<RobotDriver> driver = driver_of(arguments.robot, settings);
  DriveLoop loop(*driver, options.safety);
  const std::unique_ptr<RobotLink> link =
      open_links(arguments.links, driver->ports(), times.timestep);

  const std::filesystem::path out =
      !run.out.empty() ? std::filesystem::path(run.out)
                       : std::filesystem::path("out") /
                             (std::filesystem::path(arguments.robot).stem().string() + "-drive");
  std::optional<ResultFolder> folder;
  std::optional<simulation::DriveRecorder> recorder;
  if (!run.no_record) {
    folder.emplace(out);
    folder->clear(run, false);
    recorder.emplace(arguments.robot, out / "rollout.h5",
                     fmt::format("{}", fmt::join(arguments.links, " ")), command_line_text(), loop,
                     simulation::DriverSettings{.robot = driver->text(),
                                                .driver = settings,
                                                .safety = options.safety,
                                                .targets = times.targets});
    times.on_step = [&](const LoopStep& step) { recorder->take(step); };
  }
  try {
    link->begin();
  } catch (...) {
    if (recorder) static_cast<void>(recorder->close("not driven"));  // removes it
    throw;
  }
  const LoopTimes result = run_until_end(loop, *link, times, run.quiet);
  bool has_let_go = true;
  try {
    link->finish();
  } catch (const ModelError& error) {
    complain(error.what());
    has_let_go = false;
  }
  std::string problem;
  Renderings renderings;
  if (recorder) {
    problem =
        recorder->close(loop.state() == DriveState::Running ? "done" : to_string(loop.state()));
    if (problem.empty()) renderings = make_renderings(run, InterruptRequest(), out);
    simulation::seal_manifest(out);
  }
  say("{}{}\n", counts_text(loop.counts(), loop.state()), link->summary());
  say("times: {} steps of {:.3g} ms, late by {:.3g} ms on average and {:.3g} ms at most; {} "
      "skipped; "
      "the longest step took {:.3g} ms\n",
      result.steps, 1e3 * times.timestep, 1e3 * result.mean_late, 1e3 * result.longest_late,
      result.skipped, 1e3 * result.longest_step);
  if (recorder && problem.empty())
    say("{}: rollout.h5 {}\n", (out / "").string(), fmt::join(renderings.files, " "));
  if (!problem.empty()) complain(fmt::format("{}: {}", (out / "rollout.h5").string(), problem));
  for (const std::string& line : renderings.problems) complain(line);
  if (const std::string silent = link->problem(); !silent.empty()) complain(silent);
  const bool was_held = loop.counts().held == loop.counts().steps;
  if (was_held && loop.state() == DriveState::Running)
    complain("the robot did not tell where its target is: --target does");
  if (loop.state() == DriveState::Fault) complain(driver->fault());
  if (loop.state() != DriveState::Running || was_held || link->has_failed() || !has_let_go)
    return kExitNotDriven;
  return problem.empty() && renderings.problems.empty() ? 0 : kExitInputOutput;
}

}  // namespace

void add_drive_command(CommandLine& line) {
  const Command command =
      line.command("drive", "Runs the controller of a robot file against a robot, by its sensors");
  const auto arguments = std::make_shared<DriveArguments>();
  const auto run = std::make_shared<RunArguments>();
  command.option("robot", arguments->robot, "robot file (.toml) with sensors and a controller")
      .required();
  command
      .option(
          "--link", arguments->links,
          "the robot: sim:EXPERIMENT, one in a simulation; udp:HOST:PORT, one that listens there; "
          "dynamixel:BUS.toml, servos on a serial bus; "
          "log:RECORDING, readings of one, to compare the commands. Further ones, udp:HOST:PORT, "
          "are programs that measure what the first does not")
      .required();
  command.option("--prefix", arguments->options.robot,
                 "prefix of the robot in a scene with several");
  command.option("--delay", arguments->options.link.delay, "of messages, each way, s [0]");
  command.option("--jitter", arguments->options.link.jitter,
                 "added to the delay, random up to this, s [0]");
  command.option("--loss", arguments->options.link.loss,
                 "fraction of the messages that are lost, each way [0]");
  command.option("--link-seed", arguments->link_seed, "of the link's draws, integer >= 0 [0]");
  command.option("--bits", arguments->options.command_bits,
                 "resolution of commands over the range of an actuator; 0: exact [0]");
  command.option("--stale", arguments->stale,
                 "commands are held when no message has come for this time, s [0.1]");
  command.option("--speed-limit", arguments->speed,
                 "largest speed of a command, ranges of its actuator per second [none; with udp "
                 "and dynamixel 1]");
  command.option(
      "--target", arguments->target,
      "with udp and dynamixel: position x,y,z of the target in the frame of the base, of a "
      "free snake where it starts, m, or a table FILE.csv with columns t,x,y,z, each row until the "
      "next [told by "
      "the robot]");
  command.option("--rate", arguments->rate, "with udp and dynamixel: steps per second [100]");
  command.option("--cut", arguments->cut, "the link is cut at this time, s [never]");
  command.option("--stop", arguments->stop, "emergency stop at this time, s [never]");
  add_run_options(command, run);
  command.footer(
      "Example: tendril drive scenes/tube_insertion/arm_sensed.toml --link "
      "sim:scenes/tube_insertion/sensed.toml --delay 0.004\n"
      "A robot that is driven with udp or dynamixel has its log, a recording, in out/<robot "
      "file>-drive unless "
      "--out names another folder: tendril rollout replay makes the steps again.\n"
      "Exit codes: those of tendril run; with log: 0 all commands are bitwise those recorded, 1 "
      "some differ; with udp and dynamixel: 0 the robot was driven to the end, 1 its commands were "
      "held then");
  command.action([arguments, run] {
    const LinkName first = link_of(arguments->links.at(0));
    for (std::size_t i = 1; i < arguments->links.size(); ++i)
      if (!first.is_real() || link_of(arguments->links[i]).kind != "udp")
        throw ModelError(
            fmt::format("--link: {}: must be udp:HOST:PORT beside a first link udp or dynamixel",
                        arguments->links[i]));
    run->file = first.address;
    if (first.is_real()) return drive_robot(*arguments, *run);
    return first.kind == "log" ? drive_by_log(*arguments, first.address, run->quiet)
                               : drive_simulation(*arguments, *run);
  });
}

}  // namespace tendril
