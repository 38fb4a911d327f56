#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "tendril/system/file_copy.hpp"
#include "tendril/system/file_descriptor.hpp"
#include "tendril/system/windows/windows.hpp"

namespace tendril::system {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // bytes; the system takes an int

int number_of(Stream stream) noexcept {
  return stream == Stream::Input ? 0 : stream == Stream::Output ? 1 : 2;
}

DWORD access_of(Opening opening) noexcept {
  switch (opening) {
    case Opening::Read:
      return GENERIC_READ;
    case Opening::Append:
      return FILE_APPEND_DATA;
    default:
      return GENERIC_WRITE;
  }
}

DWORD creation_of(Opening opening) noexcept {
  switch (opening) {
    case Opening::Replace:
      return CREATE_ALWAYS;
    case Opening::Append:
      return OPEN_ALWAYS;
    default:
      return OPEN_EXISTING;
  }
}

/// Opens a file or folder that may be removed while it is open, as on other systems.
HANDLE open_handle(const std::filesystem::path& file, DWORD access, DWORD share, DWORD creation) {
  return CreateFileW(file.c_str(), access, share, nullptr, creation,
                     FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS, nullptr);
}

FileDescriptor descriptor_of(HANDLE handle, int flags) {
  if (handle == INVALID_HANDLE_VALUE) {
    set_errno();
    return {};
  }
  const int descriptor = _open_osfhandle(reinterpret_cast<std::intptr_t>(handle), flags);
  if (descriptor < 0) CloseHandle(handle);
  return FileDescriptor(descriptor);
}

}  // namespace

bool FileDescriptor::close() noexcept {
  return !is_open() || _close(std::exchange(descriptor_, -1)) == 0;
}

FileDescriptor open_file(const std::filesystem::path& file, Opening opening) {
  constexpr DWORD kShare = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const int flags = _O_BINARY | _O_NOINHERIT |
                    (opening == Opening::Read     ? _O_RDONLY
                     : opening == Opening::Append ? _O_WRONLY | _O_APPEND
                                                  : _O_WRONLY);
  return descriptor_of(open_handle(file, access_of(opening), kShare, creation_of(opening)), flags);
}

FileDescriptor lock_folder(const std::filesystem::path& folder) {
  // Who opens the folder for this access, too, does not find it shared.
  return descriptor_of(
      open_handle(folder, DELETE, FILE_SHARE_READ | FILE_SHARE_WRITE, OPEN_EXISTING),
      _O_RDONLY | _O_NOINHERIT);
}

FileDescriptor copy_of(Stream stream) {
  FileDescriptor copy(_dup(number_of(stream)));
  if (copy.is_open()) _setmode(copy.get(), _O_BINARY);
  return copy;
}

bool is_terminal(Stream stream) noexcept {
  if (_isatty(number_of(stream)) == 0) return false;
  const auto console = reinterpret_cast<HANDLE>(_get_osfhandle(number_of(stream)));
  DWORD mode = 0;
  if (GetConsoleMode(console, &mode) == 0) return false;
  return stream == Stream::Input ||
         SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

void prepare_streams() noexcept {
  for (const int stream : {0, 1, 2}) {
    // The lowest descriptor that is free is this one: those below it are open.
    if (_get_osfhandle(stream) == -1)
      static_cast<void>(_wopen(L"NUL", stream == 0 ? _O_WRONLY : _O_RDONLY));
  }
  SetConsoleOutputCP(CP_UTF8);
}

std::optional<FileStatus> status_of(const FileDescriptor& file) noexcept {
  if (!file.is_open()) return std::nullopt;
  const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file.get()));
  if (GetFileType(handle) != FILE_TYPE_DISK) return FileStatus{};
  BY_HANDLE_FILE_INFORMATION found{};
  if (GetFileInformationByHandle(handle, &found) == 0) {
    set_errno();
    return std::nullopt;
  }
  const bool is_folder = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  const auto size = std::uintmax_t{found.nFileSizeHigh} << 32 | found.nFileSizeLow;
  return FileStatus{.is_regular = !is_folder, .is_folder = is_folder, .size = is_folder ? 0 : size};
}

std::ptrdiff_t read_some(const FileDescriptor& file, std::span<char> bytes) noexcept {
  return _read(file.get(), bytes.data(),
               static_cast<unsigned>(std::min(bytes.size(), kMostAtOnce)));
}

bool write_all(const FileDescriptor& file, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const int count = _write(file.get(), bytes.data(),
                             static_cast<unsigned>(std::min(bytes.size(), kMostAtOnce)));
    if (count == 0) errno = EIO;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool is_writable(const std::filesystem::path& path) noexcept {
  return _waccess(path.c_str(), 2) == 0;
}

FileCopy::FileCopy(const std::filesystem::path& file) noexcept {
  const HANDLE handle = open_handle(
      file, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_EXISTING);
  if (handle == INVALID_HANDLE_VALUE) return;
  LARGE_INTEGER size{};
  const bool is_filled = GetFileSizeEx(handle, &size) != 0 && size.QuadPart > 0;
  const HANDLE mapping =
      is_filled ? CreateFileMappingW(handle, nullptr, PAGE_WRITECOPY, 0, 0, nullptr) : nullptr;
  void* const bytes = mapping == nullptr ? nullptr : MapViewOfFile(mapping, FILE_MAP_COPY, 0, 0, 0);
  if (mapping != nullptr) CloseHandle(mapping);  // the view keeps it
  CloseHandle(handle);
  if (bytes != nullptr)
    bytes_ = {static_cast<unsigned char*>(bytes), static_cast<std::size_t>(size.QuadPart)};
}

FileCopy::~FileCopy() {
  if (!bytes_.empty()) UnmapViewOfFile(bytes_.data());
}

}  // namespace tendril::system
