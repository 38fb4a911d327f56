#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tendril/avoidance/obstacle_solver.hpp"
#include "tendril/avoidance/pose_path.hpp"
#include "tendril/robot_file/robot_file.hpp"

namespace tendril::host {

/// An obstacle of a plan, with what its picture is made of.
struct PlanObstacle {
  std::string name;  ///< "3", or "3[7]" for the eighth of a row
  Obstacle obstacle;
  /// Outlines of its faces in the robot's base frame [m]; together they cover what the solid
  /// covers. Empty for spheres, capsules and half spaces.
  std::vector<std::vector<Eigen::Vector3d>> faces;
  std::optional<std::array<Eigen::Vector3d, 2>> segment;  ///< of a sphere (equal ends) or a capsule
  double radius = 0.0;                                    ///< about the segment [m]
};

/// A way for a robot's tip through waypoints among obstacles. Contents of a plan file with the key
/// `robot` (docs/planning.md). Everything is in the robot's base frame.
struct PathPlan {
  std::string name;
  RobotDescription robot;
  std::vector<SectionState> start;
  BaseState base;
  std::vector<TipTarget> waypoints;
  std::vector<PlanObstacle> obstacles;
  ObstacleOptions options;
  int checks = 20;  ///< places of each step between two poses that are checked
};

/// Whether a plan file's text is of this kind. False too where it is not TOML.
[[nodiscard]] bool is_path_plan(std::string_view toml);

/// Throws ModelError `<file>:<line>: <object>: <key> = <value>: <what is allowed>`; waypoints are
/// counted from 1, obstacles from 0. Files that it names are relative to its folder.
[[nodiscard]] PathPlan parse_path_plan(std::string_view toml, const std::string& file_name);

/// What was found for one waypoint.
struct WaypointResult {
  /// `reached`, a status of the solver, or `no_free_way`: there is a free pose, but no way to it.
  std::string status;
  bool reached = false;
  std::vector<SectionState> states;  ///< the pose there; the best one where it was not reached
  double tip_error = 0.0;            ///< [m]
  double angle_error = 0.0;          ///< [rad]
  double clearance = 0.0;            ///< of the body's surface; infinite without obstacles [m]
  int nearest_obstacle = -1;         ///< index in the plan's list
  int steps = 0;                     ///< poses that lead here from the waypoint before
  double time = 0.0;                 ///< taken by the planner [s]
};

/// The way through a plan's waypoints.
struct PathPlanResult {
  std::vector<WaypointResult> waypoints;
  PosePath path;  ///< the start and all poses up to the last waypoint that was reached
  int reached = 0;
  double min_clearance = 0.0;  ///< along the whole path; infinite without obstacles [m]
  double time = 0.0;           ///< taken by the planner [s]
};

/// Throws ModelError when the start pose is not free.
[[nodiscard]] PathPlanResult solve_path_plan(const PathPlan& plan);

/// The solution in words, a line for each waypoint.
[[nodiscard]] std::string path_plan_text(const PathPlan& plan, const PathPlanResult& solution);

/// The solution as one JSON object (docs/planning.md).
[[nodiscard]] std::string path_plan_json(const PathPlan& plan, const PathPlanResult& solution);

}  // namespace tendril::host
