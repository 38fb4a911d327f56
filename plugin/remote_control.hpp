#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Geometry>
#include <span>

#include "controllers/interface/controller_view.hpp"
#include "plugin/robot_names.hpp"

namespace tendril {

/// A controller elsewhere, on the other side of a link, which drives a robot of the model instead
/// of the one of its plugin. The plugin is the robot's electronics then: it reads the sensors and
/// gives the actuators their commands. What the instance keeps in `plugin_state` has nothing of
/// that controller.
class RemoteControl {
 public:
  virtual ~RemoteControl() = default;

  /// What the robot sends in a step.
  struct Sent {
    double time;                       ///< [s]
    std::span<const double> readings;  ///< of all sensors, one after the other
    std::span<const bool> arrived;     ///< one flag for each
    std::span<const double> drives;    ///< ArmLoop::DriveReading
    /// In the frame of a base that stands, else in the world; null: the robot has none.
    const Eigen::Isometry3d* target;
  };
  /// Exchanges one message each way. On entry `commands` are those in force. Allocates nothing.
  virtual void exchange(const Sent& sent, std::span<double> commands) noexcept = 0;

  /// What is known here of the controller after an exchange; its report says what it sees.
  struct Known {
    ControllerStatus status = ControllerStatus::Working;
    const ControllerReport* report = nullptr;
    ControllerView view = {};  ///< nothing: it has not commanded anything
    /// The model is in the pose that the controller sees, of a robot elsewhere: it knows no more of
    /// the tip's error.
    bool model_is_seen = false;
  };
  [[nodiscard]] virtual Known known() const noexcept = 0;
};

/// Lets a remote controller drive the robot with these names in `d`, from the next step on; null:
/// its own controller does again. Throws ModelError if no controller of this library has such a
/// robot.
/// @param remote  must outlive it
///
/// The engine's plugins may be those of another library than this program's, libtendril.so: then
/// it is asked, if it is of the same build.
void set_remote_control(const mjModel* m, mjData* d, const RobotNames& names,
                        RemoteControl* remote);

/// What libtendril.so exports for it.
using SetRemoteControl = const char*(const char* build, const mjModel* m, mjData* d,
                                     const char* prefix, const char* suffix, RemoteControl* remote);
inline constexpr const char* kSetRemoteControl = "tendril_set_remote_control";
/// The same for the plugins of this library. Returns what is wrong, or null.
[[nodiscard]] const char* set_own_remote_control(const char* build, const mjModel* m, mjData* d,
                                                 const char* prefix, const char* suffix,
                                                 RemoteControl* remote) noexcept;

}  // namespace tendril
