#include <mujoco/mujoco.h>

#include <cstddef>
#include <exception>
#include <string>

#include "plugin/binary_model.hpp"
#include "plugin/built_in_plugins.hpp"
#include "plugin/remote_control.hpp"

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

/// `set_remote_control` for programs with another copy of the library.
extern "C" __attribute__((visibility("default"))) const char* tendril_set_remote_control(
    const char* build, const mjModel* m, mjData* d, const char* prefix, const char* suffix,
    tendril::RemoteControl* remote) noexcept {
  return tendril::set_own_remote_control(build, m, d, prefix, suffix, remote);
}
