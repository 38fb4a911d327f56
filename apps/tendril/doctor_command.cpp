#include <dlfcn.h>
#include <fmt/format.h>
#include <mujoco/mujoco.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/python_module.hpp"
#include "apps/tendril/terminal.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

namespace fs = std::filesystem;

/// A minimal robot that tests the decoder and a controller.
constexpr const char* kProbeRobot = R"(kind = "continuum"
[[section]]
constant_length = 0.1
bend_limit = 1.5
[controller]
plugin = "tendril.reach"
target = "target"
)";

/// Prints one line per component and stores the worst result.
class Report {
 public:
  void good(const std::string& what, const std::string& found) { line("ok", "32", what, found); }
  void optional(const std::string& what, const std::string& advice) {
    line("--", "33", what, advice);
  }
  void missing(const std::string& what, const std::string& advice) {
    line("MISSING", "31", what, advice);
    complete_ = false;
  }
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  void line(const char* mark, const char* color, const std::string& what,
            const std::string& text) const {
    print_colored(color, fmt::format("{:<8}", mark));
    say(" {:<22} {}\n", what, text);
  }
  bool complete_ = true;
};

/// Path of a program on PATH; empty if there is none.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string places = path == nullptr ? "" : path;
  for (std::size_t at = 0; at <= places.size();) {
    const std::size_t end = std::min(places.find(':', at), places.size());
    const fs::path candidate = fs::path(places.substr(at, end - at)) / name;
    if (end > at && access(candidate.c_str(), X_OK) == 0) return candidate.string();
    at = end + 1;
  }
  return {};
}

/// A word of a shell command, whatever it contains.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// First line of output of a shell command; empty if it fails.
std::string first_line_of(const std::string& command) {
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::array<char, 512> buffer{};
  std::string line = fgets(buffer.data(), buffer.size(), pipe) == nullptr ? "" : buffer.data();
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
  }
  if (pclose(pipe) != 0) return {};
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return line;
}

void check_plugin(Report& report) {
  const fs::path plugin = simulation::find_plugin();
  if (plugin.empty()) {
    std::string places;
    for (const fs::path& p : simulation::plugin_candidates())
      places += (places.empty() ? "" : ", ") + p.string();
    report.missing("libtendril.so", "not found in " + places +
                                        ": build target tendril_plugin, or set TENDRIL_PLUGIN");
    return;
  }
  try {
    simulation::load_engine();
  } catch (const ModelError& error) {
    report.missing("libtendril.so", error.what());
    return;
  }
  report.good("libtendril.so", fs::weakly_canonical(plugin).string());
  std::string names;
  for (int i = 0; i < mjp_pluginCount(); ++i) {
    const std::string name = mjp_getPluginAtSlot(i)->name;
    if (name.starts_with("tendril.")) names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) {
    report.missing("controllers",
                   plugin.string() + " registers none: it is not Tendril's plugin library");
  } else {
    report.good("controllers", names);
  }

  const fs::path folder = fs::temp_directory_path() / fmt::format("tendril-doctor-{}", getpid());
  try {
    fs::create_directories(folder);
    simulation::write_text_file(folder / "probe.toml", kProbeRobot);
    (void)simulation::load_scene(folder / "probe.toml");
    report.good("robot files", "a robot file loads through the decoder and its controller starts");
  } catch (const std::exception& error) {
    report.missing("robot files", error.what());
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void check_images(Report& report) {
  if (void* const library = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    report.good("EGL", "libEGL.so.1");
    dlclose(library);
  } else {
    report.optional("EGL",
                    "no libEGL.so.1: required for images without a window (Debian: libegl1)");
  }
  const std::string ffmpeg = find_program("ffmpeg");
  if (ffmpeg.empty()) {
    report.optional("ffmpeg", "not on PATH: required for --video (Debian: ffmpeg)");
  } else {
    report.good("ffmpeg", ffmpeg);
  }
}

void check_python(Report& report) {
  const std::string python = find_python().string();
  const std::string python_version = first_line_of(
      fmt::format("{} -c 'import platform; print(platform.python_version())'", quoted(python)));
  if (python_version.empty()) {
    report.optional("Python",
                    python + " does not run: reports require Python 3, set TENDRIL_PYTHON");
    return;
  }
  report.good("Python", fmt::format("{} ({})", python_version, python));
  for (const char* module : {"h5py", "matplotlib", "numpy"}) {
    const std::string version = first_line_of(
        fmt::format("{} -c {}", quoted(python),
                    quoted(fmt::format("import {} as m; print(m.__version__)", module))));
    if (version.empty()) {
      report.optional(module,
                      "cannot be imported: required for reports (scripts/setup, or pip install " +
                          std::string(module) + ")");
    } else {
      report.good(module, version);
    }
  }
}

}  // namespace

void add_doctor_command(CommandLine& line) {
  const Command command =
      line.command("doctor", "Checks which components are installed, loaded and missing");
  command.footer(
      "Example: tendril doctor\nExit codes: 0 all components required for simulation are present, "
      "1 a "
      "component is missing");
  command.action([] {
    Report report;
    report.good("tendril", simulation::version());
    if (mj_version() == mjVERSION_HEADER) {
      report.good("MuJoCo", mj_versionString());
    } else {
      report.missing(
          "MuJoCo",
          fmt::format("{} is loaded: must be the {}.{}.{} that this program was built for",
                      mj_versionString(), mjVERSION_HEADER / 1000000,
                      mjVERSION_HEADER / 1000 % 1000, mjVERSION_HEADER % 1000));
    }
    check_plugin(report);
    check_images(report);
    check_python(report);
    std::fflush(stdout);
    return report.complete() ? 0 : 1;
  });
}

}  // namespace tendril
