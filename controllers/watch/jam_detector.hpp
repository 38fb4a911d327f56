#pragma once

#include <cmath>

#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Detects a jam of a fed arm: the tip error, or what else is watched at the tip, or the feed force
/// exceeds its limit for the time `jam_time`. The state Jammed is kept until it is released or the
/// memory is reset.
class JamDetector {
 public:
  /// Rows for the table of a controller that watches the tip error.
  static constexpr SettingInfo kSettings[] = {
      setting::number("jam_tip_error", "m", "0.005", kPositive,
                      "tip error at which the feed stops"),
      setting::jam_feed_force(),
      setting::jam_time("0.05", "minimum duration of one of the two"),
  };
  /// Rows for that of one that watches something else at the tip.
  static constexpr SettingInfo kForceSettings[] = {
      setting::jam_feed_force(),
      setting::jam_time("0.05", "time for which a force is at its limit before it is a jam"),
  };

  /// By tip error and feed force.
  /// @param feed_force_limit  of the feed servo [N]
  JamDetector(const Settings& settings, double feed_force_limit)
      : JamDetector(settings, feed_force_limit, settings.number("jam_tip_error")) {}
  /// By something else at the tip, which is not to exceed `tip_limit`, and the feed force.
  JamDetector(const Settings& settings, double feed_force_limit, double tip_limit)
      : tip_limit_(tip_limit),
        feed_force_(settings.optional_number("jam_feed_force").value_or(0.98 * feed_force_limit)),
        time_(settings.number("jam_time")) {}

  [[nodiscard]] double tip_error_limit() const noexcept { return tip_limit_; }  ///< [m]
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  enum class State { Free, Begins, Jammed };
  /// One step of `h` [s]; before feeding begins (`feeding` false) no jam is detected.
  State step(bool feeding, double at_tip, double feed_force, double h,
             std::span<const double> memory, std::span<double> next_memory) const noexcept {
    const bool blocked = feeding && (at_tip > tip_limit_ || std::abs(feed_force) >= feed_force_);
    const double blocked_time = blocked ? blocked_time_(memory) + h : 0.0;
    blocked_time_(next_memory) = blocked_time;
    if (jammed_(memory)) return State::Jammed;
    if (!(blocked_time > time_)) return State::Free;
    jammed_(next_memory) = true;
    return State::Begins;
  }
  /// Free again, for another attempt.
  void release(std::span<double> next_memory) const noexcept {
    jammed_(next_memory) = false;
    blocked_time_(next_memory) = 0.0;
  }

 private:
  double tip_limit_, feed_force_, time_;
  MemoryLayout layout_;
  Slot<double> blocked_time_ = layout_.number();
  Slot<bool> jammed_ = layout_.flag();
};

}  // namespace tendril
