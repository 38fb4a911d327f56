#include <mujoco/mujoco.h>

#include "controllers/controller_kind.hpp"
#include "plugin/controller_plugin.hpp"
#include "plugin/file_decoder.hpp"

mjPLUGIN_LIB_INIT(tendril) {
  tendril::register_file_decoder();
  for (const tendril::ControllerKind& kind : tendril::built_in_controllers())
    tendril::register_controller_kind(kind);
}
