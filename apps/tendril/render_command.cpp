#include <fmt/format.h>

#include <memory>
#include <optional>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/image_arguments.hpp"
#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/files/file_kind.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

struct RenderArguments {
  std::string file, second;
  std::string out;
  std::string strobe;
  bool no_forces = false, links = false, transparent = false, draft = false;
  ImageArguments image;
  std::optional<double> frame_rate, speed, from, to, time;
  bool quiet = false;
};

/// Refuses an option that the kind of file does not have.
void require_only_for(const char* kind, const char* option, const std::optional<double>& value) {
  if (value) throw ModelError(fmt::format("{}: {:g}: is only for {}", option, *value, kind));
}

simulation::ImageOptions image_options(const RenderArguments& arguments) {
  simulation::ImageOptions options = arguments.image.options();
  options.drawing = {.forces = !arguments.no_forces,
                     .links = arguments.links,
                     .transparent = arguments.transparent,
                     .draft = arguments.draft};
  options.second = arguments.second;
  constexpr int kSmallest = 2 * simulation::kSmallestImage;
  if (!arguments.second.empty() && options.width < kSmallest) {
    throw ModelError(fmt::format("--size: {}: must be at least {} pixels wide for two recordings",
                                 arguments.image.size, kSmallest));
  }
  return options;
}

int render(const RenderArguments& arguments) {
  simulation::require_kind(arguments.file, "render", {simulation::FileKind::Recording});
  if (!arguments.second.empty())
    simulation::require_kind(arguments.second, "render", {simulation::FileKind::Recording});
  const std::filesystem::path out = arguments.out;
  const bool is_video = out.extension() == ".mp4";
  if (!is_video && out.extension() != ".png")
    throw ModelError(fmt::format("--output: {}: must end with .mp4 or .png", arguments.out));
  const std::filesystem::path folder = out.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw simulation::OutputError(
        fmt::format("--output: {}: must be in a folder that exists", arguments.out));

  if (!is_video) {
    constexpr const char* kVideos = "videos (.mp4)";
    require_only_for(kVideos, "--fps", arguments.frame_rate);
    require_only_for(kVideos, "--speed", arguments.speed);
    const simulation::Instants instants{.time = arguments.time,
                                        .strobe = arguments.strobe,
                                        .from = arguments.from,
                                        .to = arguments.to};
    if (arguments.strobe.empty()) {
      require_only_for("videos (.mp4) and --strobe", "--from", arguments.from);
      require_only_for("videos (.mp4) and --strobe", "--to", arguments.to);
    }
    simulation::render_image(arguments.file, out, image_options(arguments), instants);
    return 0;
  }
  constexpr const char* kImages = "images (.png)";
  require_only_for(kImages, "--time", arguments.time);
  if (!arguments.strobe.empty())
    throw ModelError(fmt::format("--strobe: {}: is only for {}", arguments.strobe, kImages));
  if (arguments.transparent)
    throw ModelError(fmt::format("--transparent: is only for {}", kImages));
  simulation::VideoOptions options{
      .image = image_options(arguments), .from = arguments.from, .to = arguments.to};
  options.frame_rate = arguments.frame_rate.value_or(options.frame_rate);
  options.speed = arguments.speed.value_or(options.speed);

  const InterruptRequest interrupt;
  ProgressBar bar(arguments.quiet);
  try {
    simulation::render_video(arguments.file, out, options, [&](int frame, int count) {
      bar.show(fmt::format("frame {}/{}", frame, count), static_cast<double>(frame) / count);
      return !interrupt.is_set();
    });
  } catch (const simulation::RenderError&) {
    if (!interrupt.is_set()) throw;  // Ctrl-C ends ffmpeg too
  }
  bar.finish();
  if (!interrupt.is_set()) return 0;
  complain(arguments.out + ": interrupted: no video is written");
  return kExitInterrupted;
}

}  // namespace

void add_render_command(CommandLine& line) {
  const Command command = line.command("render", "Makes a video or an image of a recording");
  const auto arguments = std::make_shared<RenderArguments>();
  command.option("file", arguments->file, "recording (.h5)").required();
  command.option("beside", arguments->second, "another recording, for the right half");
  command.option("-o,--output", arguments->out, "video (.mp4) or image (.png)").output().required();
  arguments->image.add_camera(command, "all images");
  arguments->image.add_size(command, "the images");
  const Option time =
      command.option("--time", arguments->time, "of an image, s [the end of the recording]");
  command
      .option("--strobe", arguments->strobe,
              "an image of several instants: how many, or their times, s: 0.5,1,2.5")
      .excludes(time);
  command.option("--fps", arguments->frame_rate, "frames per second of a video [25]");
  command.option("--speed", arguments->speed, "simulated seconds per second of a video [1]");
  command.option("--from", arguments->from,
                 "first time in a video or of --strobe, s [start of the recording]");
  command.option("--to", arguments->to,
                 "last time in a video or of --strobe, s [end of the recording]");
  command.flag("--transparent", arguments->transparent,
               "an image without sky and floor, for other backgrounds");
  command.flag("--no-forces", arguments->no_forces, "no arrows of contact forces");
  command.flag("--links", arguments->links, "the links of continuum arms, not smooth bodies");
  command.flag("--draft", arguments->draft, "coarse edges and shadows, in half the time");
  command.flag("-q,--quiet", arguments->quiet, "no progress bar");
  command.footer(
      "Example: tendril render out/tube/rollout.h5 -o tube.mp4 --size 1920x1080 --from 2 --to 5\n"
      "         tendril render out/tube/rollout.h5 -o tube.png --time 4.5 --camera report\n"
      "         tendril render out/tube/rollout.h5 -o tube.png --strobe 5 --transparent\n"
      "         tendril render ours.h5 theirs.h5 -o both.mp4 --size 3840x1080 --fps 60\n"
      "Exit codes: 0 written, 2 bad input, 4 input/output, no OpenGL or no ffmpeg, 130 interrupted "
      "(then no file is written)");
  command.action([arguments] { return render(*arguments); });
}

}  // namespace tendril
