#pragma once

#include <algorithm>
#include <span>

#include "controllers/interface/settings.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Detects that a robot does not follow its commands. Its following error is the largest
/// distance of a coordinate from its command, or, once the command rests at the target, of the tip
/// from the target [rad; kLengthScale of length count as 1 rad]. A contact can hold back the joints
/// between the base and the touching link; their distances say nothing and do not count. Source:
/// docs/theory/control.md, "Following error".
class FollowingWatch {
 public:
  static constexpr double kLengthScale = 0.05;  ///< [m]

  /// The settings are rows of common_rows.hpp.
  explicit FollowingWatch(const Settings& settings)
      : tolerance_(settings.number("following_tolerance")),
        time_(settings.number("following_time")) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] double tolerance() const noexcept { return tolerance_; }

  /// One step of `h` [s]. Returns whether the robot follows its commands.
  /// @param error          the following error
  /// @param error_of_all   the same with the coordinates that do not count
  bool step(double error, double error_of_all, double h, std::span<const double> memory,
            std::span<double> next_memory) const noexcept {
    double late = late_(memory);
    if (error > tolerance_)
      late = std::min(late + h, 2.0 * time_ + h);
    else if (error_of_all > tolerance_)
      late = std::max(late - h, 0.0);  // says nothing: contacts come and go
    else
      late = 0.0;
    late_(next_memory) = late;
    return late <= time_;
  }

 private:
  double tolerance_, time_;
  MemoryLayout layout_;
  Slot<double> late_ = layout_.number();  // time for which the error has been too large [s]
};

/// Largest distances of a robot's coordinates from their commands, scaled as FollowingWatch has
/// them.
struct FollowingError {
  double counted = 0.0;  ///< of those that no contact can hold back
  double of_all = 0.0;

  /// @param distance  of a coordinate from its command [m] or [rad]
  void add(double distance, bool is_length, bool counts) noexcept {
    const double error = distance / (is_length ? FollowingWatch::kLengthScale : 1.0);
    of_all = std::max(of_all, error);
    if (counts) counted = std::max(counted, error);
  }
};

}  // namespace tendril
