#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/interface/controller.hpp"
#include "controllers/interface/settings.hpp"

namespace tendril {

/// Makes a controller from its context.
template <class Context>
using Make = std::function<std::unique_ptr<typename Context::Interface>(const Context&)>;

/// A `Make` for robots of one kind or another.
class AnyMake {
 public:
  template <class Context>
  AnyMake(Make<Context> make)  // NOLINT: one of its values
      : make_(std::move(make)),
        settings_(Context::Interface::kCommonSettings),
        quantities_(Context::Interface::kCommonQuantities) {}

  /// Null: it makes controllers from another context.
  template <class Context>
  [[nodiscard]] const Make<Context>* of() const noexcept {
    return std::any_cast<Make<Context>>(&make_);
  }
  /// Settings of every controller of the interface, in addition to its own.
  [[nodiscard]] std::span<const SettingInfo> common_settings() const noexcept { return settings_; }
  /// Quantities reported by every such controller: status, target, command, measured, ...
  [[nodiscard]] std::span<const Quantity> common_quantities() const noexcept { return quantities_; }

 private:
  std::any make_;
  std::span<const SettingInfo> settings_;
  std::span<const Quantity> quantities_;
};

/// A kind of controller: its name, its settings, its reported quantities, and a factory. The plugin
/// registers it under its name; documentation, sensors and checks are derived from its tables.
struct ControllerKind {
  std::string name;                       ///< "tendril.reach"
  std::string meaning;                    ///< one line
  std::span<const SettingInfo> settings;  ///< its own; must live as long as the kind
  std::span<const Quantity> quantities;   ///< reported; must live as long as the kind
  AnyMake make;
  /// Unused controllers may be reused for another instance of the same configuration: they carry no
  /// state between calls of `update`.
  bool reusable = false;
  std::string source = {};  ///< file of its code, which recordings keep; empty: none
  /// Of the library: what it reports of its tip is taken as it is, because tests hold it to the
  /// model's truth. What other kinds report is measured by the plugin (ArrivalWatch).
  bool is_built_in = false;
};

/// A kind from a controller class `C` with `Context`, `settings()` and `kQuantities`.
template <class C>
[[nodiscard]] ControllerKind controller_kind(std::string name, std::string meaning) {
  using Context = typename C::Context;
  return {std::move(name),
          std::move(meaning),
          C::settings(),
          C::kQuantities,
          Make<Context>([](const Context& context) { return std::make_unique<C>(context); }),
          false};
}

/// What kinds from outside report of their tip, in addition to what is measured of it; none for
/// kinds of the library.
[[nodiscard]] std::span<const Quantity> claimed_quantities(const ControllerKind& kind);
/// All settings: its own and those of its robots.
[[nodiscard]] std::vector<SettingInfo> all_settings(const ControllerKind& kind);
/// All reported quantities, in the order of the sensors: status, the kind's own, those claimed, the
/// other common ones.
[[nodiscard]] std::vector<Quantity> all_quantities(const ControllerKind& kind);

/// The kinds provided by the library.
[[nodiscard]] const std::vector<ControllerKind>& built_in_controllers();

}  // namespace tendril
