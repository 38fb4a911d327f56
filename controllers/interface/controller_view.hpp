#pragma once

#include <variant>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/snake_controller.hpp"

namespace tendril {

/// What a controller saw in a step, and what it set.
template <class M, class C>
struct SeenAndSet {
  const M* seen = nullptr;
  const C* command = nullptr;
};
/// The same of a controller of any robot that a driver can have; nothing: there is none.
using ControllerView = std::variant<std::monostate, SeenAndSet<ArmMeasurement, ArmCommand>,
                                    SeenAndSet<SnakeMeasurement, SnakeCommand>>;

/// A copy of a view, of one robot.
class ControllerCopy {
 public:
  explicit ControllerCopy(const ControllerView& view) {
    std::visit([this](const auto& of) { emplace(of); }, view);
  }
  /// The view is of the same robot. Allocates nothing.
  void take(const ControllerView& view) noexcept {
    std::visit([this](const auto& of) { assign(of); }, view);
  }
  [[nodiscard]] ControllerView view() const noexcept {
    if (const auto* const arm = std::get_if<Copy<ArmMeasurement, ArmCommand>>(&copy_))
      return SeenAndSet<ArmMeasurement, ArmCommand>{&arm->seen, &arm->command};
    if (const auto* const snake = std::get_if<Copy<SnakeMeasurement, SnakeCommand>>(&copy_))
      return SeenAndSet<SnakeMeasurement, SnakeCommand>{&snake->seen, &snake->command};
    return {};
  }

 private:
  template <class M, class C>
  struct Copy {
    M seen;
    C command;
  };
  void emplace(std::monostate /*none*/) noexcept {}
  template <class M, class C>
  void emplace(const SeenAndSet<M, C>& of) {
    copy_ = Copy<M, C>{*of.seen, *of.command};
  }
  void assign(std::monostate /*none*/) noexcept {}
  template <class M, class C>
  void assign(const SeenAndSet<M, C>& of) noexcept {
    auto* const copy = std::get_if<Copy<M, C>>(&copy_);
    if (copy == nullptr) return;
    copy->seen = *of.seen;
    copy->command = *of.command;
  }

  std::variant<std::monostate, Copy<ArmMeasurement, ArmCommand>,
               Copy<SnakeMeasurement, SnakeCommand>>
      copy_;
};

}  // namespace tendril
