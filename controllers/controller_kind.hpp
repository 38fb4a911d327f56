#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"

namespace tendril {

/// A kind of controller: its name, its settings, its reported quantities, and a factory. The plugin
/// registers it under its name; documentation, sensors and checks are derived from its tables.
struct ControllerKind {
  using MakeArm = std::function<std::unique_ptr<ArmController>(const ArmContext&)>;
  using MakeSnake = std::function<std::unique_ptr<SnakeController>(const SnakeContext&)>;
  /// Factory for an arm of joints on a platform.
  using MakeMobile = std::function<std::unique_ptr<MobileController>(const MobileContext&)>;
  /// Factory for a platform that carries a continuum arm, which has a separate controller.
  using MakePlatform = std::function<std::unique_ptr<MobileController>(const PlatformContext&)>;

  std::string name;                       ///< "tendril.reach"
  std::string meaning;                    ///< one line
  std::span<const SettingInfo> settings;  ///< its own; must live as long as the kind
  std::span<const Quantity> quantities;   ///< reported; must live as long as the kind
  std::variant<MakeArm, MakeSnake, MakeMobile, MakePlatform> make;
  /// Unused controllers may be reused for another instance of the same configuration: they carry no
  /// state between calls of `update`.
  bool reusable = false;
  std::string source = {};  ///< file of its code, which recordings keep; empty: none
};

/// A kind from a controller class `C` with `Context`, `settings()` and `kQuantities`.
template <class C>
[[nodiscard]] ControllerKind controller_kind(std::string name, std::string meaning) {
  using Context = typename C::Context;
  using Base = std::conditional_t<
      std::is_same_v<Context, ArmContext>, ArmController,
      std::conditional_t<std::is_same_v<Context, SnakeContext>, SnakeController, MobileController>>;
  using Make = std::function<std::unique_ptr<Base>(const Context&)>;
  return {std::move(name),
          std::move(meaning),
          C::settings(),
          C::kQuantities,
          Make([](const Context& context) { return std::make_unique<C>(context); }),
          false};
}

/// Settings of every controller of the kind's robots, in addition to its own.
[[nodiscard]] std::span<const SettingInfo> common_settings(const ControllerKind& kind);
/// Quantities reported for every such robot: status, target, command, measured, ...
[[nodiscard]] std::span<const Quantity> common_quantities(const ControllerKind& kind);
/// All reported quantities, in the order of the sensors: status, the kind's own, the other common
/// ones.
[[nodiscard]] std::vector<Quantity> all_quantities(const ControllerKind& kind);

/// The kinds provided by the library.
[[nodiscard]] const std::vector<ControllerKind>& built_in_controllers();

}  // namespace tendril
