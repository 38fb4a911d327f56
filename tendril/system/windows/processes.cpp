#include <fcntl.h>
#include <io.h>
#include <process.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "tendril/system/process.hpp"
#include "tendril/system/windows/windows.hpp"

namespace tendril::system {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLongestMessage = 8000;  // bytes
constexpr DWORD kPipeSize = 1 << 16;            // bytes

[[noreturn]] void fail(const std::string& what) {
  set_errno();
  throw std::system_error(errno, std::generic_category(), what);
}

/// A word of a command line: programs of the C library of Windows read it back as it was.
std::wstring quoted(const std::string& word) {
  const std::wstring text = fs::path(word).native();
  if (!text.empty() && text.find_first_of(L" \t\n\v\"") == std::wstring::npos) return text;
  std::wstring all = L"\"";
  std::size_t backslashes = 0;
  for (const wchar_t c : text) {
    if (c == L'"') all.append(backslashes + 1, L'\\');  // those before a quote count double
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    all += c;
  }
  all.append(backslashes, L'\\');
  return all + L'"';
}

std::wstring command_line(const std::vector<std::string>& command) {
  std::wstring line;
  for (const std::string& word : command) line += (line.empty() ? L"" : L" ") + quoted(word);
  return line;
}

HANDLE handle_of(const FileDescriptor& file) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(file.get()));
}

FileDescriptor descriptor_of(HANDLE handle, int flags) {
  return FileDescriptor(_open_osfhandle(reinterpret_cast<std::intptr_t>(handle), flags));
}

/// A file that a child may inherit and that is removed when it is closed.
HANDLE temporary_file(const std::string& what) {
  wchar_t folder[MAX_PATH + 1] = L"";
  wchar_t file[MAX_PATH + 1] = L"";
  if (GetTempPathW(MAX_PATH, folder) == 0 || GetTempFileNameW(folder, L"ten", 0, file) == 0)
    fail(what);
  SECURITY_ATTRIBUTES inherited{
      .nLength = sizeof inherited, .lpSecurityDescriptor = nullptr, .bInheritHandle = TRUE};
  const HANDLE handle =
      CreateFileW(file, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                  &inherited, CREATE_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, nullptr);
  if (handle == INVALID_HANDLE_VALUE) fail(what);
  return handle;
}

HANDLE start(const std::vector<std::string>& command, STARTUPINFOW& streams) {
  std::wstring line = command_line(command);
  PROCESS_INFORMATION started{};
  if (CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &streams,
                     &started) == 0)
    fail(command.front());
  CloseHandle(started.hThread);
  return started.hProcess;
}

int exit_status(HANDLE process) noexcept {
  WaitForSingleObject(process, INFINITE);
  DWORD status = 0;
  const bool known = GetExitCodeProcess(process, &status) != 0;
  CloseHandle(process);
  return known && status <= 0xFF ? static_cast<int>(status) : -1;
}

}  // namespace

Process::Process(const std::vector<std::string>& command, Stream kept) {
  HANDLE theirs = nullptr, ours = nullptr;
  if (CreatePipe(&theirs, &ours, nullptr, kPipeSize) == 0) fail(command.front());
  input_ = descriptor_of(ours, _O_BINARY);
  const FileDescriptor their_input = descriptor_of(theirs, _O_RDONLY);
  messages_ = descriptor_of(temporary_file(command.front()), _O_BINARY);
  const FileDescriptor discarded(_wopen(L"NUL", _O_WRONLY));
  const HANDLE keeping = handle_of(messages_), discarding = handle_of(discarded);
  SetHandleInformation(theirs, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  SetHandleInformation(discarding, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  const bool keeps_error = kept == Stream::Error;
  STARTUPINFOW streams{};
  streams.cb = sizeof streams;
  streams.dwFlags = STARTF_USESTDHANDLES;
  streams.hStdInput = theirs;
  streams.hStdOutput = keeps_error ? discarding : keeping;
  streams.hStdError = keeps_error ? keeping : discarding;
  process_ = reinterpret_cast<std::intptr_t>(start(command, streams));
}

bool Process::write(std::string_view bytes) noexcept { return write_all(input_, bytes); }

int Process::wait() noexcept {
  input_.close();
  if (process_ != -1) status_ = exit_status(reinterpret_cast<HANDLE>(std::exchange(process_, -1)));
  return status_;
}

std::string Process::messages() const {
  const std::int64_t size = _filelengthi64(messages_.get());
  if (size < 0) return {};
  const std::int64_t begin = std::max<std::int64_t>(0, size - kLongestMessage);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  if (_lseeki64(messages_.get(), begin, SEEK_SET) < 0) return {};
  text.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, read_some(messages_, text))));
  return text;
}

void continue_as(const std::vector<std::string>& command) {
  // No program can take the place of another one: this one waits for it.
  STARTUPINFOW streams{};
  streams.cb = sizeof streams;
  std::exit(exit_status(start(command, streams)));
}

std::optional<int> run_in_copy(unsigned /*limit*/) { return std::nullopt; }

fs::path find_program(const std::string& name) {
  wchar_t file[MAX_PATH + 1] = L"";
  const DWORD size = SearchPathW(nullptr, fs::path(name).c_str(), L".exe", MAX_PATH, file, nullptr);
  return size == 0 || size > MAX_PATH ? fs::path() : fs::path(file);
}

fs::path program_file() {
  std::wstring name(1 << 15, L'\0');  // the longest path
  name.resize(GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(name.size())));
  return name;
}

int process_id() noexcept { return static_cast<int>(GetCurrentProcessId()); }

void set_environment(const char* name, const std::string& value) noexcept {
  _putenv_s(name, value.c_str());
}

void set_default_environment(const char* name, const std::string& value) noexcept {
  if (std::getenv(name) == nullptr) set_environment(name, value);
}

}  // namespace tendril::system
