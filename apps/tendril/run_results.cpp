#include "apps/tendril/run_results.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "apps/tendril/progress.hpp"
#include "apps/tendril/terminal.hpp"
#include "apps/tendril/write_report.hpp"
#include "rendering/video_writer.hpp"
#include "simulation/files/manifest.hpp"
#include "simulation/rollout/run.hpp"

namespace tendril {
namespace {

bool remove_result(const std::filesystem::path& file) {
  std::error_code error;
  const bool removed = std::filesystem::remove(file, error);
  if (error)
    throw simulation::OutputError(
        fmt::format("{}: {}: an earlier result cannot be removed", file.string(), error.message()));
  return removed;
}

}  // namespace

ResultFolder::ResultFolder(const std::filesystem::path& folder) : folder_(folder) {
  simulation::make_output_folder(folder);
  lock_ = system::lock_folder(folder);
  if (lock_.is_open()) return;
  throw simulation::OutputError(
      errno == EWOULDBLOCK
          ? fmt::format("{}: another run writes its results here: choose another folder with --out",
                        folder.string())
          : fmt::format("{}: {}: must be a writable folder", folder.string(),
                        std::strerror(errno)));
}

void ResultFolder::clear(const RunArguments& arguments, bool has_summary) const {
  simulation::require_own(folder_,
                          {"summary.json", "rollout.h5", "report.html", "play.html", "video.mp4"});
  bool any = false;
  for (const std::string& name : simulation::manifest_of(folder_)) {
    any |= remove_result(folder_ / name);
    remove_result(folder_ / (name + ".part"));
  }
  remove_result(folder_ / simulation::kManifest);
  if (any && !arguments.quiet)
    print_notice(
        notice_text("results-replaced",
                    fmt::format("{}: results of an earlier run are replaced", folder_.string())));
  if (has_summary) simulation::add_to_manifest(folder_, "summary.json");
  if (arguments.no_record) return;
  simulation::add_to_manifest(folder_, "rollout.h5");
  if (arguments.video) simulation::add_to_manifest(folder_, "video.mp4");
  if (arguments.no_report) return;
  simulation::add_to_manifest(folder_, "report.html");
  simulation::add_to_manifest(folder_, "play.html");
}

simulation::VideoOptions video_options(const RunArguments& arguments) {
  simulation::VideoOptions options{.image = arguments.image.options()};
  options.frame_rate = arguments.frame_rate.value_or(options.frame_rate);
  simulation::require_frame_rate(options.frame_rate);
  return options;
}

Renderings make_renderings(const RunArguments& arguments, const InterruptRequest& interrupt,
                           const std::filesystem::path& out) {
  constexpr int kPlots = 10;  // take as long as so many images
  const simulation::ReportOptions report{.camera = arguments.image.camera};
  const int report_work = arguments.no_report ? 0 : report.images + kPlots;
  Renderings renderings;
  ProgressBar bar(arguments.quiet);
  int frames = 0;
  const auto add = [&](const char* file, const std::vector<std::string>& problems) {
    if (std::filesystem::exists(out / file)) {
      renderings.files.emplace_back(file);
    } else if (interrupt.is_set()) {
      renderings.missing.emplace_back(file);
      return;  // Ctrl-C ends ffmpeg and Python too
    }
    renderings.problems.insert(renderings.problems.end(), problems.begin(), problems.end());
  };
  if (arguments.video) {
    std::vector<std::string> problems;
    const auto on_frame = [&](int frame, int count) {
      frames = count;
      bar.show(fmt::format("video: frame {}/{}", frame, count),
               static_cast<double>(frame) / (count + report_work));
      return !interrupt.is_set();
    };
    try {
      if (!interrupt.is_set())
        simulation::render_video(out / "rollout.h5", out / "video.mp4", video_options(arguments),
                                 on_frame);
    } catch (const std::exception& error) {
      problems.push_back(fmt::format("video: {}", error.what()));
    }
    add("video.mp4", problems);
  }
  if (!arguments.no_report) {
    std::vector<std::string> problems;
    if (!interrupt.is_set()) {
      problems = simulation::write_report(out, report, [&](int done, int count) {
        const std::string text = done < count ? fmt::format("report: image {}/{}", done, count)
                                              : std::string("report: plots");
        bar.show(text, static_cast<double>(frames + done) / (frames + report_work));
        return !interrupt.is_set();
      });
    }
    add("report.html", problems);
    if (std::filesystem::exists(out / "play.html")) renderings.files.emplace_back("play.html");
  }
  return renderings;
}

}  // namespace tendril
