#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "controllers/arm/steered_tip.hpp"
#include "controllers/arm/tip_contacts.hpp"
#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "controllers/watch/jam_detector.hpp"
#include "tendril/path/path.hpp"

namespace tendril {

/// Steers the tip of an endoscope or a guidewire along a path, while the base feeds it and its
/// passive sections follow the wall: whatever shape they take, the sections at the tip are fitted
/// to the path ahead of where they begin, as measured. A wire without driven sections, whose last
/// section rests as an arc, is turned at its base until that arc bends towards the path.
///
/// The feed slows down with the force on the tip, and until a wire's tip points along the path. In
/// a jam, and where the tip has missed a turn of the path, the arm is drawn back and fed again.
/// Source: docs/theory/control.md, "Steering a tip".
class SteerController final : public ArmController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kProgress,
      TipContacts::kForce,
      {.name = "jams", .unit = "", .meaning = "times that the arm has been drawn back from a jam"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit SteerController(const ArmContext& context);

  void update(const ArmMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, ArmCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;
  [[nodiscard]] bool senses_contacts() const noexcept override { return true; }
  [[nodiscard]] ContactNeed needs_contacts() const noexcept override { return ContactNeed::Body; }
  [[nodiscard]] bool senses_response() const noexcept override { return false; }

 private:
  [[nodiscard]] bool is_on_path(double head, const Eigen::Vector3d& tip) const noexcept;
  double bend(const ArmMeasurement& measurement, double head, double tip_force,
              std::span<const double> memory, std::span<double> next, ArmCommand& command) noexcept;
  double turn(const ArmMeasurement& measurement, double head, std::span<const double> memory,
              std::span<double> next, ArmCommand& command) const noexcept;
  bool advance(const ArmMeasurement& measurement, double head, double tip_force, double aimed,
               std::span<const double> memory, std::span<double> next,
               ArmCommand& command) const noexcept;
  [[nodiscard]] bool is_there(double head, const Eigen::Vector3d& tip) const noexcept {
    return head >= path_.length() - body_radius_ && is_on_path(head, tip);
  }
  /// Fraction of the feed's speed that the force on the tip leaves.
  [[nodiscard]] double yield(double tip_force) const noexcept {
    return std::clamp(1.0 - tip_force / force_limit_, 0.0, 1.0);
  }

  ContinuumRobot robot_;
  SteeredTip steered_;  // of a wire its last section
  bool turns_;          // steered by the spin of the base
  double steered_length_, arm_length_, body_radius_, start_delay_;
  double speed_, acceleration_, rate_limit_, force_limit_;
  int retries_;
  TipContacts tip_contacts_;
  JamDetector jam_;
  Path path_;
  std::vector<double> wall_distances_;  // of the path, at kWallSpacing [m]; empty: unknown
  TipIntegral integral_;

  Slot<double> feed_ = memory_.number(), feed_speed_ = memory_.number();
  Slot<double> spin_ = memory_.number();
  Slot<double> head_ = memory_.number();  // arc length of the path where the tip was on it last [m]
  Slot<bool> started_ = memory_.flag(), retreating_ = memory_.flag();
  Slot<double> farthest_ = memory_.number(), feed_there_ = memory_.number();  // head; feed [m]
  Slot<double> retreat_to_ = memory_.number(), jam_at_ = memory_.number();    // feed; head [m]
  Slot<int> jams_ = memory_.counter(), tries_ = memory_.counter();            // all; at this place
  Block jam_memory_ = memory_.part(jam_.layout());
  Block steered_memory_;
  Block integral_memory_;
};

}  // namespace tendril
