#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "tendril/kinematics/random_states.hpp"
#include "tendril/rod/spatial_rod.hpp"

namespace tendril {

struct SpatialPlannerOptions {       ///< every field has a working default
  double position_tolerance = 1e-4;  ///< of the tip at the target [m], > 0
  double path_step = 0.015;          ///< largest motion of the tip between two poses [m], > 0
  /// Largest motion of any point of the body between two poses, over `path_step`: more is a snap,
  /// which no path has, > 1.
  double largest_motion = 3.0;
  int max_equilibria = 3000;  ///< solved: the bound of the work, >= 1
  std::uint64_t seed = 1;     ///< of the search; the same seed gives the same plan
};

enum class SpatialPlannerStatus : std::uint8_t {
  Reached,
  NotReached,        ///< no path was found within the bound of the work; the nearest one is given
  StartInObstacle,   ///< the straight body at the start overlaps an obstacle
  TargetInObstacle,  ///< the tip would overlap an obstacle
  OutOfReach,        ///< farther from the base than the body is long
};
[[nodiscard]] const char* to_string(SpatialPlannerStatus status) noexcept;

/// A pose of a plan: a stable equilibrium.
struct SpatialPose {
  SpatialActuation actuation;
  Eigen::VectorXd shape;  ///< as SpatialRod::shape
  Eigen::Vector3d tip = Eigen::Vector3d::Zero();
  double contact_force = 0.0;  ///< sum over the contacts [N]
  int contacts = 0;
};

struct SpatialPlan {
  SpatialPlannerStatus status = SpatialPlannerStatus::NotReached;
  std::vector<SpatialPose> poses;  ///< from the start on
  double tip_error = 0.0;          ///< of the last one [m]
  int equilibria = 0;              ///< solved
  [[nodiscard]] bool reached() const noexcept { return status == SpatialPlannerStatus::Reached; }
};

/// Plans how an elastic body in space gets its tip to a target, braced against obstacles where that
/// helps: a tree of stable equilibria, each of which the one before leads to by a small change of
/// the actuation.
///
///     repeat: aim = a random actuation, or a random point for the tip
///             move the node nearest to the aim towards it, one equilibrium a step
///             move the tip from there to the target by its derivatives by the actuation, until it
///             is there or comes no nearer
///
/// Bodies may press against obstacles, slide along them and leave them, but not enter them or snap
/// over. Deterministic; the time is bounded by `max_equilibria`. Extension, not in the sources; the
/// tree is that of [RRT-Connect], in the space of the tip. Tested by: spatial_planner_test.
class SpatialPlanner {
 public:
  /// Throws ModelError as SpatialRod and for options outside their ranges.
  SpatialPlanner(const SpatialBody& body, Obstacles obstacles,
                 const SpatialPlannerOptions& options = {});

  [[nodiscard]] SpatialPlan plan(const Eigen::Vector3d& target);

  [[nodiscard]] const SpatialRod& rod() const noexcept { return rod_; }

 private:
  struct Node {
    SpatialPose pose;
    int parent;
  };
  [[nodiscard]] int nearest(const Eigen::Vector3d& aim) const;
  int steer(int from, const Eigen::Vector3d& aim, bool is_target);
  int drive(int from, const SpatialActuation& aim);
  void resume(int node);
  /// Where the tip must be after a step.
  struct Approach {
    Eigen::Vector3d aim = Eigen::Vector3d::Zero();
    double within = std::numeric_limits<double>::infinity();  // [m]
  };
  bool step(int from, const SpatialActuation& actuation, const Approach& approach);
  [[nodiscard]] SpatialActuation drawn(SplitMix64& random) const;
  [[nodiscard]] int nearest(const SpatialActuation& aim) const;
  [[nodiscard]] SpatialActuation changed(const SpatialActuation& actuation,
                                         const Eigen::MatrixXd& rates,
                                         const Eigen::Vector3d& motion, double damping) const;

  SpatialRod rod_;
  SpatialPlannerOptions options_;
  int equilibria_ = 0;
  std::vector<Node> nodes_;
  std::vector<Eigen::Vector3d> before_;
};

}  // namespace tendril
