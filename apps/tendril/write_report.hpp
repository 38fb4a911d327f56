#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rendering/render_recording.hpp"

namespace tendril::simulation {

struct ReportOptions {
  int images = 6;           ///< from the first row to the last; 0: none; they need OpenGL
  std::string camera = {};  ///< of the images, see recording_camera
};

/// Writes `report.html`, and `play.html` (docs/guide/view.md), from the files in the folder of
/// a run: summary.json, rollout.h5, video.mp4 and the snapshots, which are made first. Returns the
/// problems, one line each with a remedy; empty: the report is complete. An unfinished report is
/// removed.
/// @param progress  called after each image; when it returns false there is no report
[[nodiscard]] std::vector<std::string> write_report(const std::filesystem::path& folder,
                                                    const ReportOptions& options = {},
                                                    const RenderProgress& progress = {});

}  // namespace tendril::simulation
