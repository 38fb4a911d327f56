#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tendril/system/file_copy.hpp"
#include "tendril/system/file_descriptor.hpp"

namespace tendril::system {
namespace {

int number_of(Stream stream) noexcept {
  return stream == Stream::Input    ? STDIN_FILENO
         : stream == Stream::Output ? STDOUT_FILENO
                                    : STDERR_FILENO;
}

int flags_of(Opening opening) noexcept {
  switch (opening) {
    case Opening::Read:
      return O_RDONLY | O_NONBLOCK;
    case Opening::Replace:
      return O_WRONLY | O_CREAT | O_TRUNC;
    case Opening::Write:
      return O_WRONLY;
    case Opening::Append:
      break;
  }
  return O_WRONLY | O_APPEND | O_CREAT;
}

/// Waits until a pipe has data, or its last writer has closed it.
bool waits(int descriptor) noexcept {
  pollfd pipe{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&pipe, 1, -1) > 0 || errno == EINTR;
}

}  // namespace

bool FileDescriptor::close() noexcept {
  return !is_open() || ::close(std::exchange(descriptor_, -1)) == 0;
}

FileDescriptor open_file(const std::filesystem::path& file, Opening opening) {
  return FileDescriptor(open(file.c_str(), flags_of(opening) | O_CLOEXEC, 0666));
}

FileDescriptor lock_folder(const std::filesystem::path& folder) {
  FileDescriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.is_open() && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    lock.close();
    errno = EWOULDBLOCK;
  }
  return lock;
}

FileDescriptor copy_of(Stream stream) { return FileDescriptor(dup(number_of(stream))); }

bool is_terminal(Stream stream) noexcept { return isatty(number_of(stream)) == 1; }

void prepare_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0)
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

std::optional<FileStatus> status_of(const FileDescriptor& file) noexcept {
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return std::nullopt;
  const bool is_regular = S_ISREG(status.st_mode);
  return FileStatus{.is_regular = is_regular,
                    .is_folder = S_ISDIR(status.st_mode),
                    .size = is_regular ? static_cast<std::uintmax_t>(status.st_size) : 0};
}

std::ptrdiff_t read_some(const FileDescriptor& file, std::span<char> bytes) noexcept {
  ssize_t count = -1;
  do {
    count = ::read(file.get(), bytes.data(), bytes.size());
  } while (count < 0 && (errno == EINTR || (errno == EAGAIN && waits(file.get()))));
  return count;
}

bool write_all(const FileDescriptor& file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool is_writable(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  const int needed = std::filesystem::is_directory(path, ignored) ? W_OK | X_OK : W_OK;
  return access(path.c_str(), needed) == 0;
}

FileCopy::FileCopy(const std::filesystem::path& file) noexcept {
  const FileDescriptor input(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!input.is_open() || fstat(input.get(), &status) != 0 || status.st_size <= 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, input.get(), 0);
  if (bytes != MAP_FAILED) bytes_ = {static_cast<unsigned char*>(bytes), size};
}

FileCopy::~FileCopy() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace tendril::system
