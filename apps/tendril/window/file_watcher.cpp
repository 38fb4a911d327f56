#include "apps/tendril/window/file_watcher.hpp"

#include <system_error>
#include <utility>

namespace tendril {
namespace {

constexpr double kLookAgain = 0.5;  // s

}  // namespace

FileWatcher::FileWatcher(std::vector<std::filesystem::path> files) : files_(std::move(files)) {
  remember();
}

void FileWatcher::remember() {
  times_.clear();
  std::error_code gone;
  for (const std::filesystem::path& file : files_)
    times_.push_back(std::filesystem::last_write_time(file, gone));
}

bool FileWatcher::has_changed(double now) {
  if (now < next_look_) return false;
  next_look_ = now + kLookAgain;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::error_code gone;
    const auto time = std::filesystem::last_write_time(files_[i], gone);
    if (gone || time == times_[i]) continue;
    remember();
    return true;
  }
  return false;
}

}  // namespace tendril
