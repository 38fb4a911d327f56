#pragma once

#include <utility>
#include <variant>

#include "controllers/interface/arm_controller.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "controllers/interface/snake_controller.hpp"

namespace tendril {

/// What a controller saw in a step, and what it set.
template <class M, class C>
struct SeenAndSet {
  using Seen = M;
  using Set = C;
  const M* seen = nullptr;
  const C* command = nullptr;
};
template <class... Views>
struct ControllerViews {
  using Any = std::variant<std::monostate, Views...>;
  /// Copies of what a view shows.
  using Copies =
      std::variant<std::monostate, std::pair<typename Views::Seen, typename Views::Set>...>;
};
using RobotViews = ControllerViews<SeenAndSet<ArmMeasurement, ArmCommand>,
                                   SeenAndSet<SnakeMeasurement, SnakeCommand>,
                                   SeenAndSet<MobileMeasurement, MobileCommand>>;
/// The same of a controller of any robot; nothing: there is none.
using ControllerView = RobotViews::Any;

/// A copy of a view, of one robot.
class ControllerCopy {
 public:
  explicit ControllerCopy(const ControllerView& view) {
    std::visit([this]<class V>(const V& of) { make(of); }, view);
  }
  /// The view is of the same robot. Allocates nothing.
  void take(const ControllerView& view) noexcept {
    std::visit([this]<class V>(const V& of) { assign(of); }, view);
  }
  [[nodiscard]] ControllerView view() const noexcept {
    return std::visit([]<class C>(const C& copy) { return view_of(copy); }, copy_);
  }

 private:
  void make(std::monostate /*none*/) noexcept {}
  template <class M, class C>
  void make(const SeenAndSet<M, C>& of) {
    copy_ = std::pair<M, C>(*of.seen, *of.command);
  }
  void assign(std::monostate /*none*/) noexcept {}
  template <class M, class C>
  void assign(const SeenAndSet<M, C>& of) noexcept {
    auto* const copy = std::get_if<std::pair<M, C>>(&copy_);
    if (copy == nullptr) return;
    copy->first = *of.seen;
    copy->second = *of.command;
  }
  static ControllerView view_of(std::monostate /*none*/) noexcept { return {}; }
  template <class M, class C>
  static ControllerView view_of(const std::pair<M, C>& copy) noexcept {
    return SeenAndSet<M, C>{&copy.first, &copy.second};
  }

  RobotViews::Copies copy_;
};

}  // namespace tendril
