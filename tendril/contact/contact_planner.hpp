#pragma once

#include <Eigen/Core>
#include <array>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/contact/planar_scene.hpp"

// Reaches around obstacles in contact with them: every chain of arcs from the base to the target
// whose curvature changes at contact points. docs/guide/plan_contact.md has images.

namespace tendril {

/// Something that the body may touch and bend further at: a disc, or a corner (of radius 0).
struct ContactPoint {
  Disc disc;
  /// Desired place of the contact on the surface [m], to within `slack` [m]; anywhere if not given.
  std::optional<Eigen::Vector2d> desired = std::nullopt;
  double slack = 0.0;
};

/// The contact points that an obstacle offers: the disc itself, or the convex corners of a polygon
/// in its order.
[[nodiscard]] std::vector<ContactPoint> contact_points_of(const PlanarObstacle& obstacle);

/// Rule for the later arcs that a contact must hold against. A contact on side sigma, met by an arc
/// of curvature k, holds while sigma (k' - k) >= 0, k' being the actuation.
enum class ContactRule {
  Persistent,  ///< every earlier contact against every later arc: one actuation bends the whole
               ///< body
  Local        ///< the newest contact only
};
[[nodiscard]] const char* to_string(ContactRule rule) noexcept;

enum class ContactSearch {
  Exhaustive,  ///< every chain, fewer contacts first
  /// Search for many contact points. The chain with the smallest lower bound of its length comes
  /// first. A chain is left out if another one ends at the same contact with nearly the same
  /// heading (1 deg) and is no longer, in no later section, and restricted by no more contacts; so
  /// is a contact from which `max_length` cannot reach the target. The shortest path is found up to
  /// the effect of such a change of heading; other paths may be missing.
  Pruned
};
[[nodiscard]] const char* to_string(ContactSearch search) noexcept;

/// Limits of the body and of the search; checked by the planners' constructors.
struct ContactPlannerOptions {
  double body_radius = 0.01;           ///< [m], in [0, 1e9]
  double max_curvature = 15.0;         ///< [1/m], > 0
  double max_bend = std::numbers::pi;  ///< of each arc [rad], in (0, 2 pi]
  double max_length = 1.5;             ///< of the whole body [m], > 0
  double tolerance = 1e-6;             ///< overlap that counts as touching [m], > 0
  ContactRule rule = ContactRule::Persistent;
  ContactSearch search = ContactSearch::Exhaustive;
  /// Separately actuated sections, each of any length, >= 1. The rule acts between the
  /// arcs of one section only; a section ends at a contact, and as late as the rule lets it.
  int section_count = 1;
  int min_contacts = 0;                                ///< solutions with fewer are left out, >= 0
  int max_contacts = std::numeric_limits<int>::max();  ///< longer chains are not tried, >= 0
  int max_arcs = 200'000;    ///< budget: arcs tried, >= 1; spent: status Partial
  int max_chains = 20'000;   ///< memory: chains stored, >= 1; full: status Partial
  int max_solutions = 1000;  ///< memory: solutions stored, >= 1; full: status Partial
  int max_refusals = 2000;   ///< refused arcs that are listed, >= 0; all are counted
};

enum class ContactType {
  None,              ///< the arc ends at the target, or free
  ForwardLimiting,   ///< sigma k >= 0, obstacle on the concave side: the next arc bends more
  BackwardLimiting,  ///< sigma k < 0, on the convex side: the next arc unbends or bends the other
                     ///< way
};
[[nodiscard]] const char* to_string(ContactType type) noexcept;

inline constexpr int kTargetContact = -1;  ///< the arc ends at the target
inline constexpr int kObjectContact = -2;  ///< the arc ends at the object to be grasped
inline constexpr int kWrapped = -3;        ///< the arc is wrapped around the object to be grasped

/// One arc of a chain and what it ends at.
struct ContactStep {
  PlanarArc arc;
  int contact = kTargetContact;  ///< index into the contact points, or one of the above
  int side = 0;                  ///< sigma: of the body that the contact is on; 0 without contact
  ContactType type = ContactType::None;
  int section = 0;  ///< from 0; 0 for all with `section_count` 1
};

struct ContactSolution {
  std::span<const ContactStep> steps{};  ///< from the base; valid until the planner's next plan
  double length = 0.0;                   ///< [m]
  double max_curvature = 0.0;            ///< [1/m], largest magnitude
  double min_clearance = 0.0;            ///< [m]; >= -tolerance; infinite without obstacles
};

/// Why an arc belongs to no chain; tested in this order.
enum class ContactRefusal {
  InsideContact,  ///< the chain so far ends inside the contact's disc
  NoArc,          ///< no arc leads there: straight behind, or a full circle away
  Curvature,
  Bend,
  Length,
  TooShort,  ///< below 0.1 mm
  Rule,
  WrongSide,    ///< of a body without radius: the obstacle is on the other side of the contact
  Slack,        ///< touches too far from where it is desired
  Obstacle,     ///< collides
  SelfContact,  ///< grasping: the body would overlap itself
};
inline constexpr int kContactRefusalCount = 11;
[[nodiscard]] const char* to_string(ContactRefusal refusal) noexcept;

struct RefusedArc {
  PlanarArc arc;  ///< as far as it was known; of length 0 when there is none
  int contact = kTargetContact;
  int side = 0;
  ContactRefusal reason = ContactRefusal::NoArc;
  int obstacle = -1;  ///< the one that it collides with; -1 for other reasons
  int chain = 0;      ///< the chain that it would have continued, for `chain_steps`
};

enum class ContactPlannerStatus {
  Solved,
  NoSolution,
  Partial,  ///< the budget or the memory ended the search: there may be more solutions
  BaseInObstacle,
  TargetInObstacle
};
[[nodiscard]] const char* to_string(ContactPlannerStatus status) noexcept;

/// Views of the planner's memory, valid until its next plan.
struct ContactPlannerResult {
  ContactPlannerStatus status = ContactPlannerStatus::NoSolution;
  /// Fewer contacts first, then shorter, then smaller largest curvature (both to 1e-9), then by the
  /// list of contacts and sides.
  std::span<const ContactSolution> solutions;
  std::span<const RefusedArc> refused;                      ///< at most `max_refusals`
  std::array<long, kContactRefusalCount> refusal_counts{};  ///< by ContactRefusal
  std::span<const ContactStep> deepest;  ///< the chain with most contacts that was reached
  long arcs_tried = 0;
  long chains = 0;  ///< that led to a contact
};

class ContactTree;

/// Reaches targets around obstacles by touching them (source: [FABRIKx] sec. 2.5, 3.3). The body is
/// one planar extensible section of constant curvature between contacts; what lies before a contact
/// keeps its shape. The search is exhaustive and finds all solutions (fewer for many contact
/// points, `ContactSearch`):
///
///     level 0: the base.   For every chain of a level, from its end pose:
///       the chord arc to the target              -> a solution
///       the tangent arcs to each unused contact  -> a chain of the next level
///
/// Differs from the source: its graph of contact points is a tree here, since the heading at a
/// point depends on the path there; the body has a radius; `Persistent` is the default rule.
/// Memory is allocated in the constructor; plans allocate nothing unless there are more contact
/// points than ever before. The solutions do not depend on the order of obstacles or contact points
/// (other than by their indices), nor on earlier plans.
class ContactPlanner {
 public:
  /// Throws ModelError `contact planner options: max_bend = 0 rad, must be ...`.
  explicit ContactPlanner(const ContactPlannerOptions& options = {});
  ~ContactPlanner();
  ContactPlanner(ContactPlanner&&) noexcept;
  ContactPlanner& operator=(ContactPlanner&&) noexcept;

  /// All chains from `base` to `target` [m]. Contact points listed twice (within 1e-9 m) count
  /// once, as the first of them. Throws ModelError when a number is not finite or above 1e9 m or
  /// a radius or slack is negative, naming it: `contact planner: target = (nan, 0) m, must be ...`.
  const ContactPlannerResult& plan(const PlanarScene& scene, std::span<const ContactPoint> contacts,
                                   const PlanarPose& base, const Eigen::Vector2d& target);

  /// The steps of a refused arc's chain, of the last plan.
  [[nodiscard]] std::vector<ContactStep> chain_steps(int chain) const;

  [[nodiscard]] const ContactPlannerOptions& options() const noexcept;

 private:
  std::unique_ptr<ContactTree> tree_;
  std::vector<int> goals_;
  std::vector<ContactSolution> solutions_;
  std::vector<ContactStep> steps_, deepest_;
  ContactPlannerResult result_;
};

}  // namespace tendril
