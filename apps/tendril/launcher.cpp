// The program of the Python package. It loads the library of the program, and with it the engine,
// which another package may have replaced: then it says in one line which engine is there and what
// mends it, where a program that is linked to it would not start.

#include <mujoco/mujoco.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "apps/tendril/program.hpp"
#include "tendril/system/library.hpp"
#include "tendril/system/process.hpp"

namespace {

namespace fs = std::filesystem;
namespace system = tendril::system;

constexpr int kExitInputOutput = 4;

std::string version_text(int version) {
  return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
         std::to_string(version % 1000);
}

/// The version in the name of an engine's library in the folder, the required one if it is
/// there; empty if there is none.
std::string version_in(const fs::path& folder, const std::string& required) {
  const std::string pattern = system::library_name("mujoco", "*");
  const std::size_t any = pattern.find('*');
  std::error_code error;
  if (any == std::string::npos) return fs::exists(folder / pattern, error) ? required : "";
  const std::string prefix = pattern.substr(0, any), suffix = pattern.substr(any + 1);
  std::string found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    found = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (found == required) break;
  }
  return found;
}

/// Says why the library of the program does not load.
int fail(const fs::path& folder) {
  const std::string reason = system::library_problem();
  const std::string required = version_text(mjVERSION_HEADER);
  const std::string found = version_in(folder / "../../mujoco", required);
  if (found == required) {
    std::fprintf(stderr, "tendril: %s [not-loaded]\n", reason.c_str());
  } else {
    std::fprintf(stderr,
                 "tendril: %s is installed, must be %s: pip install mujoco-core==%s [not-loaded]\n",
                 found.empty() ? "no MuJoCo" : ("MuJoCo " + found).c_str(), required.c_str(),
                 required.c_str());
  }
  return kExitInputOutput;
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = system::program_file().parent_path();
  const fs::path needed[] = {folder, folder / "..", folder / "../../mujoco"};
  // By its name: where it is, the run path of this program says.
  void* const library = system::load_library(system::library_name("tendril_program"), needed);
  void* const run = library == nullptr ? nullptr : system::symbol_in(library, "tendril_main");
  if (run == nullptr) return fail(folder);
  return reinterpret_cast<decltype(&tendril_main)>(run)(argc, argv, 0);
}
