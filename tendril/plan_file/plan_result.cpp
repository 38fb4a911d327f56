#include "tendril/plan_file/plan_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include "tendril/kinematics/section.hpp"

namespace tendril {
namespace {

using std::numbers::pi;

template <class Planner, class Result>
void copy_search(const Planner& planner, const Result& result, PlanResult& solution) {
  solution.status = result.status;
  solution.refusal_counts = result.refusal_counts;
  solution.arcs_tried = result.arcs_tried;
  solution.chains = result.chains;
  for (const RefusedArc& arc : result.refused)
    solution.refused.push_back({arc, planner.chain_steps(arc.chain)});
}

template <class Solution>
ContactPath path_of(const Solution& solution) {
  ContactPath path;
  path.steps.assign(solution.steps.begin(), solution.steps.end());
  path.length = solution.length;
  path.max_curvature = solution.max_curvature;
  path.min_clearance = solution.min_clearance;
  return path;
}

PlanResult find_paths(const PlanFile& plan) {
  PlanResult found;
  if (plan.grasp) {
    GraspPlanner planner(plan.options);
    const GraspResult& result = planner.plan(plan.scene, plan.contacts, plan.base, *plan.grasp);
    copy_search(planner, result, found);
    if (result.largest_wrap_angle > 0.0) found.largest_wrap_angle = result.largest_wrap_angle;
    for (const GraspSolution& solution : result.solutions) {
      found.paths.push_back(path_of(solution));
      found.paths.back().wrap_angle = solution.wrap_angle;
      found.paths.back().end = solution.end;
    }
    return found;
  }
  ContactPlanner planner(plan.options);
  const ContactPlannerResult& result =
      planner.plan(plan.scene, plan.contacts, plan.base, *plan.target);
  copy_search(planner, result, found);
  found.deepest.assign(result.deepest.begin(), result.deepest.end());
  for (const ContactSolution& solution : result.solutions) found.paths.push_back(path_of(solution));
  return found;
}

}  // namespace

PlanResult solve_plan(const PlanFile& plan) {
  const auto begin = std::chrono::steady_clock::now();
  PlanResult found = find_paths(plan);
  found.time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return found;
}

std::string step_name(int contact, int side) {
  const char* const sign = side > 0 ? " (+)" : side < 0 ? " (-)" : "";
  if (contact == kTargetContact) return "target";
  if (contact == kObjectContact) return fmt::format("object{}", sign);
  if (contact == kWrapped) return "wrap";
  return fmt::format("contact {}{}", contact, sign);
}

std::string plan_text(const PlanFile& plan, const PlanResult& result) {
  std::string text = fmt::format("{}: {}: {} solution{}; {} arcs tried, {} chains, {:.2f} ms\n",
                                 plan.name, to_string(result.status), result.paths.size(),
                                 result.paths.size() == 1 ? "" : "s", result.arcs_tried,
                                 result.chains, 1e3 * result.time);
  for (std::size_t i = 0; i < result.paths.size(); ++i) {
    const ContactPath& path = result.paths[i];
    text += fmt::format("solution {}: length {:.4f} m, largest curvature {:.4f} 1/m, clearance ",
                        i + 1, path.length, path.max_curvature);
    text += std::isfinite(path.min_clearance)
                ? fmt::format("{:.2f} mm",
                              std::abs(path.min_clearance) < 5e-6 ? 0.0 : 1e3 * path.min_clearance)
                : std::string("no obstacles");
    if (path.wrap_angle)
      text += fmt::format(", wrap angle {:.1f} deg{}", *path.wrap_angle * 180.0 / pi,
                          path.end == GraspEnd::LengthLimit ? " (limited by max_length)" : "");
    text += '\n';
    for (const ContactStep& step : path.steps) {
      text += fmt::format("  {:<15} curvature {:+9.4f} 1/m  length {:.4f} m",
                          step_name(step.contact, step.side), step.arc.curvature, step.arc.length);
      if (step.type != ContactType::None && step.contact != kWrapped)
        text += fmt::format("  {}", to_string(step.type));
      if (plan.options.section_count > 1) text += fmt::format("  section {}", step.section);
      text += '\n';
    }
  }
  if (result.paths.empty() && !result.deepest.empty()) {
    text += "deepest chain:";
    for (const ContactStep& step : result.deepest)
      text += fmt::format(" {},", step_name(step.contact, step.side));
    text.back() = '\n';
  }
  if (result.largest_wrap_angle)
    text += fmt::format("largest feasible wrap angle {:.1f} deg\n",
                        *result.largest_wrap_angle * 180.0 / pi);
  std::string refused;
  for (int i = 0; i < kContactRefusalCount; ++i) {
    const long count = result.refusal_counts[static_cast<std::size_t>(i)];
    if (count > 0)
      refused += fmt::format("{}{} {}", refused.empty() ? "" : ", ", count,
                             to_string(static_cast<ContactRefusal>(i)));
  }
  if (!refused.empty()) text += fmt::format("refused arcs: {}\n", refused);
  return text;
}

ContactPlan executable_plan(const PlanFile& plan, const ContactPath& path) {
  return {.base = plan.base,
          .body_radius = plan.options.body_radius,
          .arcs = planned_arcs(path.steps),
          .contacts = planned_contacts(path.steps, plan.contacts, plan.options.body_radius),
          .scene = plan.scene};
}

std::string planned_robot_toml(const PlanFile& plan, const ContactPath& path) {
  constexpr double kRoom = 1.1;            // of bend limits over the tightest arc
  constexpr double kLeastCurvature = 1.0;  // [1/m]
  constexpr double kLinkRadii = 2.0;       // length of a link
  constexpr double kMostBend = 6.28;       // [rad]
  constexpr int kFewestLinks = 3;
  const double radius = kPlannedRobotRadius * plan.options.body_radius;
  const double curvature = std::max(kLeastCurvature, path.max_curvature);
  std::string sections, lengths, arcs;
  for (const ContactStep& step : path.steps) {
    const PlanarArc& arc = step.arc;
    const double limit =
        std::clamp(kRoom * curvature * arc.length, std::abs(arc.bend()), kMostBend);
    const int links =
        std::max(kFewestLinks, static_cast<int>(std::ceil(arc.length / (kLinkRadii * radius))));
    sections += fmt::format(
        "\n[[section]]                  # {}\nvariable_length = {}\nbend_limit = {:.4f}\n"
        "links = {}\nradius = {:g}\ndensity = 1200\nyoungs_modulus = 3e7\naxial_stiffness = 10\n"
        "damping_time = 0.2\n",
        step_name(step.contact, step.side), arc.length, limit, links, radius);
    const char* const comma = arcs.empty() ? "" : ", ";
    lengths += fmt::format("{}{}", comma, kShortestTelescope * arc.length);
    arcs += fmt::format("{}{}, {}", comma, arc.curvature, arc.length);
  }
  return fmt::format(
      "# One telescopic section for each arc of the plan, {:g} as thick. The base is at x = {:g}, "
      "z = {:g} of the plan,\n# its z axis at a heading of {:g} rad; an experiment starts with "
      "keyframe = \"start\" (with the arm's prefix).\nkind = \"continuum\"\nplanar = true\n{}\n"
      "[start]\nvariable_lengths = [{}]\n\n[controller]\nplugin = \"tendril.follow\"\narcs = [{}]\n"
      "speed = 0.05\n",
      kPlannedRobotRadius, plan.base.position.x(), plan.base.position.y(), plan.base.heading,
      sections, lengths, arcs);
}

std::string path_csv(const ContactPath& path, double spacing) {
  std::string text = "s,x,y,z,heading,curvature,section,contact\n";
  double before = 0.0;
  const auto row = [&](const ContactStep& step, double s, int contact) {
    const PlanarPose pose = step.arc.pose_at(s);
    text += fmt::format("{},{},0,{},{},{},{},{}\n", before + s, pose.position.x(),
                        pose.position.y(), pose.heading, step.arc.curvature, step.section,
                        contact >= 0 ? std::to_string(contact) : "");
  };
  for (const ContactStep& step : path.steps) {
    const int pieces = std::max(1, static_cast<int>(std::ceil(step.arc.length / spacing)));
    if (before == 0.0) row(step, 0.0, -1);
    for (int i = 1; i <= pieces; ++i)
      row(step, step.arc.length * i / pieces, i == pieces ? step.contact : -1);
    before += step.arc.length;
  }
  return text;
}

}  // namespace tendril
