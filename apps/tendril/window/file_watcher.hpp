#pragma once

#include <filesystem>
#include <vector>

namespace tendril {

/// Tells when one of some files has been written.
class FileWatcher {
 public:
  explicit FileWatcher(std::vector<std::filesystem::path> files);

  /// Tells whether a file was written since the last time that this was true. Looks now and then;
  /// an editor may have taken a file away for a moment.
  /// @param now  of any clock that advances [s]
  [[nodiscard]] bool has_changed(double now);

 private:
  void remember();

  std::vector<std::filesystem::path> files_;
  std::vector<std::filesystem::file_time_type> times_;
  double next_look_ = 0.0;  ///< [s]
};

}  // namespace tendril
