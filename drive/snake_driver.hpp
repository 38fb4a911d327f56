#pragma once

// Read joint_driver.hpp first.

#include <Eigen/Geometry>
#include <optional>
#include <span>
#include <vector>

#include "binding/snake_loop.hpp"
#include "drive/joint_driver.hpp"

namespace tendril {

/// The driver of a snake. It starts where the options or the robot file say, with the angles that
/// the first readings tell.
class SnakeDriver final : public JointDriver<SnakeController, SnakeDescription> {
 public:
  /// Throws ModelError, also for a controller that needs a scene, or more of the snake's pose than
  /// its sensors tell.
  SnakeDriver(const SnakeDescription& robot, const ComputerOptions& options);

  [[nodiscard]] Places places() const noexcept override;

 private:
  [[nodiscard]] bool is_free() const noexcept { return robot_.base == SnakeBase::Free; }
  void reset_own(std::span<double> own) noexcept override;
  void see(const Input& input, std::span<const double> own,
           std::span<double> next_own) noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> commands) noexcept override;
  void keep_own(std::span<const double> commands, std::span<double> own) noexcept override;

  double link_delay_;
  Eigen::Isometry3d X_WB_;  // of a free snake at the start
  std::vector<double> start_angles_;
  std::optional<SnakeLoop> loop_;
  bool has_begun_ = false;
};

}  // namespace tendril
