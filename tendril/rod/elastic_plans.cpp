#include "tendril/rod/elastic_plans.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace tendril {
namespace {

constexpr double kSlack = 1.2;       // length of the rod, in lengths of the longest path
constexpr double kElements = 150.0;  // of the longest path
constexpr double kPathStep = 0.015;  // of the correction [m]
constexpr double kTouching = 1e-6;   // overlap that counts as touching [m]
/// Clearances that are tried, in the largest one.
constexpr double kClearances[] = {1.0, 0.5, 0.25, 0.125};

double total_length(std::span<const PlanarArc> path) {
  double sum = 0.0;
  for (const PlanarArc& arc : path) sum += arc.length;
  return sum;
}

/// A plan that has not been corrected.
struct Candidate {
  const ContactPlan* plan;
  double clearance;  // at the contacts
  double room;       // from all obstacles
  std::vector<PlanarArc> path;
};

}  // namespace

double ElasticPlan::path_length() const noexcept { return total_length(tip_path); }

double ElasticPlan::largest_force() const noexcept {
  double force = 0.0;
  for (const CorrectedState& state : states) force = std::max(force, state.contact_force);
  return force;
}

std::vector<PlanarArc> passing_path(const PlanarPose& base,
                                    std::span<const PlannedContact> contacts,
                                    const Eigen::Vector2d& target, double clearance) {
  std::vector<PlanarArc> arcs;
  PlanarPose pose = base;
  for (const PlannedContact& contact : contacts) {
    const auto curvature =
        tangency_curvature(pose, contact.center, contact.radius + clearance, contact.side);
    if (!curvature) return {};
    PlanarArc arc{pose, *curvature, 2.0 * std::numbers::pi / std::max(std::abs(*curvature), 1.0)};
    arc.length = arc.nearest_parameter(contact.center);
    if (arc.length <= 0.0) return {};
    arcs.push_back(arc);
    pose = arc.end();
  }
  const auto last = chord_arc(pose, target);
  if (!last) return {};
  arcs.push_back(*last);
  return arcs;
}

CorrectedPlans corrected_plans(std::span<const ContactPlan> plans,
                               const CorrectedPlansOptions& options) {
  CorrectedPlans result;
  std::vector<Candidate> first, more;
  double longest = 0.0;
  for (const ContactPlan& plan : plans) {
    std::vector<Candidate> all;
    for (const double part : kClearances) {
      Candidate candidate{&plan, part * options.passing_clearance, 0.0, {}};
      candidate.path = candidate.clearance > 0.0 ? passing_path(plan.base, plan.contacts,
                                                                plan.target(), candidate.clearance)
                                                 : plan.arcs;
      if (candidate.path.empty()) continue;
      candidate.room = candidate.clearance;
      for (const PlanarArc& arc : candidate.path)
        candidate.room = std::min(candidate.room, plan.scene.clearance(arc, plan.body_radius));
      if (candidate.room < -kTouching) continue;
      longest = std::max(longest, total_length(candidate.path));
      all.push_back(std::move(candidate));
      if (plan.contacts.empty() || all.back().clearance <= 0.0) break;  // the others are alike
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.room > b.room; });
    for (std::size_t i = 0; i < all.size(); ++i)
      (i == 0 ? first : more).push_back(std::move(all[i]));
  }
  std::move(more.begin(), more.end(), std::back_inserter(first));

  result.rod = options.rod;
  result.rod.max_length = kSlack * longest;
  result.rod.element_length = longest / kElements;
  int tried = 0;
  for (Candidate& candidate : first) {
    if (static_cast<int>(result.plans.size()) == options.max_candidates ||
        tried++ == options.max_corrections)
      break;
    const ContactPlan& plan = *candidate.plan;
    ElasticCorrection correction(plan.scene, plan.base, result.rod, {.path_step = kPathStep});
    std::vector<CorrectedState> states = correction.follow(candidate.path, plan.contacts);
    result.last = states.empty() ? CorrectionStatus::InvalidInput : states.back().status;
    if (result.last != CorrectionStatus::Corrected || states.back().length > options.max_length)
      continue;
    result.plans.push_back({.plan = plan,
                            .passing_clearance = candidate.clearance,
                            .tip_path = std::move(candidate.path),
                            .states = std::move(states)});
  }
  return result;
}

}  // namespace tendril
