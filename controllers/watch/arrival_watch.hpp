#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <span>

#include "controllers/interface/controller.hpp"
#include "controllers/watch/following_watch.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Puts what is measured in the place of what a controller reports of its tip: tip_error and
/// angle_error, and with them the status of a tip that is not where it is claimed to be. What was
/// reported is kept along with it. Judges the controllers of others; tests hold those of this
/// library to the same numbers.
class ArrivalWatch {
 public:
  /// @param length_scale  within `following_tolerance` of this length the tip has arrived [m]
  ArrivalWatch(const Settings& settings, double length_scale)
      : tolerance_(settings.number("following_tolerance") * length_scale),
        rest_(settings.number("following_tolerance") * FollowingWatch::kLengthScale),
        time_(settings.number("following_time")) {}

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  /// One step of `h` [s].
  void step(const TipAndTarget& measured, double h, std::span<const double> memory,
            std::span<double> next_memory, ControllerReport& report) const noexcept {
    report.reported_tip_error = report.tip_error;
    report.reported_angle_error = report.angle_error;
    const bool has_goal = measured.has_target || !report.target.isZero();
    const Eigen::Vector3d& goal = measured.has_target ? measured.target : report.target;
    report.tip_error = has_goal ? (measured.tip - goal).norm() : kUnknown;
    if (!std::isnan(report.angle_error))  // the task prescribes one
      report.angle_error = measured.has_target ? measured.angle : kUnknown;

    const double rested = rest_time(measured, h, memory, next_memory);
    const bool is_there = !has_goal || report.tip_error <= tolerance_;
    const bool claims_arrival = report.status == ControllerStatus::Finished;
    if (is_well(report.status) && !is_there && (claims_arrival || rested > time_))
      report.status = ControllerStatus::NotReached;
  }

 private:
  /// Time for which a tip that has a target has not left the place where it is [s].
  [[nodiscard]] double rest_time(const TipAndTarget& measured, double h,
                                 std::span<const double> memory,
                                 std::span<double> next_memory) const noexcept {
    const double before = rested_(memory);
    const bool rests = before > 0.0 && (measured.tip - place_(memory)).norm() <= rest_;
    if (!rests) place_(next_memory) = measured.tip;
    const double rested = rests ? std::min(before, time_ + h) + h : h;
    rested_(next_memory) = rested;
    return measured.has_target ? rested : 0.0;
  }

  double tolerance_, rest_;  // [m]
  double time_;              // [s]
  MemoryLayout layout_;
  MatrixSlot<Eigen::Vector3d> place_ = layout_.matrix<Eigen::Vector3d>();
  Slot<double> rested_ = layout_.number();  // time at this place [s]
};

}  // namespace tendril
