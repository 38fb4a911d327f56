#pragma once

#include <memory>

#include "controllers/controller_kind.hpp"
#include "controllers/interface/arm_controller.hpp"
#include "tendril/model/continuum/description.hpp"

namespace tendril {

struct ArmTiming {
  double timestep;                ///< of the steps of its controller [s]
  double numerical_damping_time;  ///< Mechanism::numerical_damping_time [s]
};

/// Makes an arm's controller; null: the kind controls other robots. Throws ModelError, also for one
/// whose commands the arm's actuators cannot follow.
[[nodiscard]] std::unique_ptr<ArmController> make_arm_controller(
    const ControllerKind& kind, const Settings& settings, const ContinuumDescription& description,
    const ArmTiming& timing, SceneQuery& scene);

/// Throws ModelError for a controller that works by contacts of which the robot's sensors do not
/// tell.
void require_sensed_contacts(const ControllerKind& kind, ContactNeed contacts,
                             const ContinuumDescription& description);

}  // namespace tendril
