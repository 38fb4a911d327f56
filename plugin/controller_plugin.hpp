#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <span>

#include "controllers/base_placement_controller.hpp"
#include "controllers/controller.hpp"
#include "controllers/mobile_controller.hpp"
#include "controllers/snake_controller.hpp"

namespace tendril {

/// A kind of controller as MuJoCo knows it.
struct ControllerKind {
  const char* name;                       ///< plugin name, "tendril.reach"
  std::span<const SettingInfo> settings;  ///< its config keys
  std::unique_ptr<Controller> (*make)(const ControllerContext& context);
};

/// A kind of controller for snakes.
struct SnakeControllerKind {
  const char* name;                       ///< plugin name, "tendril.snake"
  std::span<const SettingInfo> settings;  ///< its config keys
  std::unique_ptr<SnakeController> (*make)(const SnakeContext& context);
};

/// A kind of controller for arms on a mobile platform.
struct MobileControllerKind {
  const char* name;                       ///< plugin name, "tendril.mobile"
  std::span<const SettingInfo> settings;  ///< its config keys
  /// For an arm of joints; null: such robots are refused.
  std::unique_ptr<MobileController> (*make)(const MobileContext& context);
  /// For a platform that carries a continuum arm, which has a controller of its own; null as above.
  std::unique_ptr<MobileController> (*carry)(const BasePlacementContext& context) = nullptr;
};

/// Registers a controller kind as a MuJoCo plugin; call it from `mjPLUGIN_LIB_INIT`. `kind` must
/// live as long as the program. Refuses (with a warning) an engine whose version is not the one
/// that this library was built for.
void register_controller_kind(const ControllerKind& kind);
void register_controller_kind(const SnakeControllerKind& kind);
void register_controller_kind(const MobileControllerKind& kind);

/// The one registration line of a controller class `C` with `static std::span<const SettingInfo>
/// settings()` and a constructor from ControllerContext:
/// ```cpp
/// mjPLUGIN_LIB_INIT(my_library) { tendril::register_controller<MyController>("my.controller"); }
/// ```
template <class C>
void register_controller(const char* name) {
  static const ControllerKind kind{
      name, C::settings(), [](const ControllerContext& context) -> std::unique_ptr<Controller> {
        return std::make_unique<C>(context);
      }};
  register_controller_kind(kind);
}

}  // namespace tendril
