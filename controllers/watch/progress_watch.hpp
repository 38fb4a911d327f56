#pragma once

#include <algorithm>
#include <span>

#include "controllers/interface/settings.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Detects that a robot which moves by a gait makes no progress towards its goal. Time is counted
/// in periods of the gait, so that a slow gait is given the time that it needs. Progress is motion
/// of the body towards the goal, or turning towards it: turning in place, or around a curve that
/// first leads away, is progress too, but not for more than a whole turn. A robot that wanders is
/// sometimes nearer: over a longer time it has to come nearer than it has ever been. Source:
/// docs/theory/snakes.md, "Progress".
class ProgressWatch {
 public:
  /// Row for the controller's table.
  static constexpr SettingInfo kPeriods =
      setting::number("stall_periods", "", "3", kPositive,
                      "periods of the gait without progress after which the status is 10");
  /// Motion that counts as progress: this fraction of the body's length, or this angle [rad]. Gaits
  /// move by 0.04 to 0.4 lengths in one period.
  static constexpr double kMinMotionFraction = 0.05, kAngle = 0.2;
  static constexpr double kMaxTurning = 6.28;  ///< without motion towards the goal [rad]
  /// Multiple of `stall_periods` within which it has to come nearer than ever.
  static constexpr double kNearerFactor = 10.0;

  /// @param length  of the body [m]
  ProgressWatch(const Settings& settings, double length)
      : most_(settings.number("stall_periods")), distance_(kMinMotionFraction * length) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Restarts, for another goal.
  void restart(std::span<double> memory) const noexcept { layout_.reset(memory); }

  /// One step. Returns whether there has been progress in the last periods.
  /// @param towards  motion of the body towards the goal in this step [m]
  /// @param angle    between the direction of motion and the goal, >= 0 [rad]
  /// @param periods  of the gait in this step
  bool step(double towards, double angle, double periods, std::span<double> memory) const noexcept {
    const double gained = gained_(memory) + towards;
    const double largest = std::max<double>(angle_(memory), angle);
    const bool moves = gained >= distance_;
    const bool turns = angle <= largest - kAngle && turned_(memory) < kMaxTurning;
    const bool progress = moves || turns;
    const double waited = progress ? 0.0 : std::min(waited_(memory) + periods, 2.0 * most_);
    if (moves) turned_(memory) = 0.0;
    if (turns) turned_(memory) += kAngle;
    gained_(memory) = progress ? 0.0 : gained;
    angle_(memory) = progress ? angle : largest;
    waited_(memory) = waited;
    const double net = net_(memory) + towards;  // from the nearest position so far
    const bool nearer = net >= distance_;
    const double most_apart = kNearerFactor * most_;
    const double apart = nearer ? 0.0 : std::min(apart_(memory) + periods, 2.0 * most_apart);
    net_(memory) = nearer ? 0.0 : net;
    apart_(memory) = apart;
    return waited <= most_ && apart <= most_apart;
  }

 private:
  double most_, distance_;
  MemoryLayout layout_;
  // Since the last progress: motion [m], largest angle [rad], periods; since the last motion:
  // turning.
  Slot<double> gained_ = layout_.number(), angle_ = layout_.number(), waited_ = layout_.number(),
               turned_ = layout_.number();
  Slot<double> net_ = layout_.number(), apart_ = layout_.number();  // since it was nearest
};

/// Detects that a gait no longer moves a snake: for `stall_periods` periods it
/// has moved by less than a fifth of what is usual in a period, or by more than its length, as no
/// gait does.
class AdvanceWatch {
 public:
  static constexpr double kUsualFraction = 0.2;
  /// A gait that moves the body by less than this fraction of its length in a period, such as
  /// lateral undulation on a smooth floor, is not expected to move it.
  static constexpr double kMinAdvanceFraction = 0.03;
  static constexpr double kAverage = 5.0;  ///< periods over which the usual advance is averaged

  /// @param length  of the body [m]
  AdvanceWatch(const Settings& settings, double length)
      : most_(settings.number("stall_periods")),
        least_(kMinAdvanceFraction * length),
        length_(length) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Restarts, for another gait.
  void restart(std::span<double> memory) const noexcept { layout_.reset(memory); }

  /// One sample.
  /// @param advance  distance from where the body was one period ago [m]
  /// @param periods  since the last sample
  void step(double advance, double periods, std::span<double> memory) const noexcept {
    const double usual = usual_(memory);
    const bool moves = advance <= length_ && (usual < least_ || advance >= kUsualFraction * usual);
    if (moves) {
      const double seen = std::min(seen_(memory) + periods, kAverage);
      usual_(memory) = usual + periods / std::max(seen, periods) * (advance - usual);
      seen_(memory) = seen;
    }
    stalled_(memory) = moves ? 0.0 : std::min(stalled_(memory) + periods, 2.0 * most_);
  }
  /// Returns whether the gait moves the body.
  [[nodiscard]] bool moves(std::span<const double> memory) const noexcept {
    return stalled_(memory) <= most_;
  }

 private:
  double most_, least_, length_;
  MemoryLayout layout_;
  Slot<double> usual_ = layout_.number(), stalled_ = layout_.number();  // [m], [periods]
  Slot<double> seen_ = layout_.number();  // periods of which `usual_` is the mean
};

}  // namespace tendril
