#pragma once

// Read joint_driver.hpp first.

#include <Eigen/Geometry>
#include <optional>
#include <span>

#include "binding/mobile_loop.hpp"
#include "drive/joint_driver.hpp"

namespace tendril {

/// The driver of an arm with joints on a mobile platform. Its base is the frame in which the
/// platform moves. It starts where its first readings or else the robot file say.
class MobileDriver final : public JointDriver<MobileController, MobileDescription> {
 public:
  /// Throws ModelError, also for a controller that needs a scene, a continuum arm on the platform,
  /// and a joint that no sensor measures.
  MobileDriver(const MobileDescription& robot, const ComputerOptions& options);

  [[nodiscard]] Places places() const noexcept override {
    return {measurement_.X_WE, measurement_.X_WG, std::nullopt};
  }

 private:
  void reset_own(std::span<double> own) noexcept override;
  void see(const Input& input, std::span<const double> own,
           std::span<double> next_own) noexcept override;
  void setpoints(std::span<double> next_own, std::span<double> commands) noexcept override;
  void keep_own(std::span<const double> /*commands*/, std::span<double> /*own*/) noexcept override {
  }

  Eigen::Isometry3d X_WB_ = Eigen::Isometry3d::Identity();
  std::optional<MobileLoop> loop_;
  bool has_begun_ = false;
};

}  // namespace tendril
