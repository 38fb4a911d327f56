#include <array>
#include <system_error>

#include "tendril/system/library.hpp"
#include "tendril/system/windows/windows.hpp"

namespace tendril::system {
namespace {

namespace fs = std::filesystem;

thread_local std::string problem;  // of the last library or symbol

fs::path file_of(HMODULE library) {
  std::wstring name(MAX_PATH, L'\0');
  for (;;) {
    const DWORD size = GetModuleFileNameW(library, name.data(), static_cast<DWORD>(name.size()));
    if (size < name.size()) return std::wstring_view(name).substr(0, size);
    name.resize(2 * name.size());
  }
}

std::vector<HMODULE> modules() {
  std::vector<HMODULE> found(256);
  for (;;) {
    DWORD needed = 0;
    const auto size = static_cast<DWORD>(found.size() * sizeof(HMODULE));
    if (K32EnumProcessModules(GetCurrentProcess(), found.data(), size, &needed) == 0) return {};
    const bool is_all = needed <= size;
    found.resize(needed / sizeof(HMODULE));
    if (is_all) return found;
  }
}

}  // namespace

void* load_library(const fs::path& name, std::span<const fs::path> folders) {
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    AddDllDirectory(fs::weakly_canonical(folder, ignored).c_str());
  }
  const HMODULE library = LoadLibraryExW(name.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (library == nullptr) {
    const auto error = static_cast<int>(GetLastError());
    problem = name.string() + ": " + std::system_category().message(error);
  }
  return library;
}

std::string library_problem() { return problem; }

void* symbol_in(void* library, const char* symbol) noexcept {
  const auto found = GetProcAddress(static_cast<HMODULE>(library), symbol);
  if (found == nullptr) problem = std::string(symbol) + ": is not in the library";
  return reinterpret_cast<void*>(found);
}

void* symbol_in_loaded(const fs::path& library, const char* symbol) {
  const HMODULE found = GetModuleHandleW(library.c_str());
  return found == nullptr ? nullptr : symbol_in(found, symbol);
}

void* symbol_in_process(const char* symbol) noexcept {
  for (const HMODULE library : modules())
    if (const auto found = GetProcAddress(library, symbol)) return reinterpret_cast<void*>(found);
  return nullptr;
}

std::vector<fs::path> loaded_libraries() {
  std::vector<fs::path> files;
  for (const HMODULE library : modules()) files.push_back(file_of(library));
  return files;
}

fs::path file_with(const void* function) {
  HMODULE library = nullptr;
  constexpr DWORD kFlags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (GetModuleHandleExW(kFlags, static_cast<LPCWSTR>(function), &library) == 0) return {};
  return file_of(library);
}

}  // namespace tendril::system
