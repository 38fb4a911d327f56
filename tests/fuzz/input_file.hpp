#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/fuzz/target.hpp"

namespace tendril::fuzz {

/// A file in memory with the bytes of an input, for readers that open a file.
class InputFile {
 public:
  InputFile()
      : descriptor_(memfd_create("input", MFD_CLOEXEC)),
        path_("/proc/self/fd/" + std::to_string(descriptor_)) {
    require(descriptor_ >= 0, "files in memory can be made");
  }
  ~InputFile() { close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(std::string_view bytes) {
    const bool written =
        ftruncate(descriptor_, 0) == 0 &&
        pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    require(written, "the file takes the input");
  }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace tendril::fuzz
