#include "plugin/engine_version.hpp"

#include <mujoco/mujoco.h>

#include <cstdio>
#include <string_view>

#include "tendril/system/library.hpp"

namespace tendril {
namespace {

bool is_engine(const std::filesystem::path& library) {
  return library.filename().string().starts_with(std::string(system::kLibraryPrefix) + "mujoco.");
}

/// Version of the engine whose function `mj_version` this is; 0 if there is none.
int version_of(void* mj_version) {
  return mj_version == nullptr ? 0 : reinterpret_cast<int (*)()>(mj_version)();
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
  constexpr const char* kVersion = "mj_version";
  if (problem.empty()) problem = problem_of(version_of(system::symbol_in_process(kVersion)));
  for (const auto& library : system::loaded_libraries()) {
    if (problem.empty() && is_engine(library))
      problem = problem_of(version_of(system::symbol_in_loaded(library, kVersion)));
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
