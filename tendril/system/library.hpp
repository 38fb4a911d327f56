#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tendril::system {

#if defined(_WIN32)
inline constexpr std::string_view kLibraryPrefix = "", kLibrarySuffix = ".dll";
#elif defined(__APPLE__)
inline constexpr std::string_view kLibraryPrefix = "lib", kLibrarySuffix = ".dylib";
#else
inline constexpr std::string_view kLibraryPrefix = "lib", kLibrarySuffix = ".so";
#endif

/// Returns the name of the file of a shared library: libNAME.so, libNAME.dylib or NAME.dll.
/// @param version  if it has one: libNAME.so.VERSION, libNAME.VERSION.dylib; none on Windows
[[nodiscard]] inline std::string library_name(std::string_view name,
                                              std::string_view version = {}) {
  std::string file = std::string(kLibraryPrefix).append(name).append(kLibrarySuffix);
  if (version.empty() || kLibrarySuffix == ".dll") return file;
  const std::string end = "." + std::string(version);
  if (kLibrarySuffix == ".so") return file + end;
  return file.insert(file.size() - kLibrarySuffix.size(), end);
}

/// Loads a shared library, or nothing if its symbols cannot all be found.
/// @param name     without a folder: searched where the system and this program say
/// @param folders  on Windows, where libraries that it needs are searched, too
/// @return         for `symbol_in`; null: it failed, see library_problem
[[nodiscard]] void* load_library(const std::filesystem::path& name,
                                 std::span<const std::filesystem::path> folders = {});
/// Why the last library or symbol of this thread was not found.
[[nodiscard]] std::string library_problem();

/// Null if the library has no such symbol.
[[nodiscard]] void* symbol_in(void* library, const char* symbol) noexcept;
/// The symbol of a library that this process has loaded; null if it has none.
[[nodiscard]] void* symbol_in_loaded(const std::filesystem::path& library, const char* symbol);
/// The first symbol of this name among those of the program and the libraries that are visible to
/// all.
[[nodiscard]] void* symbol_in_process(const char* symbol) noexcept;

/// Files of the libraries that this process has loaded.
[[nodiscard]] std::vector<std::filesystem::path> loaded_libraries();
/// The program or library that a function is in; empty: unknown.
[[nodiscard]] std::filesystem::path file_with(const void* function);

}  // namespace tendril::system
