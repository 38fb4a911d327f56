#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tendril/contact/contact_plan.hpp"
#include "tendril/plan_file/plan_file.hpp"

namespace tendril {

/// One path to the target or around the object.
struct ContactPath {
  std::vector<ContactStep> steps;
  double length = 0.0;               ///< [m]
  double max_curvature = 0.0;        ///< [1/m]
  double min_clearance = 0.0;        ///< [m], infinite without obstacles
  std::optional<double> wrap_angle;  ///< of a grasp [rad]
  std::optional<GraspEnd> end;       ///< of a grasp
};

/// A refused arc and the contacts that precede it.
struct RefusedPath {
  RefusedArc arc;
  std::vector<ContactStep> chain;
};

/// Result of the planner for the kind of the plan file; a copy that outlives the planner.
struct PlanResult {
  ContactPlannerStatus status = ContactPlannerStatus::NoSolution;
  std::vector<ContactPath> paths;  ///< in the planner's order
  std::vector<RefusedPath> refused;
  std::array<long, kContactRefusalCount> refusal_counts{};
  std::vector<ContactStep> deepest;          ///< chain with the most contacts; empty for a grasp
  std::optional<double> largest_wrap_angle;  ///< grasp: if smaller than requested [rad]
  long arcs_tried = 0;
  long chains = 0;
  double time = 0.0;  ///< computing time [s]
};

[[nodiscard]] PlanResult solve_plan(const PlanFile& plan);

/// The solution as text of several lines.
[[nodiscard]] std::string plan_text(const PlanFile& plan, const PlanResult& result);

/// The centerline of a path as CSV, `s,x,y,z,heading,curvature,section,contact`, points at most
/// `spacing` [m] apart, including the ends of all arcs; y is 0.
[[nodiscard]] std::string path_csv(const ContactPath& path, double spacing);

/// A path to a target in the form executed by `tendril.contact_plan`.
[[nodiscard]] ContactPlan executable_plan(const PlanFile& plan, const ContactPath& path);

/// The robot file of an arm whose sections lie in the arcs of a path to a target: telescopic, one
/// for each arc, that grow one after the other (`tendril.follow`), in the plane of the plan. Its
/// body is kPlannedRobotRadius as thick as the plan's, so that it touches none of the obstacles.
/// Source: [FABRIKx] sec. 3.3, last paragraph.
[[nodiscard]] std::string planned_robot_toml(const PlanFile& plan, const ContactPath& path);
inline constexpr double kPlannedRobotRadius = 0.8;

/// Name of the end of a step: `contact 3 (+)`, `target`, `object (-)`, `wrap`.
[[nodiscard]] std::string step_name(int contact, int side);

}  // namespace tendril
