#pragma once

#include <Eigen/Core>
#include <limits>
#include <span>
#include <vector>

#include "tendril/planning/elastic_rod.hpp"
#include "tendril/planning/wrapping.hpp"

namespace tendril {

/// A place where a plan leans on an obstacle: the body's centreline runs tangent to a disc.
struct PlannedContact {
  Eigen::Vector2d centre{0.0, 0.0};    ///< of a post, or a polygon's corner [m]
  double radius = 0.0;                 ///< of the post, or 0 for a corner, plus the body radius [m]
  BodySide side = BodySide::Positive;  ///< of the body on which the obstacle lies
};

/// What became of a planned contact.
struct ContactState {
  bool loaded = false;                                   ///< otherwise it is open
  double force = 0.0;                                    ///< [N]
  double gap = std::numeric_limits<double>::infinity();  ///< between body and obstacle [m]
  double arc_length = 0.0;  ///< of the body's point nearest to it, from the base [m]
};

/// The arcs of a chain, as `WrapPlanner` gives it.
[[nodiscard]] std::vector<PlanarArc> planned_arcs(std::span<const WrapStep> steps);

/// The contacts at which the arcs of a chain end, in its order; `points` are those that were given
/// to the planner. Throws ModelError for a contact index that `points` does not have.
[[nodiscard]] std::vector<PlannedContact> planned_contacts(std::span<const WrapStep> steps,
                                                           std::span<const ContactPoint> points,
                                                           double body_radius);

/// The obstacle whose surface `contact` touches best; -1 in an empty scene.
[[nodiscard]] int contact_obstacle(const PlanarScene& scene, const PlannedContact& contact,
                                   double body_radius) noexcept;

/// The body's point nearest to the contact's disc and, if the body leans on it there, the force.
/// `index` becomes that of the solution's contact, or -1.
[[nodiscard]] ContactState contact_state(const ElasticRod& rod, const RodSolution& solution,
                                         const PlannedContact& contact,
                                         int* index = nullptr) noexcept;

}  // namespace tendril
