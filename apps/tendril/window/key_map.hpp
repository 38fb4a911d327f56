#pragma once

#include <span>

#include "apps/tendril/window/session.hpp"

namespace tendril {

/// One row of the table of keys and uses of the mouse: what the help says, and what the key does.
struct KeyRow {
  enum class Where { Always, Live, Motions, Recording };

  Where where;
  int keys[2];       ///< of GLFW; 0: none
  const char* name;  ///< in the help; null: not in it, because another row says it
  const char* help;
  void (*action)(Session& session, int many);  ///< `many`: 10 with Shift, otherwise 1
};

/// All keys, in the order of the help.
[[nodiscard]] std::span<const KeyRow> key_rows() noexcept;

/// Tells whether a row holds for what is shown.
[[nodiscard]] bool applies(const KeyRow& row, const simulation::ViewSource& source);

/// Does what the key is for, if anything.
void press(Session& session, int key, int modifiers);

}  // namespace tendril
