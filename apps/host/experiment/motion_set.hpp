#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>
#include <vector>

#include "apps/host/experiment/motion.hpp"

namespace tendril::host {

/// The motions of a run, bound to the mocap bodies of a model.
class MotionSet {
 public:
  /// Throws ModelError if a body is missing, is not mocap, or has two motions.
  MotionSet(const mjModel& model, std::span<const Motion> motions);

  /// Writes the poses at `time` to `mocap_pos` and `mocap_quat`; to be called before each step.
  void apply(mjData& data, double time) const noexcept;

 private:
  struct Bound {
    Motion motion;
    int mocap = 0;
    Eigen::Vector3d home;
    Eigen::Quaterniond home_orientation;
  };
  std::vector<Bound> bound_;
};

}  // namespace tendril::host
