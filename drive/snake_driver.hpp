#pragma once

// Read robot_driver.hpp first.

#include <Eigen/Geometry>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "binding/snake_loop.hpp"
#include "drive/robot_driver.hpp"

namespace tendril {

/// The driver of a snake. It starts where the options or the robot file say, with the angles that
/// the first readings tell.
class SnakeDriver final : public DriverOf<SnakeController> {
 public:
  /// Throws ModelError, also for a controller that needs a scene, or more of the snake's pose than
  /// its sensors tell.
  SnakeDriver(SnakeDescription robot, const ComputerOptions& options);

  [[nodiscard]] const std::string& text() const noexcept override { return robot_.text; }
  [[nodiscard]] std::span<const RobotSensor> sensors() const noexcept override {
    return robot_.sensors;
  }
  [[nodiscard]] Places places() const noexcept override;
  [[nodiscard]] std::vector<std::string> joints() const override;
  void joint_states(std::span<std::array<double, 2>> out) const noexcept override;

 private:
  [[nodiscard]] bool is_free() const noexcept { return robot_.base == SnakeBase::Free; }
  void reset_own(std::span<double> own) noexcept override;
  void see(const Input& input, std::span<const double> own,
           std::span<double> next_own) noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> commands) noexcept override;
  void keep_own(std::span<const double> commands, std::span<double> own) noexcept override;

  SnakeDescription robot_;
  double link_delay_;
  Eigen::Isometry3d X_WB_;  // of a free snake at the start
  std::vector<double> start_angles_;
  Mechanism mechanism_;
  std::optional<SnakeLoop> loop_;
  std::vector<JointState> states_;
  bool has_begun_ = false;
};

}  // namespace tendril
