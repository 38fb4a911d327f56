#include "rendering/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

extern char** environ;

namespace tendril::simulation {
namespace {

constexpr off_t kLongestMessage = 8000;  // bytes

}  // namespace

Process::Process(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A socket rather than a pipe: writing to a program that has ended is then an error, not a
  // signal.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), command.front());
  input_ = FileDescriptor(ends[0]);
  const FileDescriptor their_input(ends[1]);
  messages_ = FileDescriptor(memfd_create("messages", MFD_CLOEXEC));
  if (!messages_.is_open())
    throw std::system_error(errno, std::generic_category(), command.front());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, their_input.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, messages_.get(), STDERR_FILENO);
  const int error =
      posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), command.front());
}

bool Process::write(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t sent = send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int Process::wait() noexcept {
  input_.close();
  if (process_ < 0) return status_;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

}  // namespace tendril::simulation
