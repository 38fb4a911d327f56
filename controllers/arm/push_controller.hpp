#pragma once

#include <span>

#include "controllers/arm/reach_controller.hpp"

namespace tendril {

/// Pushes a block over a table with the tip, until its geom is at the target body. Everything is in
/// the plane through the target perpendicular to its z axis, which points into the table.
///
///     travel   out of the circle around the block, into the plane, along the circle, until the tip
///              is behind the block on the line to the target
///     push     the tip heads along that line, turned by kSteering times the bearing of the block:
///              a block that drifts to one side is pushed back from that side
///     retreat  once the block is at the target, back to the circle
///
/// A block that slips off, or passes the target at a distance, is pushed again from behind. The tip
/// moves as in ReachController, and its integral provides the force.
/// Source: docs/theory/control.md, "Pushing". Tested by: push_controller_test, and in the engine by
/// scenes/push.
class PushController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      quantity::kProgress,
      {"block_error", "m", "distance of the block from the target, along the table"},
      {"pushes", "", "times that the tip has begun to push"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit PushController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] bool senses_response() const noexcept override { return false; }

 private:
  /// Where everything is in the target's frame [m].
  struct View {
    Eigen::Vector3d tip;
    Eigen::Vector2d block;
    double distance;            ///< of the block from the target
    Eigen::Vector2d direction;  ///< unit, from the block to the target
    double bearing;             ///< of the block from the tip, against `direction` [rad]
  };
  [[nodiscard]] View view(const ArmMeasurement& measurement) const noexcept;
  void choose(const View& view, std::span<const double> memory,
              std::span<double> next) const noexcept;
  [[nodiscard]] Eigen::Vector3d travel(const View& view, Eigen::Vector3d point,
                                       double step) const noexcept;
  [[nodiscard]] Eigen::Vector3d push(const View& view, Eigen::Vector3d point,
                                     double step) const noexcept;
  void judge(const View& view, double timestep, std::span<const double> memory,
             std::span<double> next) const noexcept;

  ReachController reach_;
  double tolerance_, speed_, push_time_;
  double circle_;  // radius of the circle around the block [m]
  double size_;    // of the block [m]

  Slot<bool> started_ = memory_.flag(), pushing_ = memory_.flag(), done_ = memory_.flag();
  MatrixSlot<Eigen::Vector3d> point_ = memory_.matrix<Eigen::Vector3d>();  // of the plan [m]
  Slot<double> begin_ = memory_.number();    // distance of the block at first [m]
  Slot<double> nearest_ = memory_.number();  // least distance of the block [m]
  Slot<double> idle_ = memory_.number();     // time since it became less [s]
  Slot<int> pushes_ = memory_.index(0, kMaxPushes);
  Block reach_memory_;

  static constexpr int kMaxPushes = 1000000;
};

}  // namespace tendril
