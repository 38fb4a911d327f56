#pragma once

#include <Eigen/Geometry>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/arm/arm_chain.hpp"
#include "tendril/estimation/joint_filter.hpp"
#include "tendril/estimation/joint_observations.hpp"
#include "tendril/memory_layout.hpp"
#include "tendril/mobile/speed.hpp"

namespace tendril {

/// What the computer of a mobile robot knows: its platform by a sensor of its pose, the joints of
/// its arm by their encoders, and what follows from them. Each is filtered by itself, with an
/// acceleration whose deviation is a third of the limit of the robot file (JointFilter). What comes
/// late is extrapolated. Tested by: sensed_mobile_test.
class SensedMobile {
 public:
  /// Joints are x, y, heading, then those of the arm, if it has joints.
  struct Parameters {
    JointObservations observations;
    std::vector<std::string> joints;  ///< names, for messages
    MobileSpeedLimits limits;
    double timestep = 0.0;          ///< [s]
    std::optional<ArmChain> chain;  ///< with these joints as coordinates; none: without the tip
  };
  /// Throws ModelError naming a joint that no sensor measures.
  explicit SensedMobile(Parameters parameters);

  /// Numbers of its memory and their places.
  struct Memory {
    explicit Memory(int joints);
    MemoryLayout layout;
    Slot<bool> began;
    Block platform, heading, arm;
  };

  [[nodiscard]] bool has_tip() const noexcept { return parameters_.chain.has_value(); }
  /// Replaces the states of the joints, which are true before the first step, by what follows from
  /// the readings.
  /// @param readings  of all sensors of the engine, one after the other
  /// @param arrived   one flag for each of these sensors
  /// @param next      a copy of the memory, written
  /// @param X_WB      of the frame in which the platform moves
  /// @param X_BE      of the tip, written if there is a chain
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<double> next, const Eigen::Isometry3d& X_WB, std::span<JointState> states,
             Eigen::Isometry3d& X_BE) noexcept;
  /// Sets the positions of which sensors tell, of a robot that has not begun.
  void read_positions(std::span<const double> readings, std::span<const bool> arrived,
                      std::span<JointState> states) noexcept;

 private:
  /// Joints of one filter: platform, heading, arm.
  struct Group {
    JointFilter filter;
    int first;
    Block memory;
  };
  Parameters parameters_;
  Memory memory_;
  std::vector<Group> groups_;
  std::vector<Eigen::Matrix3d> to_now_;  // of each joint, from the time of its readings
  // Scratch.
  std::vector<double> values_;
  ArmMechanics::State state_;
};

}  // namespace tendril
