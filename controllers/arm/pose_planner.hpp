#pragma once

#include <Eigen/Core>
#include <span>

#include "controllers/interface/arm_controller.hpp"
#include "tendril/ik/ik_result.hpp"

namespace tendril {

/// Moves an arm's planned pose towards a target, one step of the simulation after another: the part
/// of ReachController that decides on the motion. Its robot may be `ContinuumRobot::on_rail`; of
/// such a one the measured feed counts in the first step only. The whole state is in the caller's
/// memory.
class PosePlanner {
 public:
  struct Step {
    bool reached = false;  ///< the solution reaches the target, and there is a path to it
    bool there = false;    ///< the planned pose is the solution
    int iterations = 0;    ///< poses evaluated by the inverse kinematics
    double scale = 0.0;    ///< fraction of the step to the next waypoint or the solution
  };

  static constexpr Eigen::Index kShift = 2;  ///< of a robot on a rail: the coordinate of its feed

  virtual ~PosePlanner() = default;

  /// One step among the obstacles of the measurement. The new planned pose is in `next_memory`,
  /// which is a copy of `memory` on entry. Allocates nothing.
  virtual Step step(const TipTarget& target, const ArmMeasurement& measurement,
                    std::span<const double> memory, std::span<double> next_memory) noexcept = 0;
  [[nodiscard]] virtual const ContinuumRobot& robot() const noexcept = 0;
  /// The planned pose in the memory.
  [[nodiscard]] Eigen::Map<const Eigen::VectorXd> pose(
      std::span<const double> memory) const noexcept {
    return pose_memory_(memory);
  }
  /// The solution in the memory: theta, phi, extension of each section.
  [[nodiscard]] std::span<const double> solution(std::span<const double> memory) const noexcept {
    return solution_memory_(memory);
  }
  /// Layout of its memory.
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

 protected:
  /// Adds solution and pose to the layout, initialized to the straight robot.
  explicit PosePlanner(const ContinuumRobot& robot);
  PosePlanner(const PosePlanner&) = default;
  PosePlanner(PosePlanner&&) = default;
  PosePlanner& operator=(const PosePlanner&) = default;
  PosePlanner& operator=(PosePlanner&&) = default;

  MemoryLayout layout_;
  Block solution_memory_;
  MatrixSlot<Eigen::VectorXd> pose_memory_;
};

/// Largest speeds of a planned pose.
struct PoseRates {
  double rate_limit = 5.0;  ///< of a section command [rad/s], > 0; TipIntegral::kLengthScale
  double feed_speed = std::numeric_limits<double>::infinity();  ///< of a rail [m/s], > 0

  /// The fraction of the line between two poses that is covered in `duration` [s]; above 1 it takes
  /// less time.
  [[nodiscard]] double fraction(const ContinuumRobot& robot,
                                const Eigen::Ref<const Eigen::VectorXd>& from,
                                const Eigen::Ref<const Eigen::VectorXd>& to,
                                double duration) const noexcept;
};

/// The settings rate_limit and feed_speed.
[[nodiscard]] PoseRates read_rates(const Settings& settings);

}  // namespace tendril
