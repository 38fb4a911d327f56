#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/host/recording/render_recording.hpp"

namespace tendril::host {

/// The interpreter for reports: TENDRIL_PYTHON, else `.venv` of a folder above the program, else
/// the one found when the program was built, else python3 on PATH.
[[nodiscard]] std::filesystem::path find_python();

/// A Python script of the source tree, e.g. apps/report/report.py: of the installation (by its file
/// name), of the source tree above the program, or of the one it was built from; empty: none.
[[nodiscard]] std::filesystem::path find_script(const std::filesystem::path& source);

/// Runs a script (see `find_script`) with the folder as its argument. Returns nothing if all went
/// well, else one line that says what to do.
[[nodiscard]] std::optional<std::string> run_script(const std::filesystem::path& source,
                                                    const std::filesystem::path& folder);

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
