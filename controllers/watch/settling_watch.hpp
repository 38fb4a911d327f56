#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <span>

#include "controllers/interface/controller.hpp"
#include "controllers/watch/following_watch.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Detects that the tip keeps swinging about a target at rest at which its command has arrived. A
/// tip swings in a window of time if it moves to and fro there by more than `following_tolerance`
/// of FollowingWatch::kLengthScale. One that creeps towards its target does not: its range moves
/// along with it. Source: docs/theory/control.md, "Settling".
class SettlingWatch {
 public:
  static constexpr double kWindow = 2.0;    ///< [s]
  static constexpr int kWindows = 3;        ///< in sequence, after which it is said
  static constexpr double kMaxCreep = 0.5;  ///< motion of the range, over its size
  static constexpr double kMaxTargetRatio =
      0.1;  ///< motion of a target at rest, over the tolerance

  explicit SettlingWatch(const Settings& settings)
      : tolerance_(settings.number("following_tolerance") * FollowingWatch::kLengthScale) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// One step of `h` [s]. Returns whether the tip swings.
  /// @param arrived  ControllerReport::arrived: then the target is finite
  [[nodiscard]] bool step(bool arrived, const TipAndTarget& measured, double h,
                          std::span<const double> memory,
                          std::span<double> next_memory) const noexcept {
    if (!arrived || !measured.has_target) {
      time_(next_memory) = 0.0;
      windows_(next_memory) = 0;
      return false;
    }
    const bool rests = time_(memory) > 0.0 &&
                       (measured.target - target_(memory)).norm() <= kMaxTargetRatio * tolerance_;
    if (!rests) {
      windows_(next_memory) = 0;
      target_(next_memory) = measured.target;
    }
    if (!rests || time_(memory) >= kWindow) {  // another window
      low_(next_memory) = high_(next_memory) = measured.tip;
      time_(next_memory) = h;
      return windows_(next_memory) == kWindows;
    }
    low_(next_memory) = low_(memory).cwiseMin(measured.tip);
    high_(next_memory) = high_(memory).cwiseMax(measured.tip);
    time_(next_memory) += h;
    if (time_(next_memory) >= kWindow) end_window(memory, next_memory);
    return windows_(next_memory) == kWindows;
  }

 private:
  void end_window(std::span<const double> memory, std::span<double> next_memory) const noexcept {
    const Eigen::Vector3d center = 0.5 * (low_(next_memory) + high_(next_memory));
    const double size = (high_(next_memory) - low_(next_memory)).norm();
    const int before = windows_(memory);
    const bool creeps = before > 0 && (center - center_(memory)).norm() > kMaxCreep * size;
    windows_(next_memory) = size > tolerance_ && !creeps ? std::min(before + 1, kWindows) : 0;
    center_(next_memory) = center;
  }

  double tolerance_;  // [m]
  MemoryLayout layout_;
  Slot<double> time_ = layout_.number();            // since the window began [s]; 0: no window
  Slot<int> windows_ = layout_.index(0, kWindows);  // in sequence in which the tip swings
  MatrixSlot<Eigen::Vector3d> target_ = layout_.matrix<Eigen::Vector3d>();
  MatrixSlot<Eigen::Vector3d> low_ = layout_.matrix<Eigen::Vector3d>();  // range of the tip
  MatrixSlot<Eigen::Vector3d> high_ = layout_.matrix<Eigen::Vector3d>();
  MatrixSlot<Eigen::Vector3d> center_ = layout_.matrix<Eigen::Vector3d>();  // of the last window
};

}  // namespace tendril
