#pragma once

#include <span>
#include <vector>

#include "controllers/arm_controller.hpp"
#include "controllers/feed_drive.hpp"
#include "controllers/tip_integral.hpp"
#include "tendril/path/path.hpp"
#include "tendril/path/shape_fit.hpp"
#include "tendril/path/winding_path.hpp"

namespace tendril {

/// The arm coils around a cylinder and presses with its tip beyond it. The controller has four
/// consecutive stages:
///
/// 1. Feed: follow-the-leader along a helical path clear of the cylinder, with feedback of the
///    measured tip.
/// 2. Tighten: the sections move to the helical path tightened on the cylinder, and the base
///    retracts by `pull_back`. The corrections are held. The cylinder then supports the arm.
/// 3. Press: the goal of the tip moves by `press`. Only the last sections are corrected on the
///    measured tip, so that they do not act against the cylinder.
/// 4. Hold, while pressing.
///
/// Feeding in contact with the cylinder is not possible: sections of constant curvature deviate
/// from a helix by some millimetres, the error becomes contact force, and the integral winds up.
/// Source: docs/derivations.md, "Coiling around a cylinder".
class CoilController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {quantity::kIterations, quantity::kTipError,
                                             quantity::kProgress};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit CoilController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

 private:
  enum class Stage { Settle, Feed, Tighten, Press, Hold };

  void plan_tight_pose(double pull_back);
  void feed(const ArmMeasurement& measurement, std::span<const double> memory,
            std::span<double> next_memory, ArmCommand& command) noexcept;

  ContinuumRobot robot_;
  double arm_length_, start_delay_;
  double tighten_time_, press_time_;
  Eigen::Vector3d press_;
  Path loose_, tight_;
  double feed_end_, tight_feed_;
  FeedDrive drive_;
  TipIntegral integral_, press_integral_;
  Eigen::VectorXd q_loose_, q_tight_;  // at the end of feeding, and tightened
  Eigen::Vector3d tight_tip_;          // planned tip of the latter

  Slot<Stage> stage_ = memory_.choice(Stage::Settle, Stage::Hold);
  Slot<double> stage_time_ = memory_.number(), feed_ = memory_.number(), speed_ = memory_.number();
  Block states_memory_, integral_memory_, press_memory_;

  std::vector<SectionState> states_, candidate_;  // scratch
  Eigen::VectorXd q_last_;                        // scratch
};

}  // namespace tendril
