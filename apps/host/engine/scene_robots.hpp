#pragma once

#include <mujoco/mujoco.h>

#include <string>
#include <vector>

namespace tendril::host {

/// Which bodies of a scene belong to robots. A robot file declares its base in a tuple `robot`; a
/// scene of its own declares one with `<custom><tuple name="robot"><element objtype="body"
/// objname="NAME"/></tuple></custom>`. Attached, the names have the prefix. A robot is the body
/// declared and all below it; one that is mounted on another is a part of that.
class SceneRobots {
 public:
  explicit SceneRobots(const mjModel& model);

  struct Robot {
    std::string prefix;  ///< of its elements, "A_"; empty without one
    int base;            ///< body
  };
  /// In the order of their bases.
  [[nodiscard]] const std::vector<Robot>& robots() const noexcept { return robots_; }
  [[nodiscard]] bool empty() const noexcept { return robots_.empty(); }
  /// Body of the base of the robot that a body belongs to; 0: none.
  [[nodiscard]] int base_of_body(int body) const noexcept {
    return base_[static_cast<std::size_t>(body)];
  }
  /// The same of a geom; -1, what is no geom, belongs to none.
  [[nodiscard]] int base_of_geom(int geom) const noexcept {
    return geom < 0 ? 0 : base_of_body(geom_body_[static_cast<std::size_t>(geom)]);
  }
  /// Whether a contact is between a robot and something else.
  [[nodiscard]] bool meets_surroundings(int geom1, int geom2) const noexcept {
    return (base_of_geom(geom1) != 0) != (base_of_geom(geom2) != 0);
  }

 private:
  std::vector<Robot> robots_;
  std::vector<int> base_;       // per body
  std::vector<int> geom_body_;  // per geom
};

}  // namespace tendril::host
