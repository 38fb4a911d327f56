#include "plugin/engine_version.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mujoco/mujoco.h>

#include <cstdio>
#include <string_view>
#include <vector>

namespace tendril {
namespace {

/// The files of MuJoCo in this process.
std::vector<std::string> engine_files() {
  std::vector<std::string> files;
  const auto collect = [](dl_phdr_info* info, std::size_t, void* found) {
    const std::string_view file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    if (file.substr(file.rfind('/') + 1).starts_with("libmujoco.so"))
      static_cast<std::vector<std::string>*>(found)->emplace_back(file);
    return 0;
  };
  dl_iterate_phdr(collect, &files);
  return files;
}

/// Version of the engine that a handle of dlopen leads to; 0 if there is none.
int version_of(void* library) {
  const auto version = reinterpret_cast<int (*)()>(dlsym(library, "mj_version"));
  return version == nullptr ? 0 : version();
}

std::string problem_of(int version) {
  if (version == 0 || version == mjVERSION_HEADER) return {};
  const char* const reason =
      version == 4000000 ? " (the sparse Newton solver of 4.0.0 computes wrong accelerations)" : "";
  const std::string required = version_text(mjVERSION_HEADER);
  return "this process runs MuJoCo " + version_text(version) + ": must be " + required + reason +
         ": pip install mujoco-core==" + required;
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

std::string engine_version_mismatch() {
  std::string problem = problem_of(mj_version());
  if (problem.empty()) problem = problem_of(version_of(RTLD_DEFAULT));
  for (const std::string& file : engine_files()) {
    if (!problem.empty()) break;
    void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    problem = problem_of(version_of(library));
    dlclose(library);
  }
  return problem;
}

bool engine_version_matches() {
  static const bool is_right = [] {
    const std::string problem = engine_version_mismatch();
    // Not mju_warning: it may be that of an engine that nobody listens to.
    if (!problem.empty())
      std::fprintf(stderr, "tendril: %s; no plugin is registered\n", problem.c_str());
    return problem.empty();
  }();
  return is_right;
}

}  // namespace tendril
