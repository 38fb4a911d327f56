#pragma once

#include <filesystem>
#include <initializer_list>

namespace tendril::simulation {

/// Kinds of files that commands take.
enum class FileKind {
  Experiment,
  Scene,
  Robot,
  Tube,
  Shell,
  Plan,
  Recording,
  Table,
  Mesh,
  Unknown
};

/// Kinds that `tendril run` takes.
inline constexpr auto kRunnable = {FileKind::Experiment, FileKind::Scene, FileKind::Robot};

/// The kind by extension and, for TOML, by the keys at the top level. Unknown for a file that
/// cannot be read or parsed, and for one of another kind.
[[nodiscard]] FileKind file_kind(const std::filesystem::path& file);

/// Refuses a file that another command takes: throws ModelError `file: is a scene, for tendril run
/// and tendril view: tendril model takes a robot file or a tube file`. A file of unknown kind
/// passes: its reader says what is wrong with it. A device or a pipe is no recording.
/// @param command  `model`
void require_kind(const std::filesystem::path& file, const char* command,
                  std::initializer_list<FileKind> allowed);

}  // namespace tendril::simulation
