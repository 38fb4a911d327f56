#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tendril/contact/contact_planner.hpp"

// For the sources of the planners with contact; their users do not need it.
namespace tendril {

/// The tree of all admissible chains of arcs, level by level. `name` begins error messages.
class ContactTree {
 public:
  ContactTree(std::string name, const ContactPlannerOptions& options);

  /// Clears the tree; `aim` is what chains are to reach. Throws as ContactPlanner::plan does.
  void begin(const PlanarScene& scene, std::span<const ContactPoint> contacts,
             const PlanarPose& base, const Disc& aim);

  /// Grows chains by unused contact points until there are none; calls `goal(chain)` once for each
  /// chain. Chains with fewer contacts come first; in the pruned search those that may be shortest,
  /// and `goal` is called as soon as a chain is made.
  template <class Goal>
  void grow(const Goal& goal) {
    const bool pruned = options_.search == ContactSearch::Pruned;
    if (pruned) goal(0);
    for (int chain = next_chain(); chain >= 0 && !exhausted_; chain = next_chain()) {
      if (!pruned) goal(chain);
      if (step_count(chain) >= options_.max_contacts) continue;
      for (const int contact : order_) {
        if (exhausted_) break;
        if (uses(chain, contact) || is_too_far(chain, contact)) continue;
        for (const BodySide side : {BodySide::Positive, BodySide::Negative}) {
          const int longer = try_contact(chain, contact, side);
          if (longer >= 0 && add_to_frontier(longer) && pruned) goal(longer);
        }
      }
    }
  }

  enum class BendLimit { Applies, Waived };

  /// Index of the chain that continues by this arc, or -1: it is refused (and counted).
  int try_arc(int chain, const PlanarArc& arc, int contact, int side,
              BendLimit bend_limit = BendLimit::Applies);
  /// The arc from the end of `chain` that is tangent to a disc that the body (not its backbone)
  /// touches.
  int try_tangent(int chain, const Disc& disc, int contact, BodySide side);
  void refuse(int chain, const PlanarArc& arc, int contact, int side, ContactRefusal reason);

  [[nodiscard]] const ContactPlannerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const PlanarScene& scene() const noexcept { return *scene_; }
  [[nodiscard]] PlanarPose end_pose(int chain) const noexcept { return node(chain).end; }
  [[nodiscard]] double length(int chain) const noexcept { return node(chain).length; }
  [[nodiscard]] double max_curvature(int chain) const noexcept { return node(chain).max_curvature; }
  [[nodiscard]] int step_count(int chain) const noexcept { return node(chain).depth; }
  /// Writes the steps of the chain, from the base, to the end of `steps`.
  void append_steps(int chain, std::vector<ContactStep>& steps) const;
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
  void set_exhausted() noexcept { exhausted_ = true; }
  /// Chain with most contacts.
  [[nodiscard]] int deepest() const noexcept { return deepest_; }
  [[nodiscard]] std::span<const RefusedArc> refused() const noexcept { return refused_; }
  [[nodiscard]] const std::array<long, kContactRefusalCount>& refusal_counts() const noexcept {
    return refusal_counts_;
  }
  [[nodiscard]] long arcs_tried() const noexcept { return arcs_tried_; }
  [[nodiscard]] long chains() const noexcept { return chains_ - 1; }
  /// Throws ModelError `<name>: <what> = (x, z) m, must be ...` unless the point is usable.
  void require_point(const std::string& what, const Eigen::Vector2d& point) const;

 private:
  struct Node {
    ContactStep step{};
    PlanarPose end{};
    int parent = -1;
    int depth = 0;          ///< arcs from the base
    int section_start = 1;  ///< depth of the first arc of the newest arc's section
    double length = 0.0;
    double max_curvature = 0.0;
    /// Curvatures that the contacts of the newest section allow (pruned search).
    double least_next = -std::numeric_limits<double>::infinity();
    double largest_next = std::numeric_limits<double>::infinity();
    int same_contact = -1;   ///< chain stored before at this contact and side (pruned search)
    bool dominated = false;  ///< since it was stored
  };

  [[nodiscard]] const Node& node(int index) const noexcept {
    return nodes_[static_cast<std::size_t>(index)];
  }
  void check(std::span<const ContactPoint> contacts, const PlanarPose& base) const;
  [[nodiscard]] bool uses(int chain, int contact) const noexcept;
  [[nodiscard]] bool holds_contacts(int chain, int section_start, double curvature) const noexcept;
  int try_contact(int chain, int contact, BodySide side);
  int next_chain() noexcept;
  bool add_to_frontier(int chain);
  [[nodiscard]] bool is_too_far(int chain, int contact) const noexcept;
  [[nodiscard]] double least_length(int chain) const noexcept;
  [[nodiscard]] bool is_later(int a, int b) const noexcept;
  [[nodiscard]] bool is_dominated(int chain) noexcept;
  void order_contacts(std::span<const ContactPoint> contacts);

  std::string name_;
  ContactPlannerOptions options_;
  const PlanarScene* scene_ = nullptr;
  std::vector<ContactPoint> contacts_;
  std::vector<int> order_;   ///< contact indices, by position, without repeated ones
  std::vector<Node> nodes_;  ///< [0]: the base
  /// Nodes that end at the base or a contact: from `next_` on in order of growth, or, in the
  /// pruned search, the heap of those to grow.
  std::vector<int> frontier_;
  std::size_t next_ = 0;
  long chains_ = 0;
  Disc aim_;
  std::vector<int> kept_;  ///< newest chain by contact and side (pruned search)
  std::vector<RefusedArc> refused_;
  std::array<long, kContactRefusalCount> refusal_counts_{};
  long arcs_tried_ = 0;
  int deepest_ = 0;
  bool exhausted_ = false;
};

/// Sorts by number of contacts, length, largest curvature, contacts and sides.
[[nodiscard]] bool solution_before(std::span<const ContactStep> a, double length_a,
                                   double curvature_a, std::span<const ContactStep> b,
                                   double length_b, double curvature_b) noexcept;

}  // namespace tendril
