#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/engine/setting.hpp"
#include "simulation/scene/scene_files.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {

/// The settings that change robot files, as overrides of their keys: `robot.<key>` and
/// `controller.<key>` of all robots, `robot.<prefix>.<key>` and `controller.<prefix>.<key>` of
/// those that are attached with a prefix. A prefix hides a key of the same name.
class RobotSettings {
 public:
  /// Throws ModelError for `controller.<prefix>.<key>` with a prefix that is none of the scene's.
  /// @param attached  what the scene attaches
  RobotSettings(std::span<const Setting> settings, std::span<const AttachedFile> attached);

  /// Returns the overrides for all robots.
  [[nodiscard]] std::vector<Override> common() const { return of({}); }
  /// Returns the overrides for a robot with a prefix: those for all and its own, in order.
  [[nodiscard]] std::vector<Override> of(std::string_view prefix) const;
  /// Tells whether there are any for this prefix alone.
  [[nodiscard]] bool has(std::string_view prefix) const;
  /// Throws ModelError naming the first setting for this prefix alone.
  [[noreturn]] void refuse_of(std::string_view prefix, std::string_view reason) const;

  /// Throws the error of a robot file that is being caught. What the file calls an unknown key, and
  /// stands where a prefix can, is refused with the prefixes of the scene.
  [[noreturn]] void rethrow(const ModelError& error) const;

 private:
  struct Entry {
    Setting setting;     // as given
    Override change;     // without the prefix
    std::string prefix;  // empty: of all robots
  };
  [[noreturn]] void refuse_prefix(const Setting& setting, std::string_view prefix) const;

  std::vector<std::string> prefixes_;  // longer ones first
  std::vector<Entry> entries_;
};

}  // namespace tendril::simulation
