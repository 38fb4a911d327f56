#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planar_scene.hpp"

// Read contact_planner.hpp first.

namespace tendril {

/// Object to be grasped, and how far around it the body should be wrapped.
struct GraspGoal {
  int object = 0;           ///< index of the obstacle: a disc or a convex polygon
  double wrap_angle = 0.0;  ///< desired angle of the body around it, from the first contact on, in
                            ///< (0, 2 pi) [rad]
  std::optional<BodySide> side =
      std::nullopt;  ///< side of the body the object is on; both if not given
};

/// Why the wrap ends where it does.
enum class GraspEnd {
  Complete,     ///< the desired angle
  LengthLimit,  ///< the body is used up
};
[[nodiscard]] const char* to_string(GraspEnd end) noexcept;

struct GraspSolution {
  std::span<const ContactStep> steps{};  ///< approach and wrap; valid until the planner's next plan
  int approach_steps = 0;                ///< the last of them ends at the object
  double wrap_angle = 0.0;               ///< achieved angle around the object [rad]
  GraspEnd end = GraspEnd::Complete;
  double length = 0.0;         ///< [m]
  double max_curvature = 0.0;  ///< [1/m]
  double min_clearance = 0.0;  ///< [m]; 0 around the object, up to rounding
};

/// Views of the planner's memory, valid until its next plan. Status TargetInObstacle does not
/// occur.
struct GraspResult {
  ContactPlannerStatus status = ContactPlannerStatus::NoSolution;
  std::span<const GraspSolution> solutions;  ///< in the order of ContactPlannerResult
  std::span<const RefusedArc> refused;
  std::array<long, kContactRefusalCount> refusal_counts{};
  long arcs_tried = 0;
  long chains = 0;
  /// Largest angle that the body has room for around the object where SelfContact refused more
  /// [rad]; 0 if it never did.
  double largest_wrap_angle = 0.0;
};

/// Reaches an object as if it were a contact, by any chain, then wraps the body around it. Around a
/// disc the wrap is one arc at distance 0:
///
///     k = sigma / c,   length c W,   c = R + r
///
/// around a polygon a chain of arcs, each tangent to the next corner, with free spans between. All
/// rules of the contact planner hold, between approach and wrap too; `max_bend` does not apply to a
/// wrap around a disc, and `min_contacts` counts the contacts before the object. The wrap may not
/// overlap the rest of the body: no point comes closer than 2 r to an earlier one that it has once
/// been that far from. The wrap is our own addition to the sources.
class GraspPlanner {
 public:
  explicit GraspPlanner(const ContactPlannerOptions& options = {});
  ~GraspPlanner();
  GraspPlanner(GraspPlanner&&) noexcept;
  GraspPlanner& operator=(GraspPlanner&&) noexcept;

  /// Throws ModelError as ContactPlanner::plan does, and for a goal that is no obstacle of the
  /// scene, no convex one, or a wrap angle out of range.
  const GraspResult& plan(const PlanarScene& scene, std::span<const ContactPoint> contacts,
                          const PlanarPose& base, const GraspGoal& goal);

  /// The steps of a refused arc's chain, of the last plan.
  [[nodiscard]] std::vector<ContactStep> chain_steps(int chain) const;

  [[nodiscard]] const ContactPlannerOptions& options() const noexcept;

 private:
  struct Hold {
    int chain;
    int approach_steps;
    double wrap_angle;
    GraspEnd end;
  };

  void reach_disc(int chain, const Disc& disc, BodySide side, double wrap_angle);
  void reach_polygon(int chain, const Polygon& polygon, BodySide side, double wrap_angle);
  /// Adds an arc of the wrap as far as the body is long enough; its chain, or -1. `wrapped`: the
  /// angle so far [rad]. Sets `full` if all of the arc is there.
  int try_wrap(int chain, const PlanarArc& arc, BodySide side, double wrapped, bool waive_bend,
               bool& full);
  void keep(const Hold& hold);
  void collect_solutions(const PlanarScene& scene);

  std::unique_ptr<ContactTree> tree_;
  std::vector<Hold> holds_;
  std::vector<GraspSolution> solutions_;
  std::vector<ContactStep> steps_, body_;
  double largest_wrap_angle_ = 0.0;
  GraspResult result_;
};

/// Returns the length along the newest arc of a body (the last of `steps`) on which the body is
/// clear of itself [m]: once two of its points are 2 `body_radius` apart, no later one comes
/// nearer.
/// Found by marching; an overlap shorter than body_radius / 50 may be missed.
/// docs/guide/plan_contact.md.
[[nodiscard]] double self_clear_length(std::span<const ContactStep> steps,
                                       double body_radius) noexcept;

}  // namespace tendril
