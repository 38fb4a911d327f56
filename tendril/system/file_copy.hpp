#pragma once

#include <filesystem>
#include <span>

namespace tendril::system {

/// The bytes of a file in memory, which may be changed: the file is not. Pages are read when they
/// are needed.
class FileCopy {
 public:
  /// Empty if the file cannot be read or is empty.
  explicit FileCopy(const std::filesystem::path& file) noexcept;
  ~FileCopy();
  FileCopy(const FileCopy&) = delete;
  FileCopy& operator=(const FileCopy&) = delete;

  [[nodiscard]] std::span<unsigned char> bytes() const noexcept { return bytes_; }

 private:
  std::span<unsigned char> bytes_;
};

}  // namespace tendril::system
