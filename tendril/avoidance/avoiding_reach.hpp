#pragma once

#include <vector>

#include "tendril/avoidance/avoidance.hpp"
#include "tendril/ik/ik_result.hpp"
#include "tendril/ik/section_shape.hpp"

namespace tendril {

/// FABRIKx whose backward stage keeps every section clear of obstacles before the next one is
/// placed: a part of ObstacleSolver, which also runs it alone (ObstacleMethod::Reach). A section
/// end that no bend brings out of an obstacle is sent to the obstacle's surface, at most twice in
/// one stage. Source: [FABRIKx] sec. 2.4. Differs: docs/theory/obstacles.md, "Correction of a
/// section".
class AvoidingReach {
 public:
  explicit AvoidingReach(const ContinuumRobot& robot);

  /// The obstacles must live as long as they are used.
  void aim(const TipTarget& target, const Obstacles& obstacles, double safety_distance) noexcept;
  void place(SectionStates states, const BaseState& base) noexcept;
  /// One forward and one backward stage.
  void iterate() noexcept;

  [[nodiscard]] double position_error() const noexcept;
  [[nodiscard]] double angle_error() const noexcept;
  void states(std::span<SectionState> states) const noexcept;

 private:
  struct Link {
    PlaneBend bend;  // theta >= 0
    Eigen::Vector3d side, tangent_point, end, goal;
    double first = 0.0, second = 0.0;
  };
  struct Running {
    Eigen::Vector3d p, z;
  };
  void forward_stage() noexcept;
  void backward_stage() noexcept;
  [[nodiscard]] PlaneBend reach(std::size_t i, const Running& at, const Eigen::Vector3d& goal,
                                Eigen::Vector3d& side) noexcept;
  void settle(std::size_t i, const PlaneBend& bend, const Eigen::Vector3d& side,
              Running& at) noexcept;

  ContinuumRobot robot_;
  std::vector<SectionShape> shapes_;
  std::vector<Link> links_;
  std::vector<BodyArc> arcs_;  // of one section
  TipTarget target_;
  const Obstacles* obstacles_ = nullptr;
  double safety_distance_ = 0.0;
  BaseState base_;
  Eigen::Vector3d tip_axis_ = Eigen::Vector3d::UnitZ();
};

}  // namespace tendril
