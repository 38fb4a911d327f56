#pragma once

#include <mujoco/mujoco.h>

namespace tendril {

/// Bodies under the cursor, the selected one, and what the mouse does to it: targets are moved,
/// others pulled and rotated.
class MouseForce {
 public:
  /// Position of the cursor in an image of the scene, in pixels from its lower left.
  struct Cursor {
    double x, y;
    mjrRect viewport;
  };
  /// A body, and a point of it in its coordinates. -1: none.
  struct Hit {
    int body = -1;
    mjtNum point[3] = {0, 0, 0};
  };

  MouseForce() { forget(); }

  /// Forgets everything, for another scene.
  void forget();

  [[nodiscard]] static bool is_target(const mjModel& model, int body) {
    return body > 0 && model.body_mocapid[body] >= 0;
  }
  /// The target near the cursor, also if inside another body; otherwise the body under it.
  [[nodiscard]] static Hit find(const mjModel& model, const mjData& data, const mjvOption& view,
                                const mjvScene& scene, const Cursor& cursor);

  [[nodiscard]] const mjvPerturb& perturb() const noexcept { return perturb_; }
  [[nodiscard]] int selected() const noexcept { return perturb_.select; }  ///< body; 0: none
  void select(const Hit& hit);
  void select_next_target(const mjModel& model);

  /// Begins to move the selected body, or to rotate it.
  void begin(const mjModel& model, mjData& data, const mjvScene& scene, bool rotates);
  void move(const mjModel& model, const mjData& data, const mjvScene& scene, double dx, double dy,
            bool shift, bool right);
  void end() { perturb_.active = 0; }
  [[nodiscard]] bool is_active() const noexcept {
    return perturb_.active != 0 && perturb_.select > 0;
  }

  /// Acts in a step: the engine's perturbation, but a pull by a spring that is scaled to the whole
  /// robot; the engine's is scaled to one light link.
  void act(const mjModel& model, mjData& data);
  /// Moves what is dragged while the simulation is paused.
  void move_paused(const mjModel& model, mjData& data) const;
  [[nodiscard]] double pull_force() const noexcept { return pull_force_; }  ///< [N]

 private:
  mjvPerturb perturb_{};
  double pull_force_ = 0.0;  ///< [N]
  int pulled_body_ = 0;
};

}  // namespace tendril
