#include "apps/host/experiment/report.hpp"

#include <fmt/format.h>

#include <system_error>

#include "apps/host/python_script.hpp"

namespace tendril::host {

std::vector<std::string> write_report(const std::filesystem::path& folder,
                                      const ReportOptions& options) {
  std::vector<std::string> warnings;
  std::error_code ignored;
  if (options.snapshots && std::filesystem::exists(folder / "rollout.h5", ignored)) {
    try {
      render_snapshots(folder / "rollout.h5", folder, options.snapshot);
    } catch (const std::exception& error) {
      warnings.push_back(fmt::format("report: no snapshots: {}", error.what()));
    }
  }
  if (const auto problem = run_script("apps/report/report.py", {folder.string()}))
    warnings.push_back("report: " + *problem);
  return warnings;
}

}  // namespace tendril::host
