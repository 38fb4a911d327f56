#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "apps/host/plan/plan_file.hpp"
#include "tendril/contact/contact_plan.hpp"

namespace tendril::host {

/// One path to the target or round the object.
struct ContactPath {
  std::vector<ContactStep> steps;
  double length = 0.0;               ///< [m]
  double max_curvature = 0.0;        ///< [1/m]
  double min_clearance = 0.0;        ///< [m], infinite without obstacles
  std::optional<double> wrap_angle;  ///< of a grasp [rad]
  std::optional<GraspEnd> end;       ///< of a grasp
};

/// A refused arc and the contacts before it.
struct RefusedPath {
  RefusedArc arc;
  std::vector<ContactStep> chain;
};

/// What the planner of a plan file's kind found; a copy that outlives the planner.
struct PlanResult {
  ContactPlannerStatus status = ContactPlannerStatus::NoSolution;
  std::vector<ContactPath> paths;  ///< in the planner's order
  std::vector<RefusedPath> refused;
  std::array<long, kContactRefusalCount> refusal_counts{};
  std::vector<ContactStep> deepest;          ///< chain with most contacts; empty for a grasp
  std::optional<double> largest_wrap_angle;  ///< grasp: when the body had no room for more [rad]
  long arcs_tried = 0;
  long chains = 0;
};

[[nodiscard]] PlanResult solve_plan(const PlanFile& plan);

/// The solution in words, several lines.
[[nodiscard]] std::string plan_text(const PlanFile& plan, const PlanResult& result);

/// The centreline of a path as CSV, `s,x,y,z,heading,curvature,section,contact`, points at most
/// `spacing` [m] apart, with the ends of all arcs among them; y is 0.
[[nodiscard]] std::string path_csv(const ContactPath& path, double spacing);

/// A path to a target as `tendril.contact_plan` executes it.
[[nodiscard]] ContactPlan executable_plan(const PlanFile& plan, const ContactPath& path);

/// Name of what a step ends at: `contact 3 (+)`, `target`, `object (-)`, `hug`.
[[nodiscard]] std::string step_name(int contact, int side);

}  // namespace tendril::host
