#include "apps/host/experiment/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace tendril::host {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// `name` below the program's folder or the nearest folder above it that has it; empty: none.
fs::path find_above_program(const fs::path& name) {
  for (fs::path folder = program_folder(); !folder.empty(); folder = folder.parent_path()) {
    if (is_there(folder / name)) return folder / name;
    if (folder == folder.root_path()) break;
  }
  return {};
}

/// Exit status of a program and the last line that it wrote to stderr.
struct Ended {
  int error = 0;  ///< errno when it could not be started
  int status = -1;
  std::string message;
};

Ended run_program(const std::vector<std::string>& command) {
  char name[] = "/tmp/tendril_report_XXXXXX";
  const int messages = mkostemp(name, O_CLOEXEC);
  if (messages >= 0) unlink(name);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (messages >= 0) posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  Ended ended;
  pid_t process = -1;
  ended.error = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (ended.error == 0) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::array<char, 8000> text{};
    const off_t end = messages < 0 ? 0 : lseek(messages, 0, SEEK_END);
    const off_t from = std::max<off_t>(0, end - static_cast<off_t>(text.size()));
    const ssize_t count = end > 0 ? pread(messages, text.data(), text.size(), from) : 0;
    ended.message.assign(text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    while (!ended.message.empty() && ended.message.back() == '\n') ended.message.pop_back();
    ended.message.erase(0, ended.message.rfind('\n') + 1);
  }
  if (messages >= 0) ::close(messages);
  return ended;
}

}  // namespace

fs::path find_python() {
  if (const char* named = std::getenv("TENDRIL_PYTHON"); named != nullptr && named[0] != '\0')
    return named;
  if (const fs::path own = find_above_program(".venv/bin/python"); !own.empty()) return own;
  if (const fs::path built_with = TENDRIL_PYTHON; is_there(built_with)) return built_with;
  return "python3";
}

fs::path find_script(const fs::path& source) {
  const fs::path installed =
      program_folder() / ".." / TENDRIL_INSTALL_DATADIR / "tendril" / source.filename();
  if (is_there(installed)) return installed.lexically_normal();
  if (const fs::path own = find_above_program(source); !own.empty()) return own;
  const fs::path built_from = fs::path(TENDRIL_SOURCE_ROOT) / source;
  return is_there(built_from) ? built_from : fs::path();
}

std::optional<std::string> run_script(const fs::path& source, const fs::path& folder) {
  const fs::path script = find_script(source);
  if (script.empty()) {
    return fmt::format("{} is not found: install tendril again, or keep it beside its source tree",
                       source.filename().string());
  }
  const std::string python = find_python().string();
  // -B: no byte code beside the script.
  const Ended ended = run_program({python, "-B", script.string(), folder.string()});
  if (ended.error != 0) {
    return fmt::format(
        "{}: {}: install Python 3 with numpy, h5py and matplotlib, or name one with "
        "TENDRIL_PYTHON",
        python, std::strerror(ended.error));
  }
  if (ended.status != 0) {
    return fmt::format("{} failed: {}", python,
                       ended.message.empty() ? "it gave no reason" : ended.message);
  }
  return std::nullopt;
}

std::vector<std::string> write_report(const fs::path& folder, const ReportOptions& options) {
  std::vector<std::string> warnings;
  if (options.snapshots && is_there(folder / "rollout.h5")) {
    try {
      render_snapshots(folder / "rollout.h5", folder, options.snapshot);
    } catch (const std::exception& error) {
      warnings.push_back(fmt::format("report: no snapshots: {}", error.what()));
    }
  }
  if (const auto problem = run_script("apps/report/report.py", folder))
    warnings.push_back("report: " + *problem);
  return warnings;
}

}  // namespace tendril::host
