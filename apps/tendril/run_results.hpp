#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/tendril/interrupt.hpp"
#include "apps/tendril/run_command.hpp"
#include "rendering/render_recording.hpp"
#include "tendril/system/file_descriptor.hpp"

namespace tendril {

/// The folder of a run's results. While it lives, no other run writes into the folder.
class ResultFolder {
 public:
  /// Throws OutputError if the folder cannot be written or another run writes into it.
  explicit ResultFolder(const std::filesystem::path& folder);

  /// Removes the results of an earlier run, so that those of two runs are never mixed: what its
  /// manifest lists. To be called when nothing else can be refused any more. Says so, unless
  /// `quiet`. Throws ModelError for a file with the name of a result that no run has written.
  /// @param has_summary  there will be a summary.json
  void clear(const RunArguments& arguments, bool has_summary = true) const;

 private:
  std::filesystem::path folder_;
  system::FileDescriptor lock_;
};

/// Images and videos made of the recording after a run.
struct Renderings {
  std::vector<std::string> files;
  std::vector<std::string> problems;  ///< why something could not be made, one line each
  std::vector<std::string> missing;   ///< files not made because of an interrupt
};

/// Throws ModelError for options that are not allowed.
[[nodiscard]] simulation::VideoOptions video_options(const RunArguments& arguments);

/// Video and report, with one progress bar.
[[nodiscard]] Renderings make_renderings(const RunArguments& arguments,
                                         const InterruptRequest& interrupt,
                                         const std::filesystem::path& out);

}  // namespace tendril
