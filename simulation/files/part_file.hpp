#pragma once

#include <filesystem>
#include <system_error>
#include <utility>

namespace tendril::simulation {

/// A file that is being made: it has the ending `.part` until `finish` gives it its name, and is
/// removed if that is not called.
class PartFile {
 public:
  explicit PartFile(std::filesystem::path file) : file_(std::move(file)), part_(file_) {
    part_ += ".part";
    std::error_code ignored;
    std::filesystem::remove(part_, ignored);  // a link of this name would be followed
  }
  ~PartFile() {
    std::error_code ignored;
    if (!finished_) std::filesystem::remove(part_, ignored);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  /// Returns the path to write to.
  [[nodiscard]] const std::filesystem::path& part() const noexcept { return part_; }

  /// Gives the file its name, replacing an earlier one.
  [[nodiscard]] std::error_code finish() noexcept {
    std::error_code error;
    std::filesystem::rename(part_, file_, error);
    finished_ = !error;
    return error;
  }

 private:
  std::filesystem::path file_, part_;
  bool finished_ = false;
};

}  // namespace tendril::simulation
