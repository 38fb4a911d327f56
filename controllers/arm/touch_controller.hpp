#pragma once

#include <span>

#include "controllers/arm/reach_controller.hpp"

namespace tendril {

/// Touches a surface with the tip: along the measured contact normal it regulates a force, across
/// it the tip follows the target body as in ReachController. Before the first contact, and after
/// one is lost, the tip moves to the target at a bounded speed; so the target lies on the surface
/// or inside.
///
/// A force f is regulated by the tip integral: instead of a position error, it gets along the
/// normal n (towards the arm)
///
///     e = -n C (f_d - f),    C = (n^T J . n^T R / |n^T R|^2 - 1) / (k m)
///
/// with the compliance C of the arm at its tip, which follows from the tip's Jacobian J in free
/// motion and its response R with m contacts of stiffness k each (ContactResponse).
/// Source: docs/theory/control.md, "Touching". Tested by: touch_controller_test, and in
/// the engine by scenes/touch.
class TouchController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      quantity::kProgress,
      TipContacts::kForce,
      {"force_error", "N", "`tip_force` minus the desired one, also where nothing is touched", 1,
       "mean rms"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting. With `avoidance`, `obstacles` must not name the surface.
  explicit TouchController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] ContactNeed needs_contacts() const noexcept override { return ContactNeed::Tip; }

 private:
  void feel(const ArmMeasurement& measurement, std::span<const double> memory,
            std::span<double> next) const noexcept;
  [[nodiscard]] double compliance(const ArmMeasurement& measurement,
                                  const Eigen::Vector3d& normal) const noexcept;
  [[nodiscard]] Eigen::Vector3d lead(const ArmMeasurement& measurement,
                                     std::span<const double> memory,
                                     std::span<double> next) const noexcept;
  [[nodiscard]] Eigen::Vector3d force_step(std::span<const double> next) const noexcept;
  [[nodiscard]] ControllerStatus judge(const ArmMeasurement& measurement,
                                       std::span<const double> memory,
                                       std::span<double> next) const noexcept;

  ReachController reach_;
  TipContacts contacts_;
  double force_, approach_, speed_, force_time_, gain_;
  bool has_direction_;

  Slot<bool> started_ = memory_.flag(), moving_ = memory_.flag(), touching_ = memory_.flag();
  Slot<double> apart_ = memory_.number();       // time since the last contact [s]
  Slot<double> felt_ = memory_.number();        // force, smoothed [N]
  Slot<double> compliance_ = memory_.number();  // of the tip [m/N]
  MatrixSlot<Eigen::Vector3d> normal_ = memory_.matrix<Eigen::Vector3d>();  // smoothed
  MatrixSlot<Eigen::Vector3d> point_ = memory_.matrix<Eigen::Vector3d>();   // of the plan [m]
  Slot<double> off_ = memory_.number();  // time without the force [s]
  Block reach_memory_;
};

}  // namespace tendril
