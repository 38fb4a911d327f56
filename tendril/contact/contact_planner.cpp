#include "tendril/contact/contact_planner.hpp"

#include <algorithm>
#include <utility>

#include "tendril/contact/contact_tree.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;

constexpr std::size_t kStepsPerSolution = 16;  // on average, that there is memory for

double cross(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

}  // namespace

std::vector<ContactPoint> contact_points_of(const PlanarObstacle& obstacle) {
  std::vector<ContactPoint> points;
  if (const Disc* disc = std::get_if<Disc>(&obstacle)) {
    points.push_back({.disc = *disc});
    return points;
  }
  const auto& corners = std::get<Polygon>(obstacle).corners;
  const std::size_t n = corners.size();
  double twice_area = 0.0;
  for (std::size_t i = 0; i < n; ++i)
    twice_area += cross(corners[i] - corners[0], corners[(i + 1) % n] - corners[0]);
  for (std::size_t i = 0; i < n; ++i) {
    const Vector2d before = corners[i] - corners[(i + n - 1) % n];
    const Vector2d after = corners[(i + 1) % n] - corners[i];
    if (cross(before, after) * twice_area > 0.0) points.push_back({.disc = {corners[i], 0.0}});
  }
  return points;
}

const char* to_string(ContactRule rule) noexcept {
  return rule == ContactRule::Local ? "local" : "persistent";
}

const char* to_string(ContactSearch search) noexcept {
  return search == ContactSearch::Pruned ? "pruned" : "exhaustive";
}

const char* to_string(ContactType type) noexcept {
  switch (type) {
    case ContactType::ForwardLimiting:
      return "forward_limiting";
    case ContactType::BackwardLimiting:
      return "backward_limiting";
    case ContactType::None:
      break;
  }
  return "none";
}

const char* to_string(ContactRefusal refusal) noexcept {
  constexpr std::array<const char*, kContactRefusalCount> kNames{
      "inside_contact", "no_arc",     "curvature", "bend",     "length",      "too_short",
      "rule",           "wrong_side", "slack",     "obstacle", "self_contact"};
  return kNames[static_cast<std::size_t>(refusal)];
}

const char* to_string(ContactPlannerStatus status) noexcept {
  switch (status) {
    case ContactPlannerStatus::Solved:
      return "solved";
    case ContactPlannerStatus::NoSolution:
      return "no_solution";
    case ContactPlannerStatus::Partial:
      return "partial";
    case ContactPlannerStatus::BaseInObstacle:
      return "base_in_obstacle";
    case ContactPlannerStatus::TargetInObstacle:
      break;
  }
  return "target_in_obstacle";
}

ContactPlanner::ContactPlanner(const ContactPlannerOptions& options)
    : tree_(std::make_unique<ContactTree>("contact planner", options)) {
  const auto count = static_cast<std::size_t>(options.max_solutions);
  goals_.reserve(count);
  solutions_.reserve(count);
  steps_.reserve(count * kStepsPerSolution);
}

ContactPlanner::~ContactPlanner() = default;
ContactPlanner::ContactPlanner(ContactPlanner&&) noexcept = default;
ContactPlanner& ContactPlanner::operator=(ContactPlanner&&) noexcept = default;

const ContactPlannerOptions& ContactPlanner::options() const noexcept { return tree_->options(); }

std::vector<ContactStep> ContactPlanner::chain_steps(int chain) const {
  std::vector<ContactStep> steps;
  tree_->append_steps(chain, steps);
  return steps;
}

const ContactPlannerResult& ContactPlanner::plan(const PlanarScene& scene,
                                                 std::span<const ContactPoint> contacts,
                                                 const PlanarPose& base, const Vector2d& target) {
  ContactTree& tree = *tree_;
  result_ = {};
  goals_.clear();
  solutions_.clear();
  steps_.clear();
  deepest_.clear();
  tree.require_point("target", target);
  tree.begin(scene, contacts, base, Disc{target, 0.0});
  const double r = options().body_radius, tolerance = options().tolerance;
  if (scene.distance(base.position) < r - tolerance) {
    result_.status = ContactPlannerStatus::BaseInObstacle;
    return result_;
  }
  if (scene.distance(target) < r - tolerance) {
    result_.status = ContactPlannerStatus::TargetInObstacle;
    return result_;
  }

  std::size_t step_count = 0;
  tree.grow([&](int chain) {
    const PlanarPose pose = tree.end_pose(chain);
    const auto arc = chord_arc(pose, target);
    if (!arc) {
      tree.refuse(chain, {pose, 0.0, 0.0}, kTargetContact, 0, ContactRefusal::NoArc);
      return;
    }
    const int goal = tree.try_arc(chain, *arc, kTargetContact, 0);
    if (goal < 0 || tree.step_count(chain) < options().min_contacts) return;
    step_count += static_cast<std::size_t>(tree.step_count(goal));
    const auto memory = static_cast<std::size_t>(options().max_solutions);
    if (goals_.size() == memory || step_count > memory * kStepsPerSolution) {
      tree.set_exhausted();
      return;
    }
    goals_.push_back(goal);
  });

  for (const int goal : goals_) {
    const std::size_t first = steps_.size();
    tree.append_steps(goal, steps_);
    ContactSolution solution{.steps = {steps_.data() + first, steps_.size() - first},
                             .length = tree.length(goal),
                             .max_curvature = tree.max_curvature(goal),
                             .min_clearance = std::numeric_limits<double>::infinity()};
    for (const ContactStep& step : solution.steps)
      solution.min_clearance = std::min(solution.min_clearance, scene.clearance(step.arc, r));
    solutions_.push_back(solution);
  }
  std::sort(solutions_.begin(), solutions_.end(),
            [](const ContactSolution& a, const ContactSolution& b) {
              return solution_before(a.steps, a.length, a.max_curvature, b.steps, b.length,
                                     b.max_curvature);
            });
  tree.append_steps(tree.deepest(), deepest_);
  result_.deepest = deepest_;
  result_.solutions = solutions_;
  result_.refused = tree.refused();
  result_.refusal_counts = tree.refusal_counts();
  result_.arcs_tried = tree.arcs_tried();
  result_.chains = tree.chains();
  result_.status = tree.exhausted()     ? ContactPlannerStatus::Partial
                   : solutions_.empty() ? ContactPlannerStatus::NoSolution
                                        : ContactPlannerStatus::Solved;
  return result_;
}

}  // namespace tendril
