#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/contact/contact_planner.hpp"
#include "tendril/contact/grasp.hpp"
#include "tendril/contact/planar_scene.hpp"

namespace tendril {

/// A planar problem of reaching or grasping with contact. Contents of a plan file
/// (docs/guide/plan_contact.md).
struct PlanFile {
  std::string name;
  PlanarPose base;
  std::optional<Eigen::Vector2d> target;  ///< otherwise `grasp`
  std::optional<GraspGoal> grasp;
  ContactPlannerOptions options;
  PlanarScene scene;
  std::vector<ContactPoint> contacts;
};

/// Throws ModelError `<file>:<line>: <object>: <key> = <value>: <what is allowed>`; obstacles and
/// contacts are counted from 0.
[[nodiscard]] PlanFile parse_plan(std::string_view toml, const std::string& file_name);

}  // namespace tendril
