#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tendril/avoidance/obstacle_solver.hpp"
#include "tendril/avoidance/pose_path.hpp"
#include "tendril/robot_file/robot_description.hpp"

namespace tendril::host {

/// An obstacle of a plan.
struct PlanObstacle {
  std::string name;  ///< "3", or "3[7]" for the eighth of a row
  Obstacle obstacle;
};

/// What an [[obstacle]] of a plan looks like, for drawings; in the robot's base frame.
struct PlanShape {
  enum class Kind {
    Capsule,   ///< the ends, and `radius` about the line between them
    Solid,     ///< the corners of each face
    Prism,     ///< the corners of its section with y = 0; endless along y
    HalfSpace  ///< a point of its plane, and `normal`, away from the solid side
  };
  Kind kind = Kind::Solid;
  std::vector<std::vector<Eigen::Vector3d>> outlines;  ///< points as the kind says [m]
  double radius = 0.0;                                 ///< [m]
  Eigen::Vector3d normal = Eigen::Vector3d::Zero();
  int count = 1;                                   ///< how many stand in a row,
  Eigen::Vector3d step = Eigen::Vector3d::Zero();  ///< each so far from the one before [m]
};

/// A path of a robot's tip through waypoints among obstacles. Contents of a plan file with the key
/// `robot` (docs/planning.md). Everything is in the robot's base frame.
struct PathPlan {
  std::string name;
  ContinuumDescription robot;
  std::vector<SectionState> start;
  BaseState base;
  std::vector<TipTarget> waypoints;
  std::vector<PlanObstacle> obstacles;
  std::vector<PlanShape> shapes;  ///< of the obstacles
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
  /// `reached`, a status of the solver, or `no_free_way`: there is a free pose, but no path to it.
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

/// The path through a plan's waypoints.
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

}  // namespace tendril::host
