#include <dlfcn.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#else
#include <link.h>
#endif

#include <algorithm>
#include <cstdint>

#include "tendril/system/library.hpp"

namespace tendril::system {

void* load_library(const std::filesystem::path& name,
                   std::span<const std::filesystem::path> /*folders*/) {
#if defined(__APPLE__)
  // The program's own places are for names that ask for them.
  if (!name.has_parent_path())
    return dlopen((std::filesystem::path("@rpath") / name).c_str(), RTLD_NOW | RTLD_GLOBAL);
#endif
  return dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string library_problem() {
  const char* const problem = dlerror();
  std::string line = problem == nullptr ? "" : problem;
  std::replace(line.begin(), line.end(), '\n', ' ');  // macOS has some
  return line;
}

void* symbol_in(void* library, const char* symbol) noexcept { return dlsym(library, symbol); }

void* symbol_in_loaded(const std::filesystem::path& library, const char* symbol) {
  if (library.empty()) return nullptr;  // it would be the program
  void* const found = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (found == nullptr) return nullptr;
  void* const address = dlsym(found, symbol);
  dlclose(found);  // who has loaded it keeps it
  return address;
}

void* symbol_in_process(const char* symbol) noexcept { return dlsym(RTLD_DEFAULT, symbol); }

std::vector<std::filesystem::path> loaded_libraries() {
  std::vector<std::filesystem::path> files;
#if defined(__APPLE__)
  for (std::uint32_t i = 0; i < _dyld_image_count(); ++i)
    if (const char* const name = _dyld_get_image_name(i)) files.emplace_back(name);
#else
  const auto collect = [](dl_phdr_info* info, std::size_t, void* found) {
    if (info->dlpi_name != nullptr)
      static_cast<decltype(files)*>(found)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(collect, &files);
#endif
  return files;
}

std::filesystem::path file_with(const void* function) {
  Dl_info found{};
  if (dladdr(function, &found) == 0 || found.dli_fname == nullptr) return {};
  return found.dli_fname;
}

}  // namespace tendril::system
