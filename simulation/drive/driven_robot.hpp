#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "drive/drive_loop.hpp"
#include "drive/robot_message.hpp"
#include "drive/simulated_link.hpp"
#include "plugin/remote_control.hpp"
#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {

struct DriveOptions {
  std::string robot;  ///< prefix of the scene's robot; empty: its only one
  LinkFaults link = {};
  DriveSafety safety = {};
  int command_bits = 0;  ///< resolution of the commands over the range of an actuator; 0: exact
  double cut_at = std::numeric_limits<double>::infinity();   ///< no message comes from then on [s]
  double stop_at = std::numeric_limits<double>::infinity();  ///< emergency stop [s]
};

/// What the electronics of a robot know of the driver on its computer.
[[nodiscard]] RemoteControl::Known known_of(DriveState state, const ControllerReport& report,
                                            const ControllerView& view) noexcept;

/// A robot of a scene that the controller of a robot file drives over a simulated link: the plugin
/// is the robot's electronics, a DriveLoop the robot's computer. What the computer knows of the
/// robot is in the file, what the robot is, in the scene.
class DrivenRobot final : public RemoteControl {
 public:
  /// Takes the robot in `data`, until it is destroyed. Throws ModelError, also for a file whose
  /// sensors or actuators are not those of the scene's robot.
  /// @param seed  of the link's draws
  DrivenRobot(const std::filesystem::path& file, const mjModel& model, mjData& data,
              DriveOptions options, std::uint64_t seed);
  ~DrivenRobot() override;
  DrivenRobot(const DrivenRobot&) = delete;
  DrivenRobot& operator=(const DrivenRobot&) = delete;

  void exchange(const Sent& sent, std::span<double> commands) noexcept override;
  [[nodiscard]] Known known() const noexcept override;

  [[nodiscard]] const RobotNames& names() const noexcept { return names_; }
  [[nodiscard]] const DriveLoop& loop() const noexcept { return *loop_; }
  /// Addresses of the robot's commands in ctrl.
  [[nodiscard]] std::span<const int> controls() const noexcept { return controls_; }
  /// Messages of the computer that came too late or never.
  [[nodiscard]] long lost_commands() const noexcept { return lost_commands_; }

 private:
  const mjModel& model_;
  mjData& data_;
  DriveOptions options_;
  RobotNames names_;
  std::unique_ptr<RobotDriver> driver_;
  std::unique_ptr<DriveLoop> loop_;
  std::unique_ptr<RobotMessage> message_, received_message_;
  std::unique_ptr<SimulatedLink> up_, down_;
  std::vector<double> sent_, received_, commands_, received_commands_;
  std::vector<int> controls_;
  long lost_commands_ = 0;
};

}  // namespace tendril::simulation
