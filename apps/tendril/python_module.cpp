#include "apps/tendril/python_module.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "simulation/engine/engine.hpp"
#include "tendril/system/library.hpp"
#include "tendril/system/process.hpp"

namespace tendril {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Returns the folder of the program, or of the library that it is in the Python package.
fs::path program_folder() {
  fs::path file = system::file_with(reinterpret_cast<const void*>(&program_folder));
  if (file.extension() != system::kLibrarySuffix) file = system::program_file();
  return file.parent_path();
}

/// `name` below the program's folder or the nearest folder above it that has it; empty: none.
fs::path find_above_program(const fs::path& name) {
  for (fs::path folder = program_folder(); !folder.empty(); folder = folder.parent_path()) {
    if (is_there(folder / name)) return folder / name;
    if (folder == folder.root_path()) break;
  }
  return {};
}

/// Folder of the Python package; empty: none.
fs::path find_package() {
  const fs::path wheel = (program_folder() / "..").lexically_normal();  // the program is in bin
  const fs::path installed = wheel / TENDRIL_INSTALL_DATADIR / "tendril/python/tendril";
  for (const fs::path& package : {wheel, installed.lexically_normal()})
    if (is_there(package / "__main__.py")) return package;
  if (const fs::path own = find_above_program("python/tendril/__main__.py"); !own.empty())
    return own.parent_path();
  const fs::path built_from = fs::path(TENDRIL_SOURCE_ROOT) / "python/tendril";
  return is_there(built_from / "__main__.py") ? built_from : fs::path();
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.erase(0, text.rfind('\n') + 1);
}

/// The package that Python did not find, by its last line; empty: it says something else.
std::string missing_package(std::string_view reason) {
  constexpr std::string_view kStart = "ModuleNotFoundError: No module named '";
  if (!reason.starts_with(kStart) || !reason.ends_with('\'')) return {};
  return std::string(reason.substr(kStart.size(), reason.size() - kStart.size() - 1));
}

}  // namespace

fs::path find_python() {
  if (const char* named = std::getenv("TENDRIL_PYTHON"); named != nullptr && named[0] != '\0')
    return named;
  if (const fs::path own = find_above_program(system::kPythonOfEnvironment); !own.empty())
    return own;
  if (const fs::path built_with = TENDRIL_PYTHON; is_there(built_with)) return built_with;
  return system::kPython;
}

void give_plugin_to_python() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (const fs::path plugin = simulation::find_plugin(); !plugin.empty())
    system::set_default_environment("TENDRIL_PLUGIN", plugin.string());
#endif
}

std::vector<std::string> module_command(const std::string& module) {
  const fs::path package = find_package();
  if (package.empty()) {
    throw std::runtime_error(
        "the Python package tendril is not found: install tendril again, or keep it next to its "
        "source tree");
  }
  std::string path = package.parent_path().string();
  const char* others = std::getenv("PYTHONPATH");
  const std::string_view rest = others == nullptr ? "" : others;
  if (!rest.empty() && rest != path && !rest.starts_with(path + system::kPathSeparator))
    path += system::kPathSeparator + std::string(rest);
  system::set_environment("PYTHONPATH", path);
  // -P: no modules of the current folder; -B: no byte code next to the package.
  return {find_python().string(), "-P", "-B", "-m", module};
}

std::optional<std::string> run_module(const std::string& module,
                                      const std::vector<std::string>& arguments,
                                      std::string_view input) {
  std::vector<std::string> command;
  try {
    command = module_command(module);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  const std::string python = command.front();
  command.insert(command.end(), arguments.begin(), arguments.end());
  try {
    system::Process process(command);
    static_cast<void>(process.write(input));  // a module that does not read it reports why
    if (process.wait() == 0) return std::nullopt;
    const std::string reason = last_line(process.messages());
    if (const std::string package = missing_package(reason); !package.empty()) {
      return fmt::format(
          "{}: {} is missing: install numpy and h5py with scripts/setup or pip install numpy h5py",
          python, package);
    }
    return fmt::format("{} failed: {}", python, reason.empty() ? "it gave no reason" : reason);
  } catch (const std::system_error& error) {
    return fmt::format(
        "{}: {}: install Python 3 with numpy, h5py and matplotlib, or name one with "
        "TENDRIL_PYTHON",
        python, error.code().message());
  }
}

}  // namespace tendril
