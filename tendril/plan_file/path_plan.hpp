#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tendril/avoidance/obstacle_solver.hpp"
#include "tendril/avoidance/pose_path.hpp"
#include "tendril/model/robot_description.hpp"

namespace tendril {

/// An obstacle of a plan.
struct PlanObstacle {
  std::string name;  ///< "3", or "3[7]" for the eighth of a row
  Obstacle obstacle;
};

/// Shape of an [[obstacle]] of a plan, for drawings; in the robot's base frame.
struct PlanShape {
  enum class Kind {
    Capsule,   ///< the end points, and `radius` about the segment between them
    Solid,     ///< the corners of each face
    Prism,     ///< the corners of its section with y = 0; infinite along y
    HalfSpace  ///< a point of its plane, and `normal`, which points away from the solid side
  };
  Kind kind = Kind::Solid;
  std::vector<std::vector<Eigen::Vector3d>> outlines;  ///< points according to the kind [m]
  double radius = 0.0;                                 ///< [m]
  Eigen::Vector3d normal = Eigen::Vector3d::Zero();
  int count = 1;                                   ///< number of equal shapes in a row,
  Eigen::Vector3d step = Eigen::Vector3d::Zero();  ///< displacement from one to the next [m]
};

/// A path of a robot's tip through waypoints among obstacles; a base that feeds is planned too.
/// Contents of a plan file with the key
/// `robot` (docs/guide/plan_paths.md). Everything is in the robot's base frame.
struct PathPlan {
  std::string name;
  ContinuumDescription robot;
  std::vector<SectionState> start;
  BaseState base;
  std::vector<TipTarget> waypoints;
  std::vector<PlanObstacle> obstacles;
  std::vector<PlanShape> shapes;  ///< of the obstacles
  ObstacleOptions options;
  int checks = 20;  ///< points of each step between two poses that are checked for collisions
};

/// Tells whether a plan file's text is of this kind. False also if it is not TOML.
[[nodiscard]] bool is_path_plan(std::string_view toml);

/// Throws ModelError `<file>:<line>: <object>: <key> = <value>: <what is allowed>`; waypoints are
/// counted from 1, obstacles from 0. File names in it are relative to its folder.
[[nodiscard]] PathPlan parse_path_plan(std::string_view toml, const std::string& file_name);

/// The solution for one waypoint.
struct WaypointResult {
  /// `reached`, a status of the solver, or `no_free_path`: there is a free pose, but no path to it.
  std::string status;
  bool reached = false;
  std::vector<SectionState> states;  ///< at the waypoint; the best pose if it was not reached
  BaseState base;                    ///< likewise
  double tip_error = 0.0;            ///< [m]
  double angle_error = 0.0;          ///< [rad]
  double clearance = 0.0;            ///< of the body's surface; infinite without obstacles [m]
  int nearest_obstacle = -1;         ///< index in the plan's list
  int steps = 0;                     ///< poses from the previous waypoint to this one
  double time = 0.0;                 ///< computing time [s]
};

/// The path through a plan's waypoints.
struct PathPlanResult {
  std::vector<WaypointResult> waypoints;
  PosePath path;  ///< the start and all poses up to the last reached waypoint
  int reached = 0;
  double min_clearance = 0.0;  ///< along the whole path; infinite without obstacles [m]
  double time = 0.0;           ///< computing time [s]
};

/// Plans the path. Throws ModelError if the start pose is not free.
[[nodiscard]] PathPlanResult solve_path_plan(const PathPlan& plan);

/// The solution as text, one line per waypoint.
[[nodiscard]] std::string path_plan_text(const PathPlan& plan, const PathPlanResult& solution);

}  // namespace tendril
