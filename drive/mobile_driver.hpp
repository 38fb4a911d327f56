#pragma once

// Read robot_driver.hpp first.

#include <Eigen/Geometry>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "binding/mobile_loop.hpp"
#include "drive/robot_driver.hpp"

namespace tendril {

/// The driver of an arm with joints on a mobile platform. Its base is the frame in which the
/// platform moves. It starts where its first readings or else the robot file say.
class MobileDriver final : public DriverOf<MobileController> {
 public:
  /// Throws ModelError, also for a controller that needs a scene, a continuum arm on the platform,
  /// and a joint that no sensor measures.
  MobileDriver(MobileDescription robot, const ComputerOptions& options);

  [[nodiscard]] const std::string& text() const noexcept override { return robot_.text; }
  [[nodiscard]] std::span<const RobotSensor> sensors() const noexcept override {
    return robot_.sensors;
  }
  [[nodiscard]] Places places() const noexcept override {
    return {measurement_.X_WE, measurement_.X_WG, std::nullopt};
  }
  [[nodiscard]] std::vector<std::string> joints() const override;
  void joint_states(std::span<std::array<double, 2>> out) const noexcept override;

 private:
  void reset_own(std::span<double> own) noexcept override;
  void see(const Input& input, std::span<const double> own,
           std::span<double> next_own) noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> commands) noexcept override;
  void keep_own(std::span<const double> /*commands*/, std::span<double> /*own*/) noexcept override {
  }

  MobileDescription robot_;
  Eigen::Isometry3d X_WB_ = Eigen::Isometry3d::Identity();
  Mechanism mechanism_;
  std::optional<MobileLoop> loop_;
  std::vector<JointState> states_;
  bool has_begun_ = false;
};

}  // namespace tendril
