#pragma once

#include <cmath>

#include "controllers/settings.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Notices that a fed arm is stuck: its tip error or the feed's force is beyond what free feeding
/// needs, for some time. Once jammed it stays so until the memory is reset.
class JamDetector {
 public:
  /// Rows for the controller's table.
  static constexpr SettingInfo kSettings[] = {
      setting::number("jam_tip_error", "m", "0.005", kPositive,
                      "tip error at which the feed stops for good"),
      setting::number(
          "jam_feed_force", "N", "", kPositive,
          "feed force at which the feed stops for good; default: 0.98 of the feed servo's limit"),
      setting::number("jam_time", "s", "0.05", kNotNegative, "how long one of the two must last"),
  };

  /// @param feed_force_limit  of the feed servo [N]
  JamDetector(const Settings& settings, double feed_force_limit)
      : tip_error_(settings.number("jam_tip_error")),
        feed_force_(settings.optional_number("jam_feed_force").value_or(0.98 * feed_force_limit)),
        time_(settings.number("jam_time")) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  enum class State { Free, Begins, Jammed };
  /// One step of `h` [s]; before feeding begins (`feeding` false) nothing counts.
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

 private:
  double tip_error_, feed_force_, time_;
  MemoryLayout layout_;
  Slot<double> blocked_time_ = layout_.number();
  Slot<bool> jammed_ = layout_.flag();
};

}  // namespace tendril
