#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/terminal.hpp"
#include "apps/tendril/window/viewer.hpp"
#include "simulation/experiment/experiment.hpp"
#include "simulation/families/families.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model/file_extension.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr int kExitDiverged = 3;
constexpr double kSlowest = 1.0 / 64.0, kFastest = 64.0;

struct ViewArguments {
  std::string file;
  std::int64_t seed = -1;
  std::vector<std::string> set;
  std::string controller;
  ViewerOptions viewer;
  std::string screenshot;
};

std::unique_ptr<simulation::ViewSource> open_source(const ViewArguments& arguments,
                                                    ViewerOptions& options) {
  using Kind = simulation::FileKind;
  const std::filesystem::path file = arguments.file;
  simulation::require_kind(
      file, "view",
      {Kind::Experiment, Kind::Scene, Kind::Robot, Kind::Tube, Kind::Shell, Kind::Recording});
  if (extension_of(file) == ".h5") {
    if (!arguments.set.empty() || arguments.seed >= 0 || !arguments.controller.empty()) {
      throw ModelError(fmt::format(
          "{}: --set, --seed and --controller change a scene, not a recording", arguments.file));
    }
    return std::make_unique<simulation::Playback>(file);
  }
  simulation::RunChanges changes;
  if (arguments.seed >= 0) changes.seed = static_cast<std::uint64_t>(arguments.seed);
  for (const std::string& text : arguments.set)
    changes.settings.push_back(simulation::parse_setting(text));
  changes.controller = arguments.controller;
  simulation::Experiment experiment = simulation::load_experiment(file);
  const std::uint64_t seed = changes.seed.value_or(experiment.seed);
  experiment = simulation::with_scene(std::move(experiment), seed,
                                      fmt::format("out/{}-seed{}/scene", experiment.name, seed));
  options.name = experiment.name;
  const std::filesystem::path folder = experiment.scene.parent_path();
  auto run =
      std::make_unique<simulation::LiveRun>(std::move(experiment), changes, command_line_text());
  for (const std::string& text : run->scene().notices) print_notice(text);
  // Files that come with the package have names that are no paths.
  options.files = {file};
  for (const auto& [name, text] : run->scene().source_files)
    for (const std::filesystem::path& path : {std::filesystem::path(name), folder / name})
      if (std::filesystem::is_regular_file(path)) options.files.push_back(path);
  return run;
}

int view(const ViewArguments& arguments) {
  ViewerOptions options = arguments.viewer;
  if (!(options.speed >= kSlowest && options.speed <= kFastest)) {
    throw ModelError(fmt::format("--speed: {}: must be in [1/64, 64]", options.speed));
  }
  if (!(options.at >= 0.0) || !std::isfinite(options.at)) {
    throw ModelError(fmt::format("--at: {}: must be a time >= 0 s", options.at));
  }
  options.title = "tendril: " + std::filesystem::path(arguments.file).filename().string();
  options.screenshot = arguments.screenshot;
  const std::filesystem::path folder = options.screenshot.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw simulation::OutputError(
        fmt::format("--screenshot: {}: must be in a folder that exists", arguments.screenshot));
  std::unique_ptr<simulation::ViewSource> source = open_source(arguments, options);
  simulation::require_camera(source->model(), options.camera);
  if (!source->range() && options.screenshot.empty())
    options.reopen = [&arguments] {
      ViewerOptions ignored;
      return open_source(arguments, ignored);
    };
  Viewer viewer(std::move(source), options);
  viewer.run();
  const std::string stopped = viewer.source().stopped();
  const bool diverged = !viewer.source().range() && !stopped.empty();
  if (diverged) complain(arguments.file + ": " + stopped);
  return diverged && !options.screenshot.empty() ? kExitDiverged : 0;
}

}  // namespace

void add_view_command(CommandLine& line) {
  const Command command = line.command("view", "Shows a running scene or a recording in a window");
  const auto arguments = std::make_shared<ViewArguments>();
  ViewerOptions& viewer = arguments->viewer;
  command
      .option("file", arguments->file,
              "experiment (.toml), scene (.xml), robot (.toml) or recording (.h5)")
      .required();
  command.option("--camera", viewer.camera,
                 "camera of the scene to start with [its camera report, or a free one]");
  command.option("--speed", viewer.speed, "simulated seconds per second, 1/64 to 64 [1]");
  command.flag("--paused", viewer.start_paused, "start paused");
  command
      .option("--seed", arguments->seed,
              "seed of [vary], integer >= 0 [that of the experiment, or 0]")
      .not_negative();
  command.option("--set", arguments->set, "change a setting: key=value; may be repeated");
  command.option("--controller", arguments->controller,
                 "plugin for the robots, e.g. tendril.reach");
  command.option("--width", viewer.width, "of the window, pixels [1280]").range(320, 8192);
  command.option("--height", viewer.height, "of the window, pixels [800]").range(240, 8192);
  command.flag("--show-help", viewer.help, "start with the help on keys");
  command.flag("--show-panel", viewer.panel, "start with the panel of commands, joints and faults");
  command
      .option("--screenshot", arguments->screenshot, "write the window to this PNG file and exit")
      .output();
  command.option("--at", viewer.at, "simulated time of the screenshot, s [0]");
  command.footer(
      "Example: tendril view scenes/tube_insertion/tube_insertion.xml\n"
      "         tendril view out/tube_insertion/rollout.h5\n"
      "Keys are shown by F1. Exit codes: 0 closed, 2 bad input, 3 diverged before the screenshot, "
      "4 no display\n"
      "The Python package opens MuJoCo's viewer instead, with --speed, --seed, --set and "
      "--controller");
  command.action([arguments] { return view(*arguments); });
}

}  // namespace tendril
