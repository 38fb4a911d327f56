#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/system/file_descriptor.hpp"

namespace tendril::system {

/// A child process. Its stdin is written by this program; of its stdout and stderr one is kept, the
/// other is discarded.
class Process {
 public:
  /// Starts a program, searched on PATH unless its name has a folder. Throws std::system_error.
  /// @param command  the program and its arguments
  /// @param kept     stdout or stderr
  explicit Process(const std::vector<std::string>& command, Stream kept = Stream::Error);
  /// Closes the program's input and waits for its end.
  ~Process() { wait(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Appends to the program's input. False if the program no longer reads.
  [[nodiscard]] bool write(std::string_view bytes) noexcept;

  /// Closes the program's input and waits for its end. Returns its exit status; -1 if it was
  /// killed. Further calls return the same value.
  int wait() noexcept;

  /// The last 8000 bytes of what is kept.
  [[nodiscard]] std::string messages() const;

 private:
  FileDescriptor input_;
  FileDescriptor messages_;
  std::intptr_t process_ = -1;
  int status_ = -1;
};

/// Runs another program, searched on PATH unless its name has a folder, in the place of this one.
/// Throws std::system_error.
[[noreturn]] void continue_as(const std::vector<std::string>& command);

/// Makes a copy of this process and waits for its end, for work that may crash or hang. The copy
/// ends after at most `limit` seconds. Throws std::system_error.
///
/// @return  in the copy nothing; in this process the exit status of the copy, -1 if it was killed.
///          Where processes cannot be copied (Windows) nothing, so that this one does the work.
[[nodiscard]] std::optional<int> run_in_copy(unsigned limit);

/// Path of a program on PATH; empty if there is none.
[[nodiscard]] std::filesystem::path find_program(const std::string& name);

/// The file of this program; empty if it is unknown.
[[nodiscard]] std::filesystem::path program_file();

/// The number of this process.
[[nodiscard]] int process_id() noexcept;

#if defined(_WIN32)
inline constexpr char kPathSeparator = ';';  ///< between the folders of PATH and PYTHONPATH
inline constexpr const char* kPython = "python";
inline constexpr const char* kPythonOfEnvironment = ".venv/Scripts/python.exe";
#else
inline constexpr char kPathSeparator = ':';  ///< between the folders of PATH and PYTHONPATH
inline constexpr const char* kPython = "python3";
inline constexpr const char* kPythonOfEnvironment = ".venv/bin/python";
#endif

/// Sets a variable of the environment, of this process and of those that it starts.
void set_environment(const char* name, const std::string& value) noexcept;
/// Does so unless the variable is set.
void set_default_environment(const char* name, const std::string& value) noexcept;

}  // namespace tendril::system
