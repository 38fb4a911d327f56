#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "simulation/experiment/motion.hpp"
#include "simulation/experiment/owned_inputs.hpp"
#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {

/// The motions of a run, bound to the mocap bodies and actuators of a model.
class MotionSet {
 public:
  /// Throws ModelError if a body is missing, is not mocap, or has two motions; likewise an
  /// actuator, also if the controller of a robot drives it or a value is outside its control range.
  MotionSet(const mjModel& model, std::span<const Motion> motions,
            std::span<const SceneRobot> robots = {});

  /// Writes what holds at `time` to `mocap_pos`, `mocap_quat` and `ctrl`; to be called before each
  /// step.
  void apply(mjData& data, double time) const noexcept;

  /// Returns what `apply` writes.
  [[nodiscard]] std::vector<OwnedInput> inputs() const;

 private:
  struct Bound {
    Motion motion;
    int mocap = 0;
    Eigen::Vector3d home;
    Eigen::Quaterniond home_orientation;
  };
  struct Driven {
    Motion motion;
    int control = 0;  ///< its address in `ctrl`
  };
  void bind_actuator(const mjModel& model, const Motion& motion,
                     std::span<const SceneRobot> robots);

  std::vector<Bound> bound_;
  std::vector<Driven> driven_;
};

}  // namespace tendril::simulation
