#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/host/render_recording.hpp"

namespace tendril::host {

/// The interpreter for reports: TENDRIL_PYTHON, else `.venv` of a folder above the program, else
/// the one found when the program was built, else python3 on PATH.
[[nodiscard]] std::filesystem::path find_python();

/// report.py: of the installation, of the source tree above the program, or of the one it was built
/// from; empty: none.
[[nodiscard]] std::filesystem::path find_report_script();

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
