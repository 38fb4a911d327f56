#pragma once

#include <mujoco/mujoco.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulation/engine/engine.hpp"
#include "tendril/fault.hpp"

namespace tendril::simulation {

/// Faults of the body and its surroundings: they change the model, or the forces on a body, at the
/// beginning of steps. Controllers keep the numbers of the model that their data was made with.
/// What a fault has changed is exactly what it was when the fault ends.
class PhysicalFaults {
 public:
  /// Takes the present numbers of the model as those without faults. Faults of measurements and
  /// delays of actuators are left out: load_scene applies them. Throws ModelError for a pattern
  /// that matches nothing, and for what an element does not have.
  PhysicalFaults(std::span<const Fault> faults, const mjModel& model);

  [[nodiscard]] bool empty() const noexcept { return faults_.empty(); }

  /// One more fault, between two steps; nothing for a fault of a measurement or a delay of
  /// actuators. Throws ModelError as the constructor.
  void add(const Fault& fault, const mjModel& model);
  /// The next step begins without this fault.
  void end(const std::string& name);
  /// Gives the present model its numbers without faults back and changes `next`, which has them, in
  /// its place.
  void move(mjModel& present, mjModel& next);

  /// Before each step; the model must be the one of the constructor, or equal to it.
  void apply(mjModel& model, mjData& data);

  /// Times at which a fault begins or ends, in order [s].
  [[nodiscard]] std::vector<double> change_times() const;
  /// Actuators whose setpoints are held from `start` to `end` [s].
  struct Stuck {
    std::vector<int> actuators;
    double start, end;
  };
  /// Leaves the stuck actuators, in the order of the faults, to the caller.
  [[nodiscard]] std::vector<Stuck> take_stuck();

 private:
  struct Entry {
    Fault fault;
    std::vector<int> elements;  // actuators, geoms, bodies
    std::vector<int> tendons;   // of a stiffness; its elements are joints
    bool active = false;
    std::vector<double> held;  // setpoints of stuck actuators
  };

  struct Finder;
  struct Changer;

  static void hold_setpoints(Entry& entry, const mjModel& model, const mjData& data);
  void set_forces(mjData& data) const;
  void change_active(mjModel& model);
  void restore();
  void set(mjtNum& place, mjtNum value);

  std::vector<Entry> faults_;
  std::vector<std::pair<mjtNum*, mjtNum>> original_;  // of what is changed, in the order of changes
  bool constants_changed_ = false;
  DataPtr scratch_;  // for constants of the model
};

}  // namespace tendril::simulation
