#pragma once

#include <mujoco/mujoco.h>

#include <vector>

#include "plugin/robot_names.hpp"

namespace tendril::simulation {

/// Bodies of a scene that belong to robots, driven by a controller (SceneRobot) or not. A robot
/// file declares its base in a tuple `robot`; a scene can declare one by `<custom><tuple
/// name="robot"><element objtype="body" objname="NAME"/></tuple></custom>`. Names of attached
/// robots have a prefix or suffix. A robot consists of the declared body and its subtree; a robot
/// mounted on another one is part of the latter.
class RobotBodies {
 public:
  explicit RobotBodies(const mjModel& model);

  struct Robot {
    RobotNames names;  ///< of its elements
    int base;          ///< body
  };
  /// Returns the robots in the order of their bases.
  [[nodiscard]] const std::vector<Robot>& robots() const noexcept { return robots_; }
  [[nodiscard]] bool empty() const noexcept { return robots_.empty(); }
  /// Returns the base body of the robot to which a body belongs; 0: none.
  [[nodiscard]] int base_of_body(int body) const noexcept {
    return base_[static_cast<std::size_t>(body)];
  }
  /// Returns that of a geom; a number that is no geom, such as -1, belongs to no robot.
  [[nodiscard]] int base_of_geom(int geom) const noexcept {
    const auto i = static_cast<std::size_t>(geom);
    return i < geom_body_.size() ? base_of_body(geom_body_[i]) : 0;
  }
  /// Returns that of the robot that an actuator moves; 0: none.
  [[nodiscard]] int base_of_actuator(int actuator) const noexcept {
    return actuator_base_[static_cast<std::size_t>(actuator)];
  }
  /// Returns whether a contact is between a robot and another object.
  [[nodiscard]] bool meets_surroundings(int geom1, int geom2) const noexcept {
    return (base_of_geom(geom1) != 0) != (base_of_geom(geom2) != 0);
  }

 private:
  std::vector<Robot> robots_;
  std::vector<int> base_;           // per body
  std::vector<int> geom_body_;      // per geom
  std::vector<int> actuator_base_;  // per actuator
};

}  // namespace tendril::simulation
