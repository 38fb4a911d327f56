#include <fmt/format.h>
#include <mujoco/mujoco.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "apps/tendril/commands.hpp"
#include "apps/tendril/progress.hpp"
#include "apps/tendril/python_module.hpp"
#include "apps/tendril/terminal.hpp"
#include "apps/tendril/window/viewer.hpp"
#include "rendering/offscreen_context.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"
#include "tendril/system/library.hpp"
#include "tendril/system/machine.hpp"
#include "tendril/system/process.hpp"

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

/// First line of output of a program; empty if it fails.
std::string first_line_of(const std::vector<std::string>& command) {
  try {
    system::Process process(command, system::Stream::Output);
    if (process.wait() != 0) return {};
    const std::string text = process.messages();
    return text.substr(0, text.find_first_of("\r\n"));
  } catch (const std::system_error&) {
    return {};
  }
}

void check_plugin(Report& report) {
  const std::string name = system::library_name("tendril");
  const fs::path plugin = simulation::find_plugin();
  if (plugin.empty()) {
    std::string places;
    for (const fs::path& p : simulation::plugin_candidates())
      places += (places.empty() ? "" : ", ") + p.string();
    report.missing(
        name, "not found in " + places + ": build target tendril_plugin, or set TENDRIL_PLUGIN");
    return;
  }
  try {
    simulation::load_engine();
  } catch (const ModelError& error) {
    report.missing(name, error.what());
    return;
  }
  report.good(name, fs::weakly_canonical(plugin).string());
  std::string names;
  for (int i = 0; i < mjp_pluginCount(); ++i) {
    const std::string plugin_name = mjp_getPluginAtSlot(i)->name;
    if (plugin_name.starts_with("tendril.")) names += (names.empty() ? "" : ", ") + plugin_name;
  }
  if (names.empty()) {
    report.missing("controllers",
                   plugin.string() + " registers none: it is not Tendril's plugin library");
  } else {
    report.good("controllers", names);
  }

  const fs::path folder =
      fs::temp_directory_path() / fmt::format("tendril-doctor-{}", system::process_id());
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
  if (const std::string missing = simulation::missing_for_images(); missing.empty()) {
    report.good("EGL", "libEGL.so.1");
  } else {
    report.optional("EGL", missing);
  }
  const std::string ffmpeg = system::find_program("ffmpeg").string();
  if (ffmpeg.empty()) {
    report.optional("ffmpeg", "not on PATH: required for --video (Debian: ffmpeg)");
  } else {
    report.good("ffmpeg", ffmpeg);
  }
}

/// What a program can be built without.
void check_parts(Report& report) {
  if (const std::string missing = missing_for_window(); missing.empty())
    report.good("window", "tendril view");
  else
    report.optional("window", missing);
#ifdef TENDRIL_DYNAMIXEL
  report.good("servos", "tendril drive --link dynamixel");
#else
  report.optional("servos", kNoServos);
#endif
  if (!system::this_machine().system.starts_with("Linux"))
    report.optional("sweeps", "tendril sweep needs Linux");
}

void check_python(Report& report) {
  const std::string python = find_python().string();
  const std::string python_version =
      first_line_of({python, "-c", "import platform; print(platform.python_version())"});
  if (python_version.empty()) {
    report.optional("Python",
                    python + " does not run: reports require Python 3, set TENDRIL_PYTHON");
    return;
  }
  report.good("Python", fmt::format("{} ({})", python_version, python));
  for (const char* module : {"h5py", "matplotlib", "numpy"}) {
    const std::string version =
        first_line_of({python, "-c", fmt::format("import {} as m; print(m.__version__)", module)});
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
    check_parts(report);
    check_python(report);
    std::fflush(stdout);
    return report.complete() ? 0 : 1;
  });
}

}  // namespace tendril
