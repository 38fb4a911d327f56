#include "tendril/contact/contact_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

#include "tendril/model_error.hpp"
#include "tendril/range.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using std::numbers::pi;

constexpr double kFarthest = 1e9;         // [m]
constexpr double kShortestArc = 1e-4;     // [m]
constexpr double kLargestTurn = 0.9995;   // of a full circle; the rest counts as not moved
constexpr double kSamePosition = 1e-9;    // [m]
constexpr double kRuleSlack = 1e-9;       // [1/m]; equal curvatures with rounding still hold
constexpr double kLimitSlack = 1e-9;      // relative
constexpr double kProbe = 1e-5;           // [m]; both sides of a line that touches a corner
constexpr double kEqualSolutions = 1e-9;  // [m], [1/m]
constexpr double kSameHeading = pi / 180.0;

void check_options(const std::string& name, const ContactPlannerOptions& o) {
  const std::string object = name + " options";
  const Range positive{.low = 0.0, .high = kFarthest, .open_low = true};
  require(object, "body_radius", o.body_radius, {.low = 0.0, .high = kFarthest}, "m");
  require(object, "max_curvature", o.max_curvature, positive, "1/m");
  require(object, "max_bend", o.max_bend, {.low = 0.0, .high = 2.0 * pi, .open_low = true}, "rad");
  require(object, "max_length", o.max_length, positive, "m");
  require(object, "tolerance", o.tolerance, {.low = 0.0, .high = 1e-3, .open_low = true}, "m");
  require(object, "section_count", o.section_count, {.low = 1.0});
  require(object, "min_contacts", o.min_contacts, kNotNegative);
  require(object, "max_contacts", o.max_contacts, kNotNegative);
  require(object, "max_arcs", o.max_arcs, {.low = 1.0});
  require(object, "max_chains", o.max_chains, {.low = 1.0});
  require(object, "max_solutions", o.max_solutions, {.low = 1.0});
  require(object, "max_refusals", o.max_refusals, kNotNegative);
}

std::string shown(const Vector2d& p) {
  std::ostringstream text;
  text.precision(9);
  text << '(' << p.x() << ", " << p.y() << ") m";
  return text.str();
}

ContactType type_of(double curvature, int side) noexcept {
  if (side == 0) return ContactType::None;
  return side * curvature >= 0.0 ? ContactType::ForwardLimiting : ContactType::BackwardLimiting;
}

}  // namespace

ContactTree::ContactTree(std::string name, const ContactPlannerOptions& options)
    : name_(std::move(name)), options_(options) {
  check_options(name_, options_);
  nodes_.reserve(static_cast<std::size_t>(options_.max_chains) + 1);
  frontier_.reserve(static_cast<std::size_t>(options_.max_chains) + 1);
  refused_.reserve(static_cast<std::size_t>(options_.max_refusals));
}

void ContactTree::require_point(const std::string& what, const Vector2d& point) const {
  if (std::abs(point.x()) <= kFarthest && std::abs(point.y()) <= kFarthest) return;
  throw ModelError(name_ + ": " + what + " = " + shown(point) +
                   ", must be finite and within 1e9 m");
}

/// Builds the names for messages only where they are needed: a plan allocates nothing.
void ContactTree::check(std::span<const ContactPoint> contacts, const PlanarPose& base) const {
  constexpr Range kHeadings{.low = -kFarthest, .high = kFarthest};
  constexpr Range kRadii{.low = 0.0, .high = kFarthest};
  require_point("base", base.position);
  if (!kHeadings.contains(base.heading))
    require(name_ + ": base", "heading", base.heading, kHeadings, "rad");
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const ContactPoint& contact = contacts[i];
    const std::string what = "contact " + std::to_string(i);
    require_point(what, contact.disc.center);
    if (!kRadii.contains(contact.disc.radius))
      require(name_ + ": " + what, "radius", contact.disc.radius, kRadii, "m");
    if (!contact.desired) continue;
    require_point(what, *contact.desired);
    if (!(contact.slack >= 0.0))
      tendril::refuse(name_ + ": " + what, "slack", contact.slack, ">= 0", "m");
  }
}

void ContactTree::begin(const PlanarScene& scene, std::span<const ContactPoint> contacts,
                        const PlanarPose& base, const Disc& aim) {
  check(contacts, base);
  scene_ = &scene;
  order_contacts(contacts);
  nodes_.clear();
  frontier_.clear();
  refused_.clear();
  refusal_counts_.fill(0);
  arcs_tried_ = 0;
  deepest_ = 0;
  exhausted_ = false;
  next_ = 0;
  chains_ = 0;
  aim_ = aim;
  if (options_.search == ContactSearch::Pruned) kept_.assign(2 * contacts.size(), -1);
  Node root;
  root.step.arc.start = base;
  root.end = base;
  nodes_.push_back(root);
  add_to_frontier(0);
}

void ContactTree::order_contacts(std::span<const ContactPoint> contacts) {
  contacts_.assign(contacts.begin(), contacts.end());
  order_.resize(contacts.size());
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<int>(i);
  const auto at = [&](int i) -> const ContactPoint& {
    return contacts_[static_cast<std::size_t>(i)];
  };
  std::sort(order_.begin(), order_.end(), [&](int i, int j) {
    const Disc &a = at(i).disc, &b = at(j).disc;
    if (a.center.x() != b.center.x()) return a.center.x() < b.center.x();
    if (a.center.y() != b.center.y()) return a.center.y() < b.center.y();
    if (a.radius != b.radius) return a.radius < b.radius;
    return i < j;
  });
  const auto same = [&](int i, int j) {
    const ContactPoint &a = at(i), &b = at(j);
    if ((a.disc.center - b.disc.center).norm() > kSamePosition ||
        std::abs(a.disc.radius - b.disc.radius) > kSamePosition)
      return false;
    if (a.desired.has_value() != b.desired.has_value()) return false;
    return !a.desired || ((*a.desired - *b.desired).norm() <= kSamePosition && a.slack == b.slack);
  };
  // Of a group of equal ones the first listed remains, at the index of the group's first.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    bool repeated = false;
    for (std::size_t j = kept; j-- > 0;) {
      if (at(order_[i]).disc.center.x() - at(order_[j]).disc.center.x() > 2.0 * kSamePosition)
        break;
      if (!same(order_[i], order_[j])) continue;
      order_[j] = std::min(order_[i], order_[j]);
      repeated = true;
      break;
    }
    if (!repeated) order_[kept++] = order_[i];
  }
  order_.resize(kept);
}

bool ContactTree::uses(int chain, int contact) const noexcept {
  for (int i = chain; i > 0; i = node(i).parent)
    if (node(i).step.contact == contact) return true;
  return false;
}

bool ContactTree::holds_contacts(int chain, int section_start, double curvature) const noexcept {
  for (int i = chain; i > 0 && node(i).depth >= section_start; i = node(i).parent) {
    const ContactStep& step = node(i).step;
    if (step.side * (curvature - step.arc.curvature) < -kRuleSlack) return false;
    if (options_.rule == ContactRule::Local) break;
  }
  return true;
}

void ContactTree::refuse(int chain, const PlanarArc& arc, int contact, int side,
                         ContactRefusal reason) {
  ++refusal_counts_[static_cast<std::size_t>(reason)];
  if (refused_.size() >= static_cast<std::size_t>(options_.max_refusals)) return;
  RefusedArc refused{arc, contact, side, reason, -1, chain};
  if (reason == ContactRefusal::Obstacle)
    refused.obstacle = scene_->blocking_obstacle(arc, options_.body_radius, options_.tolerance);
  refused_.push_back(refused);
}

int ContactTree::try_arc(int chain, const PlanarArc& arc, int contact, int side,
                         BendLimit bend_limit) {
  if (arcs_tried_ >= options_.max_arcs) exhausted_ = true;
  if (exhausted_) return -1;
  ++arcs_tried_;
  const auto refused = [&](ContactRefusal reason) {
    refuse(chain, arc, contact, side, reason);
    return -1;
  };
  const Node& before = node(chain);
  const double curvature = std::abs(arc.curvature);
  const double length = before.length + arc.length;
  if (curvature > options_.max_curvature * (1.0 + kLimitSlack))
    return refused(ContactRefusal::Curvature);
  if (bend_limit == BendLimit::Applies &&
      curvature * arc.length > options_.max_bend * (1.0 + kLimitSlack))
    return refused(ContactRefusal::Bend);
  if (length > options_.max_length * (1.0 + kLimitSlack)) return refused(ContactRefusal::Length);
  if (!(arc.length > kShortestArc)) return refused(ContactRefusal::TooShort);

  Node after{.step = {arc, contact, side, type_of(arc.curvature, side), before.step.section},
             .parent = chain,
             .depth = before.depth + 1,
             .section_start = before.section_start,
             .length = length,
             .max_curvature = std::max(before.max_curvature, curvature)};
  if (!holds_contacts(chain, before.section_start, arc.curvature)) {
    if (before.step.section + 1 >= options_.section_count) return refused(ContactRefusal::Rule);
    ++after.step.section;
    after.section_start = after.depth;
  }
  after.end = arc.end();
  if (contact >= 0) {
    const ContactPoint& point = contacts_[static_cast<std::size_t>(contact)];
    // From the backbone sideways to the surface.
    const Vector2d to_side = side * after.end.lateral();
    const Vector2d touch = point.disc.center - point.disc.radius * to_side;
    if (point.disc.radius + options_.body_radius <= 2.0 * options_.tolerance &&
        scene_->distance(touch + kProbe * to_side) > scene_->distance(touch - kProbe * to_side))
      return refused(ContactRefusal::WrongSide);
    if (point.desired && (touch - *point.desired).norm() > point.slack + options_.tolerance)
      return refused(ContactRefusal::Slack);
  }
  if (!scene_->is_clear(arc, options_.body_radius, options_.tolerance))
    return refused(ContactRefusal::Obstacle);
  if (nodes_.size() > static_cast<std::size_t>(options_.max_chains)) {
    exhausted_ = true;
    return -1;
  }
  nodes_.push_back(after);
  const int index = static_cast<int>(nodes_.size()) - 1;
  if (side != 0 && after.depth > node(deepest_).depth) deepest_ = index;
  return index;
}

int ContactTree::try_tangent(int chain, const Disc& disc, int contact, BodySide side) {
  const PlanarPose pose = end_pose(chain);
  const int sigma = static_cast<int>(side);
  const auto k = tangency_curvature(pose, disc.center, disc.radius + options_.body_radius, side);
  if (!k) {
    ++arcs_tried_;
    refuse(chain, {pose, 0.0, 0.0}, contact, sigma, ContactRefusal::InsideContact);
    return -1;
  }
  const double circle = *k != 0.0 ? 2.0 * pi / std::abs(*k) : options_.max_length;
  PlanarArc arc{pose, *k, circle};
  arc.length = arc.nearest_parameter(disc.center);
  if (*k != 0.0 && arc.length > kLargestTurn * circle) {
    ++arcs_tried_;
    refuse(chain, {pose, *k, 0.0}, contact, sigma, ContactRefusal::NoArc);
    return -1;
  }
  return try_arc(chain, arc, contact, sigma);
}

int ContactTree::try_contact(int chain, int contact, BodySide side) {
  return try_tangent(chain, contacts_[static_cast<std::size_t>(contact)].disc, contact, side);
}

/// Lower bound of the length that reaches the aim.
double ContactTree::least_length(int chain) const noexcept {
  const Node& at = node(chain);
  return at.length + std::max(0.0, (aim_.center - at.end.position).norm() - aim_.radius);
}

/// Order of the pruned search; of equal ones the older one first.
bool ContactTree::is_later(int a, int b) const noexcept {
  const double length_a = least_length(a), length_b = least_length(b);
  return length_a != length_b ? length_a > length_b : a > b;
}

int ContactTree::next_chain() noexcept {
  if (options_.search == ContactSearch::Exhaustive)
    return next_ < frontier_.size() ? frontier_[next_++] : -1;
  const auto later = [&](int a, int b) { return is_later(a, b); };
  while (!frontier_.empty()) {
    std::pop_heap(frontier_.begin(), frontier_.end(), later);
    const int chain = frontier_.back();
    frontier_.pop_back();
    if (!node(chain).dominated) return chain;
  }
  return -1;
}

/// False if the pruned search leaves it out.
bool ContactTree::add_to_frontier(int chain) {
  const bool pruned = options_.search == ContactSearch::Pruned;
  if (pruned && chain > 0 && is_dominated(chain)) return false;
  ++chains_;
  frontier_.push_back(chain);
  if (pruned)
    std::push_heap(frontier_.begin(), frontier_.end(),
                   [&](int a, int b) { return is_later(a, b); });
  return true;
}

/// Tells whether the aim cannot be reached through the contact, along straight lines.
bool ContactTree::is_too_far(int chain, int contact) const noexcept {
  if (options_.search == ContactSearch::Exhaustive) return false;
  const Disc& disc = contacts_[static_cast<std::size_t>(contact)].disc;
  const double c = disc.radius + options_.body_radius;
  const double to_contact = (disc.center - node(chain).end.position).norm() - c;
  const double to_aim = (aim_.center - disc.center).norm() - c - aim_.radius;
  return node(chain).length + std::max(0.0, to_contact) + std::max(0.0, to_aim) >
         options_.max_length * (1.0 + kLimitSlack);
}

/// Compares the chain with those stored at its contact and side; stores it or not, and drops those
/// that it dominates from the search.
bool ContactTree::is_dominated(int chain) noexcept {
  Node& added = nodes_[static_cast<std::size_t>(chain)];
  // Contacts of the newest section restrict what may follow.
  for (int i = chain; i > 0 && node(i).depth >= added.section_start; i = node(i).parent) {
    const ContactStep& step = node(i).step;
    if (step.side > 0) added.least_next = std::max(added.least_next, step.arc.curvature);
    if (step.side < 0) added.largest_next = std::min(added.largest_next, step.arc.curvature);
    if (options_.rule == ContactRule::Local) break;
  }
  const auto dominates = [](const Node& a, const Node& b) {
    const double difference = std::remainder(a.end.heading - b.end.heading, 2.0 * pi);
    return std::abs(difference) <= kSameHeading && a.length <= b.length &&
           a.step.section <= b.step.section && a.least_next <= b.least_next + kRuleSlack &&
           a.largest_next >= b.largest_next - kRuleSlack;
  };
  int& newest =
      kept_[2 * static_cast<std::size_t>(added.step.contact) + (added.step.side > 0 ? 0 : 1)];
  for (int i = newest; i >= 0; i = node(i).same_contact)
    if (!node(i).dominated && dominates(node(i), added)) return true;
  for (int i = newest; i >= 0; i = node(i).same_contact)
    if (dominates(added, node(i))) nodes_[static_cast<std::size_t>(i)].dominated = true;
  added.same_contact = newest;
  newest = chain;
  return false;
}

void ContactTree::append_steps(int chain, std::vector<ContactStep>& steps) const {
  const std::size_t first = steps.size();
  steps.resize(first + static_cast<std::size_t>(node(chain).depth));
  for (int i = chain; i > 0; i = node(i).parent)
    steps[first + static_cast<std::size_t>(node(i).depth) - 1] = node(i).step;
}

bool solution_before(std::span<const ContactStep> a, double length_a, double curvature_a,
                     std::span<const ContactStep> b, double length_b, double curvature_b) noexcept {
  const auto rounded = [](double value) { return std::round(value / kEqualSolutions); };
  if (a.size() != b.size()) return a.size() < b.size();
  if (rounded(length_a) != rounded(length_b)) return length_a < length_b;
  if (rounded(curvature_a) != rounded(curvature_b)) return curvature_a < curvature_b;
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const ContactStep& p, const ContactStep& q) {
                                        if (p.contact != q.contact) return p.contact < q.contact;
                                        return p.side > q.side;  // +1 first
                                      });
}

}  // namespace tendril
