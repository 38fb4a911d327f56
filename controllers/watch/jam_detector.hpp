#pragma once

#include <cmath>
#include <limits>

#include "controllers/interface/feed_settings.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Detects a jam of a fed arm: the tip error or the feed force exceeds its limit for the time
/// `jam_time`. The state Jammed is kept until it is released or the memory is reset.
class JamDetector {
 public:
  /// Rows for the controller's table: by tip error or feed force, and by feed force alone.
  static constexpr SettingInfo kSettings[] = {
      setting::number("jam_tip_error", "m", "0.005", kPositive,
                      "tip error at which the feed stops"),
      setting::jam_feed_force(),
      setting::jam_time("0.05", "minimum duration of one of the two"),
  };
  static constexpr SettingInfo kForceSettings[] = {
      setting::jam_feed_force(),
      setting::jam_time("0.05", "minimum duration of that"),
  };

  /// @param feed_force_limit  of the feed servo [N]
  /// @param by_tip_error      else by the feed force alone
  JamDetector(const Settings& settings, double feed_force_limit, bool by_tip_error = true)
      : tip_error_(by_tip_error ? settings.number("jam_tip_error")
                                : std::numeric_limits<double>::infinity()),
        feed_force_(settings.optional_number("jam_feed_force").value_or(0.98 * feed_force_limit)),
        time_(settings.number("jam_time")) {}

  [[nodiscard]] double tip_error_limit() const noexcept { return tip_error_; }  ///< [m]
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  enum class State { Free, Begins, Jammed };
  /// One step of `h` [s]; before feeding begins (`feeding` false) no jam is detected.
  State step(bool feeding, double tip_error, double feed_force, double h,
             std::span<const double> memory, std::span<double> next_memory) const noexcept {
    const bool blocked = feeding && (tip_error > tip_error_ || std::abs(feed_force) >= feed_force_);
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
  double tip_error_, feed_force_, time_;
  MemoryLayout layout_;
  Slot<double> blocked_time_ = layout_.number();
  Slot<bool> jammed_ = layout_.flag();
};

}  // namespace tendril
