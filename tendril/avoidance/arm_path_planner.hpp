#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/geometry/rrt_connect.hpp"
#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

struct ArmPathPlannerOptions {  ///< every field has a working default
  int max_nodes = 64;           ///< of each of the two trees, >= 2
  int max_checks = 320;         ///< poses checked in one search, >= 1: bounds its work
  int max_line_checks = 40;  ///< poses checked on one straight line, >= 1; a line that would need
                             ///< more is checked more coarsely
  int max_waypoints = 12;    ///< of a path, >= 1; a path with more of them is no solution
  double safety_distance = 0.0;  ///< body radius and margin [m], >= 0
  double resolution = 5e-3;      ///< the body moves by so much between two checks where it is
                                 ///< nearer than that to an obstacle [m], > 0
};

/// Collision-free path of the whole body from pose to pose: straight lines in the smooth
/// coordinates q of the robot (u, v and s of each section), found by RrtConnect. The first poses
/// tried are the straight arm and poses that are bent less; then seeded random ones.
///
/// Options are validated in the constructor (ModelError). Nothing else allocates or throws; the
/// work of a call is bounded, and its result depends on its arguments only.
class ArmPathPlanner {
 public:
  ArmPathPlanner(const ContinuumRobot& robot, const ArmPathPlannerOptions& options);

  using Pose = RrtConnect::Configuration;

  /// Whether the body keeps the safety distance in a pose; 0.1 mm too near still counts as free.
  [[nodiscard]] bool is_free(const Pose& q, const Obstacles& obstacles,
                             const BaseState& base = {}) noexcept;
  /// Distance of the backbone from the obstacles in a pose, less safety_distance [m].
  [[nodiscard]] double clearance(const Pose& q, const Obstacles& obstacles,
                                 const BaseState& base = {}) noexcept;
  /// Whether poses on the straight line from `a` to `b`, `b` included, are free.
  [[nodiscard]] bool line_is_free(const Pose& a, const Pose& b, const Obstacles& obstacles,
                                  const BaseState& base = {}) noexcept;

  /// Searches a path. Returns the number of its waypoints (poses between `from` and `to`), 0 for a
  /// straight line; -1: none found.
  [[nodiscard]] int search(const Pose& from, const Pose& to, const Obstacles& obstacles,
                           const BaseState& base, std::uint64_t seed) noexcept;
  /// Waypoint i of the path found last.
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr waypoint(int i) const noexcept {
    return search_.waypoint(i);
  }

  /// No point of the body moves farther than this between two poses [m]: the sum over the sections
  /// of their change of bend times the length of the robot from there on, and their change of
  /// length.
  [[nodiscard]] double distance(const Pose& a, const Pose& b) const noexcept;

  /// The least change of pose that increases the clearance: its gradient by differences, scaled so
  /// that a step of 1 increases the clearance by 1 m as long as it is linear; zero where there is
  /// none. Written to `direction`.
  void away(const Pose& q, const Obstacles& obstacles, const BaseState& base,
            Eigen::Ref<Eigen::VectorXd> direction) noexcept;

  [[nodiscard]] const ArmPathPlannerOptions& options() const noexcept { return options_; }

 private:
  struct Space;  // of one search
  void load(const Pose& q) noexcept;

  ContinuumRobot robot_;
  ArmPathPlannerOptions options_;
  std::vector<double> reach_;  // length of the robot from each section's start on
  BodyArcs body_;
  std::vector<SectionState> states_;
  RrtConnect search_;
  std::vector<double> trees_;
  int checks_ = 0;
  Eigen::VectorXd middle_;
};

}  // namespace tendril
