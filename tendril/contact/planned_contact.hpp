#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/contact/contact_planner.hpp"

namespace tendril {

/// A contact of a plan with an obstacle: the body's backbone is tangent to a disc.
struct PlannedContact {
  Eigen::Vector2d center{0.0, 0.0};    ///< of a disc, or a polygon's corner [m]
  double radius = 0.0;                 ///< of the disc, or 0 for a corner, plus the body radius [m]
  BodySide side = BodySide::Positive;  ///< of the body on which the obstacle lies
};

/// The arcs of a chain of `ContactPlanner`.
[[nodiscard]] std::vector<PlanarArc> planned_arcs(std::span<const ContactStep> steps);

/// The contacts at which the arcs of a chain end, in its order; `points` are those that were given
/// to the planner. Throws ModelError for a contact index that `points` does not have.
[[nodiscard]] std::vector<PlannedContact> planned_contacts(std::span<const ContactStep> steps,
                                                           std::span<const ContactPoint> points,
                                                           double body_radius);

/// The obstacle whose surface is nearest to the contact's disc; -1 in an empty scene.
[[nodiscard]] int contact_obstacle(const PlanarScene& scene, const PlannedContact& contact,
                                   double body_radius) noexcept;

}  // namespace tendril
