#include "simulation/engine/engine.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "controllers/controller_kind.hpp"
#include "plugin/built_in_plugins.hpp"
#include "plugin/engine_version.hpp"
#include "simulation/engine/engine_log.hpp"
#include "tendril/model_error.hpp"
#include "tendril/notice.hpp"
#include "tendril/renamed.hpp"
#include "tendril/system/library.hpp"
#include "tendril/system/process.hpp"

namespace tendril::simulation {
namespace {

namespace fs = std::filesystem;

/// The line without the engine's internal parts, `Error: engine error: plugin->init failed for
/// plugin id 0`.
std::string_view plain(std::string_view line) {
  for (const std::string_view prefix : {"Error: ", "engine error: "}) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  }
  return line.starts_with("plugin->init failed") ? std::string_view{} : line;
}

/// Plugin libraries of the process: those still to be loaded, and whether the engine is ready.
struct Libraries {
  std::mutex mutex;
  bool ready = false;
  std::vector<fs::path> waiting;
  std::vector<std::string> notices;
};
Libraries& libraries() {
  static Libraries all;
  return all;
}

/// Throws ModelError, or std::runtime_error if the engine lacks memory.
[[noreturn]] void refuse_engine(const std::string& what, const std::string& error) {
  const std::string text = fmt::format("{}: {}", what, error.empty() ? "failed" : one_line(error));
  if (error.find("allocate") != std::string::npos) throw std::runtime_error(text);
  throw ModelError(text);
}

void load_plugin(const fs::path& file) {
  const std::string error = guarded([&] { mj_loadPluginLibrary(file.string().c_str()); });
  if (!error.empty()) refuse_engine(file.string(), error);
}

const char* named_plugin() {
  const char* const named = std::getenv("TENDRIL_PLUGIN");
  return named != nullptr && named[0] != '\0' ? named : nullptr;
}

/// Loads libtendril.so, unless it is there: in Python `import mujoco` has loaded it. A program
/// without that file, one that links this library, has its plugins in itself.
void load_own_plugin() {
  if (mjp_getPlugin(built_in_controllers().front().name.c_str(), nullptr) != nullptr) return;
  if (const fs::path plugin = find_plugin(); !plugin.empty()) return load_plugin(plugin);
  if (const char* const named = named_plugin()) {
    throw ModelError(fmt::format("{}: not found in {}: set TENDRIL_PLUGIN to the file",
                                 system::library_name("tendril"), named));
  }
  register_built_in_plugins();
}

void check_version() {
  const int version = mj_version();
  if (version == 4000000) {
    throw ModelError(
        fmt::format("MuJoCo: version: 4.0.0: must be {}: the sparse Newton solver of 4.0.0 uses a "
                    "wrong factor",
                    version_text(mjVERSION_HEADER)));
  }
  if (version != mjVERSION_HEADER) {
    throw ModelError(
        fmt::format("MuJoCo: version: {}: must be {}, which this program was built for",
                    version_text(version), version_text(mjVERSION_HEADER)));
  }
}

}  // namespace

const char* version() noexcept { return TENDRIL_VERSION; }

std::string one_line(const std::string& text) {
  std::string joined, before;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view words = plain(line);
    if (words.empty() || words == before) continue;
    joined += (joined.empty() ? "" : "; ") + std::string(words);
    before = words;
  }
  return joined;
}

std::vector<fs::path> plugin_candidates() {
  if (const char* const named = named_plugin()) return {named};
  const std::string name = system::library_name("tendril");
  const fs::path prefix = system::program_file().parent_path().parent_path();
  std::vector<fs::path> candidates{prefix / "lib" / name};
  if (const fs::path installed = prefix / TENDRIL_INSTALL_LIBDIR / name;
      installed != candidates.front()) {
    candidates.push_back(installed);
  }
  return candidates;
}

fs::path find_plugin() {
  for (const fs::path& candidate : plugin_candidates()) {
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

void add_plugin_library(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) {
    throw ModelError(fmt::format("--plugin: {}: must be a plugin library ({})", file.string(),
                                 system::kLibrarySuffix));
  }
  Libraries& all = libraries();
  const std::lock_guard lock(all.mutex);
  all.waiting.push_back(fs::absolute(file));  // a bare name would be searched in the library path
}

void load_engine() {
  Libraries& all = libraries();
  const std::lock_guard lock(all.mutex);
  if (!all.ready) {
    check_version();
    install_engine_log();
    load_own_plugin();
    all.ready = true;
  }
  while (!all.waiting.empty()) {
    const fs::path file = all.waiting.front();
    all.waiting.erase(all.waiting.begin());
    const int before = mjp_pluginCount();
    load_plugin(file);
    if (mjp_pluginCount() == before)
      all.notices.push_back(notice_text(
          "no-plugin", fmt::format("--plugin: {}: registers no plugin", file.string())));
  }
}

std::vector<std::string> take_plugin_notices() {
  Libraries& all = libraries();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.notices, {});
}

std::string object_name(const mjModel& model, mjtObj type, int id) {
  const char* const name = mj_id2name(&model, type, id);
  return name == nullptr ? std::string() : name;
}

bool is_below(const mjModel& model, int body, int root) noexcept {
  while (body > root) body = model.body_parentid[body];  // a parent comes first
  return body == root;
}

std::string object_names(const mjModel& model, mjtObj type, int count) {
  std::string names;
  for (int i = 0; i < count; ++i) {
    if (const std::string name = object_name(model, type, i); !name.empty())
      names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string meant_object(const mjModel& model, mjtObj type, mjtSize count, std::string_view name) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(object_name(model, type, i));
  return meant_text(name, names);
}

DataPtr make_data(const mjModel& model) {
  DataPtr data;
  const std::string error = guarded([&] { data.reset(mj_makeData(&model)); });
  if (!data) {
    // A plugin says in a warning why it fails.
    const std::vector<std::string> warnings = take_engine_warnings();
    refuse_engine("the scene's data", warnings.empty() ? error : warnings.back());
  }
  return data;
}

}  // namespace tendril::simulation
