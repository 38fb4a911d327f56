#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/host/file_descriptor.hpp"

namespace tendril::host {

/// Another program that runs beside this one. It reads what is written to it, its output is thrown
/// away, and what it says on stderr is kept.
class Process {
 public:
  /// Starts a program, looked up on PATH unless its name has a slash. Throws std::system_error.
  /// @param command  the program and its arguments
  explicit Process(const std::vector<std::string>& command);
  /// Ends the program's input and waits for it.
  ~Process() { wait(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Appends to the program's input. False when the program no longer reads.
  [[nodiscard]] bool write(std::string_view bytes) noexcept;

  /// Ends the program's input and waits until it ends. Its exit status; -1 for one that was killed.
  /// Further calls return the same.
  int wait() noexcept;

  /// What it has written to stderr, the last 8000 bytes.
  [[nodiscard]] std::string messages() const;

 private:
  FileDescriptor input_;
  FileDescriptor messages_;
  int process_ = -1;
  int status_ = -1;
};

}  // namespace tendril::host
