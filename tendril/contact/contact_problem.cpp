#include "tendril/contact/contact_problem.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tendril/contact/planned_contact.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

constexpr double kBesidePlane = 1e-3;  // of a target [m]
constexpr double kOverlap = 1e-4;      // that counts [m]; what is mounted on the guide touches it
constexpr int kMaxArcs = 50'000;       // bound of the planner's work

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw ModelError(text.str());
}

const std::string& name_at(const std::vector<Solid>& solids, const PlanarSection& section,
                           int obstacle) {
  return solids[static_cast<std::size_t>(section.solid[static_cast<std::size_t>(obstacle)])].name;
}

}  // namespace

ContactProblem contact_problem(const std::vector<Solid>& solids, const Eigen::Vector3d& target,
                               const FedArm& arm, int max_contacts) {
  if (!(std::abs(target.y()) <= kBesidePlane))
    refuse("target: lies ", std::abs(target.y()),
           " m off the plane in which the arm moves, x-z of its base: must lie in it");
  ContactProblem problem;
  problem.target = {target.x(), target.z() - arm.guide_length};
  if (!(problem.target.norm() <= arm.max_length))
    refuse("target: is ", problem.target.norm(), " m from the guide's end: the arm reaches ",
           arm.max_length, " m");

  std::vector<Solid> shifted = solids;
  for (Solid& solid : shifted)
    solid.X_BO.pretranslate(Eigen::Vector3d(0.0, 0.0, -arm.guide_length));
  PlanarSection section = planar_section(shifted, arm.body_radius, arm.max_length);
  for (int i = 0; i < section.scene.size(); ++i) {
    const std::string& name = name_at(solids, section, i);
    if (section.scene.obstacle_distance(i, problem.target) < arm.body_radius)
      refuse("target: is inside ", name, " or nearer to it than the arm's radius");
  }
  const PlanarArc start{{{0.0, -arm.guide_length}, 0.0}, 0.0, arm.guide_length + arm.start_length};
  const int overlapped = section.scene.blocking_obstacle(start, arm.body_radius, kOverlap);
  if (overlapped >= 0)
    refuse(name_at(solids, section, overlapped), ": overlaps the arm where it starts");

  problem.scene = std::move(section.scene);
  problem.contacts = std::move(section.contacts);
  problem.options = {.body_radius = arm.body_radius,
                     .max_curvature = arm.max_curvature,
                     .max_length = arm.max_length,
                     .max_contacts = max_contacts,
                     .max_arcs = kMaxArcs,
                     .max_refusals = 0};
  return problem;
}

std::vector<ContactPlan> contact_plans(const ContactProblem& problem, int most) {
  std::vector<ContactPlan> plans;
  const auto is_known = [&](const std::vector<PlanarArc>& arcs) {
    return std::any_of(plans.begin(), plans.end(), [&](const ContactPlan& plan) {
      return std::equal(plan.arcs.begin(), plan.arcs.end(), arcs.begin(), arcs.end(),
                        [](const PlanarArc& a, const PlanarArc& b) {
                          return a.curvature == b.curvature && a.length == b.length;
                        });
    });
  };
  for (const ContactRule rule : {ContactRule::Persistent, ContactRule::Local}) {
    ContactPlannerOptions options = problem.options;
    options.rule = rule;
    ContactPlanner planner(options);
    const ContactPlannerResult& found =
        planner.plan(problem.scene, problem.contacts, problem.base, problem.target);
    for (const ContactSolution& solution : found.solutions) {
      if (static_cast<int>(plans.size()) == most) return plans;
      std::vector<PlanarArc> arcs = planned_arcs(solution.steps);
      if (is_known(arcs)) continue;
      plans.push_back(
          {.base = problem.base,
           .body_radius = options.body_radius,
           .arcs = std::move(arcs),
           .contacts = planned_contacts(solution.steps, problem.contacts, options.body_radius),
           .scene = problem.scene});
    }
  }
  return plans;
}

}  // namespace tendril
