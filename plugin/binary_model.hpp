#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tendril {

/// Treatment of a plugin that is not registered.
enum class UnknownPlugin {
  Refuse,  ///< throws ModelError
  Nothing  ///< one that does nothing: to look at states, not to step
};

/// Replaces the numbers of the plugin instances in a binary model (mj_saveModel), which are those
/// of the process that wrote it, by those that their names have in this process; must happen before
/// the engine reads the model.
/// @param names  of the plugins of the instances, in order, separated by spaces
/// @return       why the model cannot be one of this version of the engine; empty: it is bound
/// Throws ModelError. Tested by: replay_test, test_recording.py.
[[nodiscard]] std::string bind_plugins(std::span<std::byte> mjb, const std::string& names,
                                       UnknownPlugin unknown);

}  // namespace tendril
