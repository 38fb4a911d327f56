#include "plugin/built_in_plugins.hpp"

#include <mujoco/mujoco.h>

#include "controllers/controller_kind.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/engine_version.hpp"
#include "plugin/file_decoder.hpp"

namespace tendril {

void register_built_in_plugins() {
  if (!engine_version_matches()) return;
  const auto& kinds = built_in_controllers();
  if (mjp_getPlugin(kinds.front().name.c_str(), nullptr) != nullptr) return;
  register_file_decoder();
  for (const ControllerKind& kind : kinds) register_controller_kind(kind);
}

}  // namespace tendril
