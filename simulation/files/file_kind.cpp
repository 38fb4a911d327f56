#include "simulation/files/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tendril/model/file_extension.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

struct KindInfo {
  FileKind kind;
  const char* name;
  const char* use;
};
constexpr KindInfo kKinds[] = {
    {FileKind::Experiment, "an experiment", "for tendril run, view and plan"},
    {FileKind::Scene, "a scene", "for tendril run, view and plan"},
    {FileKind::Robot, "a robot file", "for tendril run, view, model, ik, fk and march"},
    {FileKind::Tube, "a tube file", "for tendril view and tendril model, and for scenes to attach"},
    {FileKind::Shell, "a shell file",
     "for tendril view and tendril model, and for scenes to attach"},
    {FileKind::Plan, "a plan file", "for tendril plan"},
    {FileKind::Recording, "a recording", "for tendril view, render and rollout"},
    {FileKind::Table, "a table", "for tendril ik (targets), fk (states) and march (a path)"},
    {FileKind::Mesh, "a mesh", "for scenes and plan files to name"}};

const KindInfo* info_of(FileKind kind) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const KindInfo& info) { return info.kind == kind; });
  return found == std::end(kKinds) ? nullptr : found;
}

FileKind toml_kind(const std::filesystem::path& file) {
  try {
    const toml::table top = parse_toml(read_text_file(file), file.string());
    if (const toml::node* const kind = top.get("kind")) {
      const auto name = kind->value<std::string_view>();
      return name == "tube" ? FileKind::Tube : name == "shell" ? FileKind::Shell : FileKind::Robot;
    }
    if (top.contains("scene") || top.contains("family")) return FileKind::Experiment;
    for (const char* const key : {"robot", "target", "grasp", "obstacle", "contact"}) {
      if (top.contains(key)) return FileKind::Plan;
    }
  } catch (const ModelError&) {
    // The reader of the command reports the error.
  }
  return FileKind::Unknown;
}

/// "a, b or c"
std::string alternatives(std::initializer_list<FileKind> kinds) {
  std::string text;
  for (const FileKind& kind : kinds) {
    if (&kind != kinds.begin()) text += &kind + 1 == kinds.end() ? " or " : ", ";
    text += info_of(kind)->name;
  }
  return text;
}

}  // namespace

FileKind file_kind(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  if (extension == ".toml") return toml_kind(file);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) || std::filesystem::is_directory(file, ignored))
    return FileKind::Unknown;
  if (extension == ".xml" || extension == ".mjcf") return FileKind::Scene;
  if (extension == ".h5") return FileKind::Recording;
  if (extension == ".csv") return FileKind::Table;
  if (extension == ".obj" || extension == ".stl") return FileKind::Mesh;
  return FileKind::Unknown;
}

void require_kind(const std::filesystem::path& file, const char* command,
                  std::initializer_list<FileKind> allowed) {
  const FileKind kind = file_kind(file);
  std::error_code ignored;
  if (kind == FileKind::Recording && !std::filesystem::is_regular_file(file, ignored))
    throw ModelError(file.string() + ": is a device or a pipe: must be a recording");
  if (kind == FileKind::Unknown || std::find(allowed.begin(), allowed.end(), kind) != allowed.end())
    return;
  const KindInfo& info = *info_of(kind);
  throw ModelError(fmt::format("{}: is {}, {}: tendril {} takes {}", file.string(), info.name,
                               info.use, command, alternatives(allowed)));
}

}  // namespace tendril::simulation
