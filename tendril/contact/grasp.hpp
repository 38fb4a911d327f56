#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/planar_scene.hpp"

// Read wrapping.hpp first.

namespace tendril {

/// What is to be held, and how far the body should go round it.
struct GraspGoal {
  int object = 0;           ///< index of the obstacle: a disc or a convex polygon
  double wrap_angle = 0.0;  ///< desired turn of the body round it, from where it first touches, in
                            ///< (0, 2 pi) [rad]
  std::optional<BodySide> side =
      std::nullopt;  ///< side of the body the object is on; both if not given
};

/// Why the hug ends where it does.
enum class GraspEnd {
  Complete,     ///< the desired angle
  LengthLimit,  ///< the body is used up
};
[[nodiscard]] const char* to_string(GraspEnd end) noexcept;

struct GraspSolution {
  std::span<const ContactStep> steps{};  ///< approach and hug; valid until the planner's next plan
  int approach_steps = 0;                ///< the last of them ends at the object
  double wrap_angle = 0.0;               ///< achieved turn round the object [rad]
  GraspEnd end = GraspEnd::Complete;
  double length = 0.0;         ///< [m]
  double max_curvature = 0.0;  ///< [1/m]
  double min_clearance = 0.0;  ///< [m]; 0 round the object but for rounding
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
  /// Largest turn that the body has room for round the object where SelfContact refused more [rad];
  /// 0 if it never did.
  double largest_wrap_angle = 0.0;
};

/// Grasping: reaches an object as if it were a contact, by any chain, then goes round it. Round a
/// disc the hug is one arc at distance 0:
///
///     k = sigma / c,   length c W,   c = R + r
///
/// round a polygon a chain of arcs, each tangent to the next corner, with free spans between. All
/// rules of wrapping hold, between approach and hug too; `max_bend` does not apply to a hug round a
/// disc, and `min_contacts` counts the contacts before the object. The hug may not overlap the rest
/// of the body: nowhere does it come nearer to itself than 2 r once it has gone away by that much.
/// The hug is our own addition to the sources.
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
  /// Adds an arc of the hug as far as the length lets it; its chain, or -1. Sets `full` if it is
  /// all there.
  int lay(int chain, const PlanarArc& arc, BodySide side, double rotated, bool waive_bend,
          bool& full);
  void keep(const Hold& hold);

  std::unique_ptr<ContactTree> tree_;
  std::vector<Hold> holds_;
  std::vector<GraspSolution> solutions_;
  std::vector<ContactStep> steps_, body_;
  double largest_wrap_angle_ = 0.0;
  GraspResult result_;
};

/// How far along the newest arc of a body (the last of `steps`) the body keeps clear of itself [m]:
/// once two of its points are 2 `body_radius` apart, no later one comes nearer.
/// Source: derived in docs/planning.md. Found by marching; a nearer spot that lasts less than
/// body_radius / 50 may be missed.
[[nodiscard]] double self_clear_length(std::span<const ContactStep> steps,
                                       double body_radius) noexcept;

}  // namespace tendril
