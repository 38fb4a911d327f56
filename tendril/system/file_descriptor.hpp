#pragma once

// The operating system as the rest of the tree knows it. What includes its headers is in posix/ and
// windows/, one of which CMake builds (tests/install/layers_test.sh). Functions whose failure has a
// reason leave it in errno.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace tendril::system {

/// Owns an open file of the operating system.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor() { static_cast<void>(close()); }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }

  /// False when closing fails. Closed it is in any case.
  bool close() noexcept;

 private:
  int descriptor_ = -1;
};

enum class Opening {
  Read,     ///< a named pipe into which nobody writes ends immediately instead of being waited for
  Replace,  ///< to write a file that is created or emptied
  Write,    ///< to write into what there is, such as a pipe
  Append,   ///< to write behind the end of a file, which is created if there is none
};

/// Opens a file that programs started later do not inherit. Not open: it failed.
[[nodiscard]] FileDescriptor open_file(const std::filesystem::path& file, Opening opening);

/// Opens a folder and locks it until the descriptor is closed. Not open: it failed, with errno
/// EWOULDBLOCK where another process has locked it.
[[nodiscard]] FileDescriptor lock_folder(const std::filesystem::path& folder);

enum class Stream { Input, Output, Error };

/// Returns another descriptor of stdin, stdout or stderr.
[[nodiscard]] FileDescriptor copy_of(Stream stream);

/// Tells whether a stream is that of a terminal, on which escape sequences have an effect.
[[nodiscard]] bool is_terminal(Stream stream) noexcept;

/// Opens what is closed of stdin, stdout and stderr in a way that every use fails: otherwise the
/// next file, such as a recording, would take its place and get what is printed. A file that
/// becomes larger than the system's limit is a write error from then on, not the end of the
/// program.
void prepare_streams() noexcept;

struct FileStatus {
  bool is_regular = false;
  bool is_folder = false;
  std::uintmax_t size = 0;  ///< bytes, of a regular file
};

/// Nothing when it failed; for a file that is not open, errno still has the reason of that.
[[nodiscard]] std::optional<FileStatus> status_of(const FileDescriptor& file) noexcept;

/// Waits until there are bytes, or the last writer of a pipe has closed it, and reads them.
/// @return  how many; 0: at the end; -1: it failed
[[nodiscard]] std::ptrdiff_t read_some(const FileDescriptor& file, std::span<char> bytes) noexcept;

/// False when not all bytes could be written.
[[nodiscard]] bool write_all(const FileDescriptor& file, std::string_view bytes) noexcept;

#if defined(_WIN32)
inline constexpr bool kRenamesOpenFiles = false;  ///< whether a file that is open can be renamed
#else
inline constexpr bool kRenamesOpenFiles = true;  ///< whether a file that is open can be renamed
#endif

/// Tells whether this process may write a file, or make files in a folder.
[[nodiscard]] bool is_writable(const std::filesystem::path& path) noexcept;

}  // namespace tendril::system
