#include <mujoco/mujoco.h>

#include <cstddef>
#include <exception>
#include <string>

#include "plugin/binary_model.hpp"
#include "plugin/built_in_plugins.hpp"

mjPLUGIN_LIB_INIT(tendril) { tendril::register_built_in_plugins(); }

/// `bind_plugins` for Python, which loads this library without a separate compiled module.
/// @return  why the model cannot be bound, until the next call of this thread; empty: it is bound
extern "C" __attribute__((visibility("default"))) const char* tendril_bind_plugins(
    void* mjb, std::size_t size, const char* names, int unknown_do_nothing) noexcept {
  using tendril::UnknownPlugin;
  thread_local std::string reason;
  try {
    reason = tendril::bind_plugins(
        {static_cast<std::byte*>(mjb), size}, names,
        unknown_do_nothing != 0 ? UnknownPlugin::Nothing : UnknownPlugin::Refuse);
  } catch (const std::exception& error) {
    reason = error.what();
  }
  return reason.c_str();
}
