#include "apps/host/plan_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

namespace tendril::host {
namespace {

using Json = nlohmann::ordered_json;
using std::numbers::pi;

template <class Planner, class Result>
void copy_search(const Planner& planner, const Result& result, PlanAnswer& answer) {
  answer.status = result.status;
  answer.refusal_counts = result.refusal_counts;
  answer.arcs_tried = result.arcs_tried;
  answer.chains = result.chains;
  for (const RefusedArc& arc : result.refused)
    answer.refused.push_back({arc, planner.chain_steps(arc.chain)});
}

template <class Solution>
PlannedWay way_of(const Solution& solution) {
  PlannedWay way;
  way.steps.assign(solution.steps.begin(), solution.steps.end());
  way.length = solution.length;
  way.max_curvature = solution.max_curvature;
  way.min_clearance = solution.min_clearance;
  return way;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json contacts_json(const std::vector<WrapStep>& steps) {
  Json list = Json::array();
  for (const WrapStep& step : steps)
    list.push_back({{"contact", step.contact}, {"side", step.side}});
  return list;
}

Json steps_json(const std::vector<WrapStep>& steps) {
  Json list = Json::array();
  for (const WrapStep& step : steps)
    list.push_back({{"curvature", step.arc.curvature},
                    {"length", step.arc.length},
                    {"contact", step.contact},
                    {"side", step.side},
                    {"type", to_string(step.type)},
                    {"section", step.section}});
  return list;
}

}  // namespace

PlanAnswer solve_plan(const PlanFile& plan) {
  PlanAnswer answer;
  if (plan.grasp) {
    GraspPlanner planner(plan.options);
    const GraspResult& result = planner.plan(plan.scene, plan.contacts, plan.base, *plan.grasp);
    copy_search(planner, result, answer);
    if (result.largest_wrap_angle > 0.0) answer.largest_wrap_angle = result.largest_wrap_angle;
    for (const GraspSolution& solution : result.solutions) {
      answer.ways.push_back(way_of(solution));
      answer.ways.back().wrap_angle = solution.wrap_angle;
      answer.ways.back().end = solution.end;
    }
    return answer;
  }
  WrapPlanner planner(plan.options);
  const WrapResult& result = planner.plan(plan.scene, plan.contacts, plan.base, *plan.target);
  copy_search(planner, result, answer);
  answer.deepest.assign(result.deepest.begin(), result.deepest.end());
  for (const WrapSolution& solution : result.solutions) answer.ways.push_back(way_of(solution));
  return answer;
}

std::string step_name(int contact, int side) {
  const char* const sign = side > 0 ? " (+)" : side < 0 ? " (-)" : "";
  if (contact == kTargetContact) return "target";
  if (contact == kObjectContact) return fmt::format("object{}", sign);
  if (contact == kHug) return "hug";
  return fmt::format("contact {}{}", contact, sign);
}

std::string plan_text(const PlanFile& plan, const PlanAnswer& answer) {
  std::string text = fmt::format(
      "{}: {}: {} solution{}; {} arcs tried, {} chains\n", plan.name, to_string(answer.status),
      answer.ways.size(), answer.ways.size() == 1 ? "" : "s", answer.arcs_tried, answer.chains);
  for (std::size_t i = 0; i < answer.ways.size(); ++i) {
    const PlannedWay& way = answer.ways[i];
    text += fmt::format("solution {}: length {:.4f} m, largest curvature {:.4f} 1/m, clearance ",
                        i + 1, way.length, way.max_curvature);
    text += std::isfinite(way.min_clearance)
                ? fmt::format("{:.2f} mm",
                              std::abs(way.min_clearance) < 5e-6 ? 0.0 : 1e3 * way.min_clearance)
                : std::string("no obstacles");
    if (way.wrap_angle)
      text += fmt::format(", wrap angle {:.1f} deg{}", *way.wrap_angle * 180.0 / pi,
                          way.end == GraspEnd::LengthLimit ? " (the length ends it)" : "");
    text += '\n';
    for (const WrapStep& step : way.steps) {
      text += fmt::format("  {:<15} curvature {:+9.4f} 1/m  length {:.4f} m",
                          step_name(step.contact, step.side), step.arc.curvature, step.arc.length);
      if (step.type != ContactType::None && step.contact != kHug)
        text += fmt::format("  {}", to_string(step.type));
      if (plan.options.section_count > 1) text += fmt::format("  section {}", step.section);
      text += '\n';
    }
  }
  if (answer.ways.empty() && !answer.deepest.empty()) {
    text += "deepest chain:";
    for (const WrapStep& step : answer.deepest)
      text += fmt::format(" {},", step_name(step.contact, step.side));
    text.back() = '\n';
  }
  if (answer.largest_wrap_angle)
    text += fmt::format("the body has room for {:.1f} deg round the object\n",
                        *answer.largest_wrap_angle * 180.0 / pi);
  std::string refused;
  for (int i = 0; i < kWrapRefusalCount; ++i) {
    const long count = answer.refusal_counts[static_cast<std::size_t>(i)];
    if (count > 0)
      refused += fmt::format("{}{} {}", refused.empty() ? "" : ", ", count,
                             to_string(static_cast<WrapRefusal>(i)));
  }
  if (!refused.empty()) text += fmt::format("refused arcs: {}\n", refused);
  return text;
}

std::string plan_json(const PlanFile& plan, const PlanAnswer& answer) {
  Json json;
  json["name"] = plan.name;
  json["status"] = to_string(answer.status);
  json["solutions"] = Json::array();
  for (const PlannedWay& way : answer.ways) {
    Json solution{{"length", way.length},
                  {"max_curvature", way.max_curvature},
                  {"min_clearance", finite(way.min_clearance)},
                  {"arcs", steps_json(way.steps)}};
    if (way.wrap_angle) solution["wrap_angle"] = *way.wrap_angle;
    if (way.end) solution["end"] = to_string(*way.end);
    json["solutions"].push_back(solution);
  }
  json["refused"] = Json::object();
  for (int i = 0; i < kWrapRefusalCount; ++i)
    json["refused"][to_string(static_cast<WrapRefusal>(i))] =
        answer.refusal_counts[static_cast<std::size_t>(i)];
  json["refused_arcs"] = Json::array();
  for (const RefusedWay& way : answer.refused) {
    const RefusedArc& arc = way.arc;
    Json entry{{"after", contacts_json(way.chain)},
               {"curvature", arc.arc.curvature},
               {"length", arc.arc.length},
               {"contact", arc.contact},
               {"side", arc.side},
               {"reason", to_string(arc.reason)}};
    if (arc.obstacle >= 0) entry["obstacle"] = arc.obstacle;
    json["refused_arcs"].push_back(entry);
  }
  json["deepest"] = contacts_json(answer.deepest);
  if (answer.largest_wrap_angle) json["largest_wrap_angle"] = *answer.largest_wrap_angle;
  json["arcs_tried"] = answer.arcs_tried;
  json["chains"] = answer.chains;
  json["contacts"] = Json::array();
  for (const ContactPoint& contact : plan.contacts)
    json["contacts"].push_back({{"x", contact.disc.centre.x()},
                                {"z", contact.disc.centre.y()},
                                {"radius", contact.disc.radius}});
  return json.dump(2) + '\n';
}

WrapPlan executable_plan(const PlanFile& plan, const PlannedWay& way) {
  return {.base = plan.base,
          .body_radius = plan.options.body_radius,
          .arcs = planned_arcs(way.steps),
          .contacts = planned_contacts(way.steps, plan.contacts, plan.options.body_radius),
          .scene = plan.scene};
}

std::string way_csv(const PlannedWay& way, double spacing) {
  std::string text = "s,x,y,z,heading,curvature,section,contact\n";
  double before = 0.0;
  const auto row = [&](const WrapStep& step, double s, int contact) {
    const PlanarPose pose = step.arc.pose_at(s);
    text += fmt::format("{},{},0,{},{},{},{},{}\n", before + s, pose.position.x(),
                        pose.position.y(), pose.heading, step.arc.curvature, step.section,
                        contact >= 0 ? std::to_string(contact) : "");
  };
  for (const WrapStep& step : way.steps) {
    const int pieces = std::max(1, static_cast<int>(std::ceil(step.arc.length / spacing)));
    if (before == 0.0) row(step, 0.0, -1);
    for (int i = 1; i <= pieces; ++i)
      row(step, step.arc.length * i / pieces, i == pieces ? step.contact : -1);
    before += step.arc.length;
  }
  return text;
}

}  // namespace tendril::host
