#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulation/files/file_descriptor.hpp"

namespace tendril::simulation {

/// A child process. Its stdin is written by this program, its stdout is discarded, and its stderr
/// is kept.
class Process {
 public:
  /// Starts a program, searched on PATH unless its name contains a slash. Throws std::system_error.
  /// @param command  the program and its arguments
  explicit Process(const std::vector<std::string>& command);
  /// Closes the program's input and waits for its end.
  ~Process() { wait(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Appends to the program's input. False if the program no longer reads.
  [[nodiscard]] bool write(std::string_view bytes) noexcept;

  /// Closes the program's input and waits for its end. Returns its exit status; -1 if it was
  /// killed. Further calls return the same value.
  int wait() noexcept;

  /// The last 8000 bytes of its stderr.
  [[nodiscard]] std::string messages() const;

 private:
  FileDescriptor input_;
  FileDescriptor messages_;
  int process_ = -1;
  int status_ = -1;
};

}  // namespace tendril::simulation
