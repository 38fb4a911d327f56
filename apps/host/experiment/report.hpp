#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/host/recording/render_recording.hpp"

namespace tendril::host {

struct ReportOptions {
  bool snapshots = true;  ///< render snapshots first; needs rollout.h5 and OpenGL
  SnapshotOptions snapshot = {};
};

/// Writes `report.html` from the files in the folder of a run: summary.json, rollout.h5, video.mp4
/// and the snapshots. Problems are returned as warnings, one line each with a remedy, never thrown.
/// Empty: no problem.
[[nodiscard]] std::vector<std::string> write_report(const std::filesystem::path& folder,
                                                    const ReportOptions& options = {});

}  // namespace tendril::host
