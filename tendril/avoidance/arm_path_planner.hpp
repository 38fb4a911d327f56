#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/random_states.hpp"

namespace tendril {

struct ArmPathPlannerOptions {  ///< every field has a working default
  int max_nodes = 64;           ///< of each of the two trees, >= 2
  int max_checks = 320;         ///< poses checked in one search, >= 1: bounds its work
  int max_line_checks = 40;  ///< poses checked on one straight line, >= 1; a line that would need
                             ///< more is checked more coarsely
  int max_waypoints = 12;    ///< of a way, >= 1; a way with more of them is no solution
  double safety_distance = 0.0;  ///< body radius and margin [m], >= 0
  double resolution = 5e-3;      ///< the body moves by so much between two checks where it is
                                 ///< nearer than that to an obstacle [m], > 0
};

/// A way for the whole body from pose to pose among obstacles: straight lines in the smooth
/// coordinates q of the robot (u, v and s of each section), found by two trees that grow towards
/// each other (RRT-Connect: Kuffner and LaValle 2000) and shortened. The first poses tried are the
/// straight arm and poses that are bent less; then seeded random ones.
///
/// Options are validated in the constructor (ModelError). Nothing else allocates or throws; the
/// work of a call is bounded, and its result depends on its arguments only.
class ArmPathPlanner {
 public:
  ArmPathPlanner(const ContinuumRobot& robot, const ArmPathPlannerOptions& options);

  using Pose = Eigen::Ref<const Eigen::VectorXd>;

  /// Whether the body keeps off the obstacles in a pose; 0.1 mm too near still counts as free.
  [[nodiscard]] bool is_free(const Pose& q, const Obstacles& obstacles,
                             const BaseState& base = {}) noexcept;
  /// Distance of the body's neutral line from the obstacles in a pose, less safety_distance [m].
  [[nodiscard]] double clearance(const Pose& q, const Obstacles& obstacles,
                                 const BaseState& base = {}) noexcept;
  /// Whether poses on the straight line from `a` to `b`, `b` included, are free.
  [[nodiscard]] bool line_is_free(const Pose& a, const Pose& b, const Obstacles& obstacles,
                                  const BaseState& base = {}) noexcept;

  /// Searches a way. Returns the number of its turns (poses between `from` and `to`, see `turn`), 0
  /// for a straight line; -1: none found.
  [[nodiscard]] int search(const Pose& from, const Pose& to, const Obstacles& obstacles,
                           const BaseState& base, std::uint64_t seed) noexcept;
  /// Turn i of the way found last.
  [[nodiscard]] Eigen::MatrixXd::ConstColXpr turn(int i) const noexcept { return turns_.col(i); }

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
  struct Tree {
    Eigen::MatrixXd poses;  // a column each
    std::vector<int> parents;
    int count = 0;
  };
  void load(const Pose& q) noexcept;
  [[nodiscard]] int extend(Tree& tree, const Obstacles& obstacles, const BaseState& base) noexcept;
  [[nodiscard]] bool connect(Tree& tree, const Obstacles& obstacles,
                             const BaseState& base) noexcept;
  void draw(int attempt, const Pose& from, const Pose& to, SplitMix64& random) noexcept;
  [[nodiscard]] int shorten(const Obstacles& obstacles, const BaseState& base) noexcept;

  ContinuumRobot robot_;
  ArmPathPlannerOptions options_;
  std::vector<double> reach_;  // length of the robot from each section's start on
  BodyArcs body_;
  std::vector<SectionState> states_;
  Tree first_, second_;
  Eigen::MatrixXd way_, turns_;  // a column each
  int way_count_ = 0;
  int checks_ = 0;
  Eigen::VectorXd aim_, middle_;
};

}  // namespace tendril
