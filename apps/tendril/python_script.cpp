#include "apps/tendril/python_script.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "simulation/engine/engine.hpp"
#include "rendering/process.hpp"

namespace tendril {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Of the program, or of the library that it is in the Python package.
fs::path program_folder() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(&program_folder), &found) != 0 && found.dli_fname != nullptr) {
    const fs::path file = found.dli_fname;
    if (file.extension() == ".so") return file.parent_path();
  }
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

/// `name` below the program's folder or the nearest folder above it that has it; empty: none.
fs::path find_above_program(const fs::path& name) {
  for (fs::path folder = program_folder(); !folder.empty(); folder = folder.parent_path()) {
    if (is_there(folder / name)) return folder / name;
    if (folder == folder.root_path()) break;
  }
  return {};
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.erase(0, text.rfind('\n') + 1);
}

}  // namespace

fs::path find_python() {
  if (const char* named = std::getenv("TENDRIL_PYTHON"); named != nullptr && named[0] != '\0')
    return named;
  if (const fs::path own = find_above_program(".venv/bin/python"); !own.empty()) return own;
  if (const fs::path built_with = TENDRIL_PYTHON; is_there(built_with)) return built_with;
  return "python3";
}

fs::path find_script(const fs::path& source) {
  const fs::path data = program_folder() / ".." / TENDRIL_INSTALL_DATADIR / "tendril";
  for (const fs::path& installed : {data / source, data / source.filename()}) {
    if (is_there(installed)) return installed.lexically_normal();
  }
  if (const fs::path own = find_above_program(source); !own.empty()) return own;
  const fs::path built_from = fs::path(TENDRIL_SOURCE_ROOT) / source;
  return is_there(built_from) ? built_from : fs::path();
}

void give_plugin_to_python() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (const fs::path plugin = simulation::find_plugin(); !plugin.empty())
    setenv("TENDRIL_PLUGIN", plugin.c_str(), 0);
#endif
}

std::optional<std::string> run_script(const fs::path& source,
                                      const std::vector<std::string>& arguments,
                                      std::string_view input) {
  const fs::path script = find_script(source);
  if (script.empty()) {
    return fmt::format("{} is not found: install tendril again, or keep it beside its source tree",
                       source.filename().string());
  }
  const std::string python = find_python().string();
  std::vector<std::string> command{python, "-B", script.string()};  // -B: no byte code beside it
  command.insert(command.end(), arguments.begin(), arguments.end());
  try {
    simulation::Process process(command);
    static_cast<void>(process.write(input));  // a script that does not read it reports why
    if (process.wait() == 0) return std::nullopt;
    const std::string reason = last_line(process.messages());
    return fmt::format("{} failed: {}", python, reason.empty() ? "it gave no reason" : reason);
  } catch (const std::system_error& error) {
    return fmt::format(
        "{}: {}: install Python 3 with numpy, h5py and matplotlib, or name one with "
        "TENDRIL_PYTHON",
        python, error.code().message());
  }
}

}  // namespace tendril
