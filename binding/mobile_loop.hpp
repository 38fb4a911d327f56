#pragma once

// Read sensed_mobile.hpp first.

#include <Eigen/Geometry>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "binding/driven_joint.hpp"
#include "binding/sensed_mobile.hpp"
#include "controllers/interface/mobile_controller.hpp"
#include "tendril/model/mobile/description.hpp"

namespace tendril {

/// What of a step of a mobile robot needs no engine: from the states of its joints, or the readings
/// of its sensors, to the controller's measurement, and from its command to the setpoints of the
/// actuators. The joints are x, y and heading of the platform, then those of the arm; of a platform
/// that carries a continuum arm only the first three.
class MobileLoop {
 public:
  static constexpr std::size_t kPlatform = 3;

  struct Options {
    CommandKind commands = CommandKind::Setpoints;
    Eigen::Vector3d gravity =
        Eigen::Vector3d::Zero();  ///< that is compensated, world frame [m/s^2]
    bool velocity_feed_forward = false;
    bool is_sensed = false;
  };
  /// Throws ModelError naming a joint or actuator that the mechanism lacks.
  MobileLoop(const Mechanism& mechanism, const MobileDescription& robot, const Options& options);

  [[nodiscard]] static RobotSizes sizes(const MobileDescription& robot) {
    return robot.mounted ? 0 : robot.kinematics().joint_count();
  }
  [[nodiscard]] static MemoryLayout layout(const MobileDescription& robot, bool is_sensed);

  /// Lets the controller see its sensors. Throws ModelError, see SensedMobile.
  void use_sensors(const Mechanism& mechanism, const MobileDescription& robot);
  [[nodiscard]] bool is_sensed() const noexcept { return sensed_.has_value(); }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::span<const DrivenJoint> joints() const noexcept { return joints_; }

  /// Fills in what follows from the states of the joints.
  void measure(std::span<const JointState> states, MobileMeasurement& out) const noexcept;
  /// Replaces states and measurement by what follows from the readings (SensedMobile::sense). A
  /// continuum arm tells where its tip is on the platform: that of `seen`, on entry the true one.
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<double> next_own, const Eigen::Isometry3d& X_WB,
             std::span<JointState> states, MobileMeasurement& seen) noexcept;
  /// Sets the positions of which sensors tell, of a robot that has not begun.
  void read_positions(std::span<const double> readings, std::span<const bool> arrived,
                      std::span<JointState> states) noexcept {
    sensed_->read_positions(readings, arrived, states);
  }
  /// Writes the setpoints of the actuators.
  void setpoints(const MobileMeasurement& seen, const MobileCommand& command,
                 std::span<double> setpoints) const noexcept;

 private:
  Options options_;
  double timestep_;
  MemoryLayout layout_;
  std::vector<DrivenJoint> joints_;
  std::optional<SensedMobile> sensed_;
};

[[nodiscard]] bool is_finite(const MobileCommand& command) noexcept;

/// Sets the command to what a controller finds that sets nothing.
void forget(MobileCommand& command, CommandKind kind, const MobileMeasurement& measured) noexcept;

}  // namespace tendril
