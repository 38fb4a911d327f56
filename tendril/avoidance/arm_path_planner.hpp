#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/geometry/rrt_connect.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

struct ArmPathPlannerOptions {  ///< every field has a working default
  int max_nodes = 256;          ///< of each of the two trees, >= 2
  int max_checks = 20000;       ///< poses checked in one search, >= 1
  int max_line_checks = 100;  ///< poses checked on one straight line, >= 1; a line that would need
                              ///< more is checked more coarsely
  int max_waypoints = 24;     ///< of a path, >= 1; a path with more of them is no solution
  double safety_distance = 0.0;  ///< body radius and margin [m], >= 0
  double resolution = 5e-3;      ///< the body moves by so much between two checks where it is
                                 ///< nearer than that to an obstacle [m], > 0
};

/// Collision-free path of the whole body from a pose to one of several: straight lines in the
/// smooth coordinates q of the robot (u, v and s of each section), found by RrtConnect. The first
/// poses tried are the straight arm and poses that are bent less; then seeded random ones.
///
/// A search may be spread over many calls: its memory is the caller's and may hold anything.
/// Options are validated in the constructor (ModelError). Nothing else allocates or throws; the
/// work of a call is bounded, and its result depends on its arguments only.
class ArmPathPlanner {
 public:
  ArmPathPlanner(const ContinuumRobot& robot, const ArmPathPlannerOptions& options);

  using Pose = RrtConnect::Configuration;

  /// Tells whether the body keeps the safety distance, less `slack` [m], in a pose; 0.1 mm too near
  /// still counts as free.
  [[nodiscard]] bool is_free(const Pose& q, const Obstacles& obstacles, const BaseState& base = {},
                             double slack = 0.0) noexcept;
  /// Distance of the backbone from the obstacles in a pose, less safety_distance [m].
  [[nodiscard]] double clearance(const Pose& q, const Obstacles& obstacles,
                                 const BaseState& base = {}) noexcept;
  /// Tells whether poses on the straight line from `a` to `b`, `b` included, are free. Where the
  /// distance is not kept at `a`, no more than the clearance at `a` is required before `b`.
  [[nodiscard]] bool line_is_free(const Pose& a, const Pose& b, const Obstacles& obstacles,
                                  const BaseState& base = {}, double slack = 0.0) noexcept;

  using Progress = RrtConnect::Progress;
  /// Returns the layout of the memory of a search.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  /// Begins a search. The same seed, >= 0, finds the same path.
  void begin(const Pose& from, const Pose& to, int seed, std::span<double> memory) const noexcept;
  /// Another free pose where the path may end.
  void add_goal(const Pose& to, std::span<double> memory) const noexcept {
    search_.add_goal(to, trees_(memory));
  }
  /// Adds a pose to which the line from reached pose `parent` is free.
  void add_reached(const Pose& q, int parent, std::span<double> memory) const noexcept {
    search_.add_reached(q, parent, trees_(memory));
  }
  /// Counts the poses known to be reached from `from`; below, pose i of them.
  [[nodiscard]] int reached_count(std::span<const double> memory) const noexcept {
    return search_.reached_count(trees_(memory));
  }
  [[nodiscard]] auto reached(int i, std::span<const double> memory) const noexcept {
    return search_.reached(i, trees_(memory));
  }
  /// Continues it, for about `checks` more poses. Found: see `end`, `waypoint_count`, `waypoint`.
  [[nodiscard]] Progress resume(const Obstacles& obstacles, const BaseState& base, int checks,
                                std::span<double> memory) noexcept;
  /// The pose where the path found last ends.
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr end() const noexcept { return search_.end(); }
  /// Poses on it between its ends; 0: a straight line.
  [[nodiscard]] int waypoint_count() const noexcept { return search_.waypoint_count(); }
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
  MemoryLayout layout_;
  Slot<int> seed_;
  Block trees_;
  int checks_ = 0;  // of the running call
  Eigen::VectorXd middle_;
};

}  // namespace tendril
