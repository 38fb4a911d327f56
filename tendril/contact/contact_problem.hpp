#pragma once

#include <vector>

#include "tendril/contact/contact_plan.hpp"
#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planar_section.hpp"

namespace tendril {

/// Properties, as a plan with contacts needs them, of an arm that is fed out of a straight guide
/// along the z axis of its base, and bends in the base's x-z plane.
struct FedArm {
  double body_radius = 0.01;    ///< [m], > 0
  double guide_length = 0.0;    ///< the guide ends there; 0: the arm is clamped at its base [m]
  double start_length = 0.0;    ///< past the guide when it is not fed [m]
  double max_length = 1.0;      ///< past the guide [m], > 0
  double max_curvature = 15.0;  ///< [1/m], > 0
};

/// A target among obstacles, to be reached in contact with them.
struct ContactProblem {
  PlanarScene scene;
  std::vector<ContactPoint> contacts;
  PlanarPose base;  ///< the end of the guide; (x, z - guide_length) of the arm's base
  Eigen::Vector2d target{0.0, 0.0};
  ContactPlannerOptions options;
};

/// The problem that a scene poses: `solids` and `target` in the frame of the arm's base. Throws
/// ModelError, in one line, for a target off the plane of motion, out of reach or in a solid,
/// and for solids that overlap the arm where it starts.
/// @param max_contacts  of a path, >= 0
[[nodiscard]] ContactProblem contact_problem(const std::vector<Solid>& solids,
                                             const Eigen::Vector3d& target, const FedArm& arm,
                                             int max_contacts);

/// The paths of the contact planner, in its order; then those that hold by the rule `Local` alone.
/// @param most  plans that are returned at most, >= 1
[[nodiscard]] std::vector<ContactPlan> contact_plans(const ContactProblem& problem, int most);

}  // namespace tendril
