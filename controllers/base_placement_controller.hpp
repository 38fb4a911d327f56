#pragma once

#include <span>
#include <vector>

#include "controllers/mobile_controller.hpp"
#include "tendril/mobile/mobile_continuum_solver.hpp"

namespace tendril {

/// What a controller of a platform that carries a continuum arm is made from; it lives only during
/// the call. The arm has a controller of its own.
struct BasePlacementContext {
  const MobileContinuum& robot;
  const MobileSpeedLimits& limits;
  double platform_length, platform_width;  ///< [m]
  const Settings& settings;
  double timestep;  ///< of the simulation [s]
};

/// Brings a continuum arm to where it meets the target, and stays there: the platform moves only
/// when the arm cannot do it from where the platform stands or is going to.
///
/// The place is MobileContinuumSolver's, for an arm that is shorter by the setting `reserve`, so
/// that the real one need not stretch for the target; from a target that is too near (setting
/// `nearest`) the platform backs away. Places where the platform's rectangle
/// would touch a box of `keep_out` are not taken. The way there is straight, under the limits of
/// speed and acceleration; a platform that would come into such a box on its way stops before it
/// and reports NotReached.
///
/// It uses MobileController's interface with no joints: X_WE is the arm's tip, z along the
/// backbone. Memory, purity and failures are as for `Controller`.
/// Held by: carry_controller_test, scenes/mobile_arm.
class BasePlacementController final : public MobileController {
 public:
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit BasePlacementController(const BasePlacementContext& context);

  [[nodiscard]] int memory_size() const noexcept override;
  void reset(std::span<double> memory) const noexcept override;
  void update(const MobileMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, MobileCommand& command,
              MobileReport& report) noexcept override;

 private:
  [[nodiscard]] bool choose(const TipTarget& target, std::span<double> next,
                            MobileReport& report) noexcept;
  [[nodiscard]] MobileStatus look_for(const TipTarget& target, std::span<double> next,
                                      MobileReport& report) noexcept;
  void adopt(const MobileContinuumResult& result, std::span<double> next) const noexcept;
  [[nodiscard]] PlatformPose backed_away(const Eigen::Vector3d& target,
                                         const PlatformPose& base) const noexcept;
  void move(std::span<double> next, MobileReport& report) const noexcept;
  void judge(const MobileMeasurement& measurement, const TipTarget& target, bool target_moved,
             std::span<double> next, MobileReport& report) const noexcept;

  MobileSpeedLimits limits_;
  TipTask task_;
  double tolerance_, angle_tolerance_, settle_time_, nearest_, h_;
  FloorPlan keep_out_;
  MobileContinuumSolver shorter_, whole_;
  std::vector<SectionState> states_;  // scratch
};

}  // namespace tendril
