#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "tendril/system/process.hpp"

extern char** environ;

namespace tendril::system {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLongestMessage = 8000;  // bytes

std::vector<char*> words_of(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// A file without a name.
FileDescriptor temporary_file() {
#if defined(__linux__)
  return FileDescriptor(memfd_create("messages", MFD_CLOEXEC));
#else
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) return {};
  FileDescriptor copy(fcntl(fileno(file), F_DUPFD_CLOEXEC, 0));
  std::fclose(file);
  return copy;
#endif
}

/// A socket rather than a pipe: writing to a program that has ended is then an error, not a signal.
bool connect_ends(int (&ends)[2]) {
#if defined(__APPLE__)
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
  const int on = 1;
  for (const int end : ends) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    setsockopt(end, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  }
  return true;
#else
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
#endif
}

int exit_status(pid_t process) noexcept {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, Stream kept) {
  int ends[2];
  if (!connect_ends(ends)) fail(errno, command.front());
  input_ = FileDescriptor(ends[0]);
  const FileDescriptor their_input(ends[1]);
  messages_ = temporary_file();
  if (!messages_.is_open()) fail(errno, command.front());
  const bool keeps_error = kept == Stream::Error;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, their_input.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, keeps_error ? STDOUT_FILENO : STDERR_FILENO,
                                   "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, messages_.get(),
                                   keeps_error ? STDERR_FILENO : STDOUT_FILENO);
  pid_t process = -1;
  const std::vector<char*> words = words_of(command);
  const int error = posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail(error, command.front());
  process_ = process;
}

bool Process::write(std::string_view bytes) noexcept {
#if defined(__APPLE__)
  constexpr int kFlags = 0;
#else
  constexpr int kFlags = MSG_NOSIGNAL;
#endif
  while (!bytes.empty()) {
    const ssize_t sent = send(input_.get(), bytes.data(), bytes.size(), kFlags);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int Process::wait() noexcept {
  input_.close();
  if (process_ >= 0) status_ = exit_status(static_cast<pid_t>(std::exchange(process_, -1)));
  return status_;
}

std::string Process::messages() const {
  struct stat file {};
  if (fstat(messages_.get(), &file) != 0) return {};
  const off_t begin = std::max<off_t>(0, file.st_size - kLongestMessage);
  std::string text(static_cast<std::size_t>(file.st_size - begin), '\0');
  const ssize_t count = pread(messages_.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return text;
}

void continue_as(const std::vector<std::string>& command) {
  const std::vector<char*> words = words_of(command);
  execvp(words[0], words.data());
  fail(errno, command.front());
}

std::optional<int> run_in_copy(unsigned limit) {
  const pid_t copy = fork();
  if (copy < 0) fail(errno, "fork");
  if (copy > 0) return exit_status(copy);
  alarm(limit);
  return std::nullopt;
}

fs::path find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  const std::string places = path == nullptr ? "" : path;
  for (std::size_t at = 0; at <= places.size();) {
    const std::size_t end = std::min(places.find(kPathSeparator, at), places.size());
    const fs::path candidate = fs::path(places.substr(at, end - at)) / name;
    if (end > at && access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return {};
}

fs::path program_file() {
#if defined(__APPLE__)
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string name(size, '\0');
  if (_NSGetExecutablePath(name.data(), &size) != 0) return {};
  std::error_code ignored;
  return fs::canonical(name.c_str(), ignored);
#else
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
#endif
}

int process_id() noexcept { return getpid(); }

void set_environment(const char* name, const std::string& value) noexcept {
  setenv(name, value.c_str(), 1);
}

void set_default_environment(const char* name, const std::string& value) noexcept {
  setenv(name, value.c_str(), 0);
}

}  // namespace tendril::system
