#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tendril/avoidance/avoiding_reach.hpp"
#include "tendril/avoidance/obstacle_descent.hpp"
#include "tendril/ik/ik_result.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {

enum class ObstacleMethod : std::uint8_t {
  Descent,  ///< the method of ObstacleSolver
  Reach,    ///< AvoidingReach alone, Algorithm 2.4 of [FABRIKx], from the start; to compare with
};

struct ObstacleOptions {  ///< every field has a working default
  ObstacleMethod method = ObstacleMethod::Descent;
  int max_iterations = 4000;         ///< poses evaluated in all, >= 1: bounds the worst case
  double position_tolerance = 1e-5;  ///< [m], > 0
  double angle_tolerance = 1e-3;     ///< [rad], > 0
  double body_radius = 0.0;          ///< r of the body about its backbone [m], >= 0
  double margin = 0.0;               ///< kept in addition to the body radius [m], >= 0
  int max_restarts = 1000;  ///< from random poses, while the budget lasts, >= 0; 0: only from the
                            ///< start, for tracking
  ArcSearch search{};       ///< how thoroughly poses are checked against shapes other than spheres
  std::uint64_t seed = 1;   ///< of the restarts; the same seed gives the same solution
};

enum class ObstacleStatus : std::uint8_t {
  Reached,              ///< the tip is within the tolerances and the body keeps the margin
  ReachedButColliding,  ///< the tip is within the tolerances, but the body too near to an obstacle
  NotReached,           ///< no pose found that meets the target
  BaseInObstacle,       ///< no pose can be free
  TargetInObstacle,     ///< no free pose can meet the target; `nearest_free_point` says what can
  InvalidTarget,
  InvalidStart,
};
[[nodiscard]] const char* to_string(ObstacleStatus status) noexcept;

/// Errors and clearance are recomputed from `states`.
struct ObstacleResult {
  ObstacleStatus status = ObstacleStatus::InvalidTarget;
  int iterations = 0;           ///< poses evaluated
  double position_error = 0.0;  ///< [m]
  double angle_error = 0.0;     ///< [rad]; 0 when the direction is free
  double clearance = 0.0;       ///< of the body's surface, radius counted and margin not [m]
  int nearest_obstacle = -1;    ///< index in the list of obstacles; -1: there are none
  bool jumped = false;          ///< found from another pose than the start
  Eigen::Vector3d nearest_free_point = Eigen::Vector3d::Zero();  ///< the target's, or the nearest
                                                                 ///< that keeps the margin [m]
  BaseState base;
  SectionStates states;  ///< best pose, inside the limits; valid until the solver's next call
  [[nodiscard]] bool reached() const noexcept { return status == ObstacleStatus::Reached; }
};

/// Tip poses among obstacles: bounded Levenberg-Marquardt with rows for the obstacles, from the
/// start, then from the pose of FABRIKx with avoidance, then from seeded random poses; or FABRIKx
/// with avoidance alone, `ObstacleMethod::Reach`. A pose is accepted only when the exact clearance
/// of the whole body says so; touching (by up to kTouchDistance) is free.
///
/// Options are validated in the constructor (ModelError); `solve` allocates and throws nothing, its
/// work is bounded by `max_iterations`, and its result depends on its arguments only, not on the
/// order of the obstacles. The robot is copied. docs/guide/clutter.md.
class ObstacleSolver {
 public:
  explicit ObstacleSolver(const ContinuumRobot& robot, const ObstacleOptions& options = {});

  /// Reaches for `target` from `start` (one state per section, clamped first; may be the previous
  /// solution). 0 iterations if the start is a solution. Obstacles may move between calls; nothing
  /// of them is kept.
  [[nodiscard]] ObstacleResult solve(const TipTarget& target, SectionStates start,
                                     const Obstacles& obstacles,
                                     const BaseState& base = {}) noexcept;

  /// Clearance of the body's surface in a pose, and where it is least.
  [[nodiscard]] Clearance clearance(SectionStates states, const Obstacles& obstacles,
                                    const BaseState& base = {}) noexcept;

  /// Tells whether the body keeps the margin in a pose; cheaper than its clearance.
  [[nodiscard]] bool is_free(SectionStates states, const Obstacles& obstacles,
                             const BaseState& base = {}) noexcept;

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const ObstacleOptions& options() const noexcept { return options_; }

 private:
  struct Best {
    double score;
    bool restarted;
  };
  [[nodiscard]] bool descend(SectionStates from, const Obstacles& obstacles, const BaseState& base,
                             bool restarted, int& iterations, Best& best) noexcept;
  [[nodiscard]] bool search(const TipTarget& target, const Obstacles& obstacles,
                            const BaseState& base, int& iterations, Best& best) noexcept;
  [[nodiscard]] bool reach_by_links(const TipTarget& target, const Obstacles& obstacles,
                                    const BaseState& base, int budget, int& iterations,
                                    Best& best) noexcept;
  void report(const TipTarget& target, const Obstacles& obstacles, const BaseState& base,
              ObstacleResult& result) noexcept;

  ContinuumRobot robot_;
  ObstacleOptions options_;
  double safety_distance_;  // body radius and margin
  bool links_keep_planes_;  // FABRIKx is a start
  ObstacleDescent descent_;
  AvoidingReach reach_;
  BodyArcs body_;
  std::vector<SectionState> start_, trial_, drawn_, best_;
};

/// A path of the tip through waypoints: poses between which (theta and length linear in the bend
/// vector) the body remains free.
struct WaypointPath {
  std::vector<std::vector<SectionState>> poses;  ///< the start first
  std::vector<int> pose_of_waypoint;  ///< index in poses; -1: not reached free of collision
  int reached = 0;                    ///< waypoints reached, free of collision
  bool is_continuous = true;          ///< every step between poses was checked free
};

/// Solves waypoint after waypoint, each from the pose before. Each step between two poses is
/// checked at `checks` points; where it collides, the target halfway is solved first, to a depth of
/// six halvings. Allocates.
[[nodiscard]] WaypointPath path_through(ObstacleSolver& solver,
                                        std::span<const TipTarget> waypoints, SectionStates start,
                                        const Obstacles& obstacles, const BaseState& base = {},
                                        int checks = 20);

}  // namespace tendril
