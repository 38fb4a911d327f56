#include "apps/tendril/write_report.hpp"

#include <fmt/format.h>

#include <system_error>

#include "apps/tendril/python_module.hpp"

namespace tendril::simulation {

std::vector<std::string> write_report(const std::filesystem::path& folder,
                                      const ReportOptions& options,
                                      const RenderProgress& progress) {
  std::vector<std::string> problems;
  std::error_code ignored;
  if (options.images > 0 && std::filesystem::exists(folder / "rollout.h5", ignored)) {
    try {
      SnapshotOptions snapshots{.count = options.images};
      snapshots.image.camera = options.camera;
      if (render_snapshots(folder / "rollout.h5", folder, snapshots, progress).empty()) return {};
    } catch (const std::exception& error) {
      problems.push_back(fmt::format("report: no images: {}", error.what()));
    }
  }
  give_plugin_to_python();  // for the playback
  const auto problem = run_module("tendril.report", {folder.string()});
  if (problem) problems.push_back("report: " + *problem);
  const bool stopped = progress && !progress(options.images, options.images);
  if (problem || stopped) {
    std::filesystem::remove(folder / "report.html", ignored);
    std::filesystem::remove(folder / "play.html", ignored);
    remove_snapshots(folder);
  }
  return problems;
}

}  // namespace tendril::simulation
