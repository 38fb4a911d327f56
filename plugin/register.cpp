#include <mujoco/mujoco.h>

#include "controllers/controller_kind.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/file_decoder.hpp"
#include "plugin/one_engine.hpp"

mjPLUGIN_LIB_INIT(tendril) {
  if (!tendril::engine_is_right()) return;
  const auto& kinds = tendril::built_in_controllers();
  // Another copy is there already, such as that of the Python package: it is used.
  if (mjp_getPlugin(kinds.front().name.c_str(), nullptr) != nullptr) return;
  tendril::register_file_decoder();
  for (const tendril::ControllerKind& kind : kinds) tendril::register_controller_kind(kind);
}
