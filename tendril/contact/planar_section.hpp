#pragma once

#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planar_scene.hpp"
#include "tendril/geometry/solid.hpp"

namespace tendril {

/// Solids as an arm of one plane meets them.
struct PlanarSection {
  PlanarScene scene;                   ///< (x, z) is the plane's
  std::vector<int> solid;              ///< of each obstacle: its index in the list
  std::vector<ContactPoint> contacts;  ///< that the obstacles offer, within reach
};

/// The obstacles that solids, in the frame of an arm's base, are for a body of `body_radius` around
/// a backbone in the plane y = 0.
/// Spheres, and cylinders and capsules across the plane, are discs. What is convex otherwise is
/// represented by the outline of its part within 0.95 body radii of the plane (round ones by 32
/// corners), which holds what the body can touch; of a mesh that is not convex, it is its section
/// with the plane, hollows filled. A half-space that is parallel to the plane, or a solid farther
/// away, is no obstacle. Contact points farther than `reach` [m] from the origin are left out.
/// Throws ModelError naming an ellipsoid, or a half-space that contains the plane.
/// docs/guide/plan_contact.md, "Contacts from the scene". Held by: planar_section_test.
[[nodiscard]] PlanarSection planar_section(const std::vector<Solid>& solids, double body_radius,
                                           double reach);

}  // namespace tendril
