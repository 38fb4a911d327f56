#pragma once

#include <span>
#include <vector>

#include "controllers/arm/reach_controller.hpp"

namespace tendril {

/// Moves the tip to a target body as ReachController does, but commands moments: those that hold
/// the planned bends against the body's stiffness and damping and against gravity, and what drives
/// the measured bends to the planned ones,
///
///     m = K (q_d - q_0) + D q_d' - m_g + a K (q_d - q) + b D (q_d' - q')
///
/// with the stiffness K and damping D of the robot file and the measured moment m_g of gravity. The
/// arm is 1 + a times as stiff as its body. Source: docs/theory/control.md, "Computed moments".
/// Tested by: computed_moment_controller_test, moment_test.
class ComputedMomentController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      quantity::kProgress,
      {"largest_moment", "N m", "largest commanded moment of a bend", 1, "max end"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit ComputedMomentController(const ArmContext& context);

  [[nodiscard]] CommandKind commands() const noexcept override { return CommandKind::Moments; }
  [[nodiscard]] bool senses_contacts() const noexcept override { return reach_.senses_contacts(); }
  [[nodiscard]] bool senses_response() const noexcept override { return reach_.senses_response(); }
  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;

 private:
  ReachController reach_;
  Block reach_memory_;
  double stiffness_gain_, damping_gain_;
  std::vector<BodySpring> springs_;
  std::vector<bool> is_length_;  // of each coordinate
};

}  // namespace tendril
