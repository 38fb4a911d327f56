#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/host/recording/render_recording.hpp"

namespace tendril::host {

struct ReportOptions {
  bool snapshots = true;  ///< render them first; needs rollout.h5 and OpenGL
  SnapshotOptions snapshot = {};
};

/// Writes `report.html` from what lies in the folder of a run: summary.json, rollout.h5, video.mp4
/// and the snapshots that it renders first. A report is an extra: what goes wrong comes back as
/// warnings, one line each that says what to do, and never as an exception. Empty: all is there.
[[nodiscard]] std::vector<std::string> write_report(const std::filesystem::path& folder,
                                                    const ReportOptions& options = {});

}  // namespace tendril::host
