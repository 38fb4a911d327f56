#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/contact/planar_scene.hpp"
#include "tendril/contact/planned_contact.hpp"

namespace tendril {

/// A planned path of a body in contact with obstacles, with all that its execution needs.
struct ContactPlan {
  PlanarPose base;           ///< of the clamp, or of the end of the guide
  double body_radius = 0.0;  ///< [m]
  /// Chained arcs from the base to the target; arc i ends at contact i, the last one at the target.
  std::vector<PlanarArc> arcs;
  std::vector<PlannedContact> contacts;
  PlanarScene scene;

  [[nodiscard]] Eigen::Vector2d target() const noexcept { return arcs.back().end().position; }
};

/// The plan as lines of words and numbers (m, rad, 1/m), as `tendril plan --plan` writes it:
///
///     base X Z HEADING
///     body_radius R
///     disc X Z RADIUS               obstacles: discs
///     polygon X Z X Z X Z ...       and polygons
///     arc CURVATURE LENGTH          in order
///     contact X Z RADIUS SIDE       of disc center; radius with that of the body; side 1 or -1
///
/// `#` begins a comment. Numbers with all their digits: reading gives the same plan.
[[nodiscard]] std::string contact_plan_text(const ContactPlan& plan);

/// Throws ModelError `<name>: line 3: arc: length = -1: must be ...`.
[[nodiscard]] ContactPlan parse_contact_plan(std::string_view text, const std::string& name);

}  // namespace tendril
