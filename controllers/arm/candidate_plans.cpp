#include "controllers/arm/candidate_plans.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "controllers/interface/arm_memory.hpp"
#include "tendril/model_error.hpp"

namespace tendril {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using Feedback = ContactPlanOptions::Feedback;
using Row = CandidatePlan::Row;

constexpr int kMaxPlans = 12;                     // of the scene, that are corrected for elasticity
constexpr double kMinPressingForce = 0.2;         // of a contact in the elastic model [N]
constexpr double kBodyRadiusTolerance = 1e-6;     // [m]
constexpr double kClampedLengthTolerance = 1e-3;  // [m]

/// Command list position: the rows before and after a time, and the fraction of the interval
/// between them.
struct ListPosition {
  const Row& before;
  const Row& after;
  double fraction;
};

/// Past the ends of the list both rows are the first or the last one.
ListPosition position_at(const std::vector<Row>& list, double time) noexcept {
  const auto after = std::upper_bound(list.begin(), list.end(), time,
                                      [](double t, const Row& row) { return t < row.time; });
  if (after == list.begin()) return {list.front(), list.front(), 0.0};
  if (after == list.end()) return {list.back(), list.back(), 0.0};
  const Row& before = *(after - 1);
  return {before, *after, (time - before.time) / (after->time - before.time)};
}

/// Marks the contacts that press in each row, by the states of the elastic correction.
void mark_pressing(const std::vector<CorrectedState>& states, std::vector<Row>& list) {
  for (Row& row : list) {
    const auto state = std::lower_bound(
        states.begin(), states.end(), row.path_length,
        [](const CorrectedState& s, double length) { return s.path_length < length; });
    if (state == states.end()) continue;
    for (std::size_t i = 0; i < state->contacts.size(); ++i)
      if (state->contacts[i].loaded && state->contacts[i].force >= kMinPressingForce)
        row.pressing |= 1U << i;
  }
}

}  // namespace

FedArm fed_arm(const ContinuumRobot& robot, double guide_length, double body_radius) {
  const double length = straight_length(robot);
  FedArm arm{.body_radius = body_radius,
             .guide_length = guide_length,
             .start_length = std::max(0.0, length - guide_length),
             .max_length = robot.base().feed_limit + length - guide_length,
             .max_curvature = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    arm.max_curvature =
        std::min(arm.max_curvature, section.bend_angle_limit_at(0.0) / section.length());
  }
  return arm;
}

Vector3d PlanFrame::to_base(const Vector2d& point) const noexcept {
  const Vector2d local = base.to_local(point);
  return {local.x(), 0.0, guide_length + local.y()};
}

Vector2d PlanFrame::to_plan(const Vector3d& p_B) const noexcept {
  return base.to_world({p_B.x(), p_B.z() - guide_length});
}

PlanActuation CandidatePlan::actuation_at(double time) const noexcept {
  const auto [a, b, fraction] = position_at(list, time);
  const double span = b.time - a.time;
  if (span <= 0.0) return {a.curvature, a.length, 0.0, 0.0};
  return {std::lerp(a.curvature, b.curvature, fraction), std::lerp(a.length, b.length, fraction),
          (b.curvature - a.curvature) / span, (b.length - a.length) / span};
}

double CandidatePlan::path_length_at(double time) const noexcept {
  const auto [a, b, fraction] = position_at(list, time);
  return std::lerp(a.path_length, b.path_length, fraction);
}

Vector2d CandidatePlan::planned_tip(double path_length) const noexcept {
  for (const PlanarArc& arc : tip_path) {
    if (path_length <= arc.length) return arc.pose_at(path_length).position;
    path_length -= arc.length;
  }
  return plan.target();
}

unsigned CandidatePlan::pressing_at(double path_length) const noexcept {
  const auto row =
      std::lower_bound(list.begin(), list.end(), path_length,
                       [](const Row& r, double length) { return r.path_length < length; });
  return row == list.end() ? list.back().pressing : row->pressing;
}

CandidatePlans::CandidatePlans(const ArmContext& context, const ContactPlanOptions& options)
    : options_(options), arm_(fed_arm(context.robot, context.guide_length, context.body_radius)) {
  const std::vector<ContactPlan> plans = read_or_plan(context);
  frame_ = {plans.front().base, context.guide_length};
  InsertionOptions insertion;
  insertion.body_radius = arm_.body_radius;
  insertion.ramp = options_.ramp;
  insertion.speed = options_.speed;
  insertion.acceleration = options_.acceleration;
  insertion.curvature_rate = options_.curvature_rate;
  insertion.start_length = options_.inserted ? 0.0 : arm_.start_length;
  if (options_.elastic) {
    add_elastic(context, plans, insertion);
  } else {
    const ContactPlan& plan = plans.front();
    add(plan, plan.arcs, extensible_insertion(plan.arcs, insertion));
  }
  require_length();
}

/// Returns the plan that is given, or those that lead to the target among the geoms of the scene.
std::vector<ContactPlan> CandidatePlans::read_or_plan(const ArmContext& context) const {
  const Settings& settings = context.settings;
  if (settings.has("plan")) {
    ContactPlan plan = parse_contact_plan(settings.text("plan"), "plan");
    if (std::abs(plan.body_radius - arm_.body_radius) > kBodyRadiusTolerance) {
      throw ModelError(fmt::format("plan: body_radius = {:g} m: must be that of the arm, {:g} m",
                                   plan.body_radius, arm_.body_radius));
    }
    return {std::move(plan)};
  }
  if (!settings.has("target")) {
    throw ModelError(
        "plan: missing: must be the text of a plan, plan = { file = \"NAME\" }, or target = "
        "\"NAME\" of a mocap body, to which a path is then planned");
  }
  if (options_.inserted || !options_.elastic) {
    throw ModelError(fmt::format("{} for an arm that plans its path itself; a plan can be given",
                                 arm_.guide_length <= 0.0 ? "base.guide_length: must be > 0"
                                 : !options_.elastic      ? "elastic: must be true"
                                                          : "inserted: must be false"));
  }
  const ContactProblem problem =
      contact_problem(context.scene.solids("obstacles"), context.scene.position("target"), arm_,
                      options_.max_contacts);
  std::vector<ContactPlan> plans = contact_plans(problem, kMaxPlans);
  if (plans.empty()) {
    throw ModelError(fmt::format("target = {}: no path found with at most {} contacts",
                                 settings.text("target"), options_.max_contacts));
  }
  return plans;
}

/// Adds the plans that have an elastic correction, with it.
void CandidatePlans::add_elastic(const ArmContext& context, const std::vector<ContactPlan>& plans,
                                 const InsertionOptions& insertion) {
  const bool inserted = options_.inserted, plans_itself = !context.settings.has("plan");
  CorrectedPlansOptions correction;
  correction.rod.bending_stiffness = context.bending_stiffness;
  correction.rod.body_radius = arm_.body_radius;
  correction.rod.guide_clearance = arm_.guide_length <= 0.0 ? 0.0 : options_.guide_clearance;
  correction.passing_clearance = inserted ? 0.0 : options_.passing_clearance;
  correction.max_candidates = inserted ? 1 : options_.max_candidates;
  if (plans_itself) correction.max_length = arm_.max_length;
  const CorrectedPlans corrected = corrected_plans(plans, correction);
  if (corrected.plans.empty() && corrected.last == CorrectionStatus::InvalidInput) {
    throw ModelError(
        fmt::format("passing_clearance = {}: must leave room for a path past every contact",
                    context.settings.text("passing_clearance")));
  }
  if (corrected.plans.empty()) {
    throw ModelError(fmt::format(
        "{}: elastic correction: {}: must lead to the target; elastic = false executes a plan as "
        "it is",
        plans_itself ? "target" : "plan", to_string(corrected.last)));
  }
  for (const ElasticPlan& found : corrected.plans) {
    add(found.plan, found.tip_path, elastic_insertion(found.tip_path, found.states, insertion));
    CandidatePlan& candidate = candidates_.back();
    mark_pressing(found.states, candidate.list);
    candidate.start_state = inserted ? found.states.back() : found.states.front();
    if (options_.feedback == Feedback::Model) {
      candidate.replanner.emplace(found.plan.scene, frame_.base, found.plan.contacts, corrected.rod,
                                  ElasticReplannerOptions{});
    }
  }
}

void CandidatePlans::add(const ContactPlan& plan, const std::vector<PlanarArc>& tip_path,
                         const std::vector<InsertionRow>& list) {
  CandidatePlan candidate{
      .plan = plan, .tip_path = tip_path, .list = {}, .replanner = {}, .start_state = {}};
  for (const InsertionRow& row : list)
    candidate.list.push_back({row.time, row.length, row.curvature, row.path_length, 0});
  candidates_.push_back(std::move(candidate));
}

/// Throws ModelError unless the arm is long enough for all plans, or as long as it is clamped.
void CandidatePlans::require_length() const {
  if (arm_.guide_length <= 0.0) {
    const double length = first().list.back().length;
    if (std::abs(arm_.start_length - length) > kClampedLengthTolerance) {
      throw ModelError(
          fmt::format("plan: needs a length of {:g} m: must be that of the clamped arm, {:g} m",
                      length, arm_.start_length));
    }
    return;
  }
  for (const CandidatePlan& candidate : candidates_) {
    for (const Row& row : candidate.list) {
      if (row.length <= arm_.max_length) continue;
      throw ModelError(fmt::format(
          "plan: needs a length of {:g} m: must be at most {:g} m, base.feed and the arm's length "
          "less base.guide_length",
          row.length, arm_.max_length));
    }
  }
}

std::size_t CandidatePlans::max_contacts() const noexcept {
  std::size_t most = 0;
  for (const CandidatePlan& candidate : candidates_)
    most = std::max(most, candidate.plan.contacts.size());
  return most;
}

}  // namespace tendril
