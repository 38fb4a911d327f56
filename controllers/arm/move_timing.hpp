#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "controllers/interface/settings.hpp"
#include "tendril/memory_layout.hpp"
#include "tendril/path/smooth_step.hpp"

namespace tendril {

/// Times a move of a planned pose to a goal that it cannot reach in one step, as after a jump of
/// the target, for a body that swings. A move at the rate limit starts and stops at once, and
/// leaves a swing that decays slowly. This one is a smooth step of kPeriods periods of the slowest
/// swing, or longer to keep the rate limit, which leaves 3 % of it. Where the goal is within reach
/// of a step, as that of a steady motion is, it is taken, without a lag. Source:
/// docs/theory/control.md, "Rate limit by time scaling".
class MoveTiming {
 public:
  static constexpr double kPeriods = 2.0;

  /// Row for the table of a controller that has it.
  static constexpr SettingInfo kSetting = setting::number(
      "move_time", "s", "", kNotNegative,
      "least duration of a move to a target that has jumped; default: two periods of the slowest "
      "swing of the body, 0 of one that is well damped");

  explicit MoveTiming(const Settings& settings) : least_(settings.optional_number("move_time")) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// Fraction of the line from the planned pose to its goal that is covered in this step.
  /// @param at_limit  of the line, that the rate limit allows; above 1 it takes less time
  /// @param swing_period  of the body [s]; 0: it does not swing
  [[nodiscard]] double fraction(double at_limit, double swing_period, double h,
                                std::span<const double> memory,
                                std::span<double> next) const noexcept {
    const double least = least_.value_or(kPeriods * swing_period);
    double ahead = ahead_(memory);
    if (least <= 0.0 || (ahead <= 0.0 && at_limit >= 1.0)) {
      ahead_(next) = 0.0;
      return std::min(1.0, at_limit);
    }
    const double line = 1.0 / at_limit;  // steps at the rate limit
    if (ahead <= 0.0 || line > line_(memory) + kJump) {
      ahead = 1.0;
      duration_(next) = std::max(least, kSmoothPeakRate * line * h);
    }
    const double rest = std::max(0.0, ahead - h / duration_(next));
    // 1 - smooth_step(x) = smooth_step(1 - x)
    const double part = 1.0 - smooth_step(rest).value / smooth_step(ahead).value;
    const double taken = std::min(part, at_limit);
    ahead_(next) = rest;
    line_(next) = line * (1.0 - taken);
    return taken;
  }

 private:
  static constexpr double kJump = 2.0;  // steps at the rate limit by which a goal moves away

  std::optional<double> least_;
  MemoryLayout layout_;
  Slot<double> ahead_ = layout_.number();     // of the move, 1 to 0; 0: none is under way
  Slot<double> duration_ = layout_.number();  // of the move [s]
  Slot<double> line_ = layout_.number();      // that is left of it, in steps at the rate limit
};

}  // namespace tendril
