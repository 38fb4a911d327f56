#pragma once

#include <mujoco/mujoco.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tendril::simulation {

struct ModelDeleter {
  void operator()(mjModel* model) const noexcept { mj_deleteModel(model); }
};
struct DataDeleter {
  void operator()(mjData* data) const noexcept { mj_deleteData(data); }
};
struct SpecDeleter {
  void operator()(mjSpec* spec) const noexcept { mj_deleteSpec(spec); }
};
using ModelPtr = std::unique_ptr<mjModel, ModelDeleter>;
using DataPtr = std::unique_ptr<mjData, DataDeleter>;
using SpecPtr = std::unique_ptr<mjSpec, SpecDeleter>;

/// Returns the version of Tendril, `0.1.0`.
[[nodiscard]] const char* version() noexcept;

/// Returns the places where libtendril.so is searched, in this order: TENDRIL_PLUGIN (only this if
/// it is set), next to the program (`../lib`), the library folder of the install prefix.
[[nodiscard]] std::vector<std::filesystem::path> plugin_candidates();

/// Returns the first candidate that exists; empty if there is none.
[[nodiscard]] std::filesystem::path find_plugin();

/// Adds a plugin library of the user, to be loaded by `load_engine` after libtendril.so. Throws
/// ModelError if the file does not exist.
void add_plugin_library(const std::filesystem::path& file);

/// Redirects the engine's messages, checks the engine's version (4.0.0 is refused with the reason)
/// and loads libtendril.so, unless the process has it, and the added libraries; each once per
/// process. Where libtendril.so is not found, the plugins of the program itself are registered.
/// Throws ModelError, also for a TENDRIL_PLUGIN that does not exist.
void load_engine();

/// Returns the messages about the added libraries since the last call, one line each: a library
/// that registers nothing.
[[nodiscard]] std::vector<std::string> take_plugin_notices();

/// Returns the name of an object of the model; empty if it has none.
[[nodiscard]] std::string object_name(const mjModel& model, mjtObj type, int id);

/// Returns the names of all objects of a type, joined by ", ".
[[nodiscard]] std::string object_names(const mjModel& model, mjtObj type, int count);

/// Returns ` (did you mean target?)` for a misspelled name of an object of a type; empty if none is
/// near.
[[nodiscard]] std::string meant_object(const mjModel& model, mjtObj type, mjtSize count,
                                       std::string_view name);

/// Tells whether a body is another one or below it.
[[nodiscard]] bool is_below(const mjModel& model, int body, int root) noexcept;

/// Calls mj_makeData. Throws ModelError if a plugin fails, std::runtime_error if memory does.
[[nodiscard]] DataPtr make_data(const mjModel& model);

/// Returns the engine's message on one line, without its internal prefixes and without repeated
/// lines.
[[nodiscard]] std::string one_line(const std::string& text);

}  // namespace tendril::simulation
