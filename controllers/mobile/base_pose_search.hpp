#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "controllers/mobile/trajectory_generator.hpp"
#include "tendril/avoidance/arm_path_planner.hpp"
#include "tendril/avoidance/obstacle_solver.hpp"
#include "tendril/mobile/continuum_solver.hpp"
#include "tendril/mobile/path_planner.hpp"

namespace tendril {

struct BasePoseSearchOptions {
  double platform_length = 0.5, platform_width = 0.5, platform_height = 0.1;  ///< [m], > 0
  double arm_radius = 0.0;  ///< of the arm's body [m], >= 0
  double margin = 0.02;     ///< kept by platform and arm from obstacles [m], >= 0
  MobileSpeedLimits limits{};
  double timestep = 0.002;  ///< [s], > 0
};

/// Search for a base pose of a continuum arm among obstacles, and for the path to it.
///
/// 1. Base poses all around the target are tried, those with the least travel first: the platform
/// and
///    the straight arm, in which it drives, must be free there.
/// 2. From such a pose inverse kinematics among the obstacles reaches for the target, from several
///    starts, and a path from the straight arm to the solution is searched (ArmPathPlanner).
/// 3. A path of the platform to that pose is searched (MobilePathPlanner), with the arm straight.
/// 4. The platform drives along it, all three coordinates synchronized, and stops before what has
///    moved into its path.
///
/// If no base pose is left, the search begins again with directions in between and more tries. It
/// is spread over many steps and the whole state is in the caller's memory; a step's work is
/// bounded, and only the constructor allocates or throws.
class BasePoseSearch {
 public:
  /// `obstacles`: the shapes that `step` is given. Throws ModelError.
  BasePoseSearch(const MobileContinuum& robot, const Obstacles& obstacles,
                 const BasePoseSearchOptions& options);

  enum class Mode { Idle, Choosing, Reaching, Planning, Driving, There };
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] Mode mode(std::span<const double> memory) const noexcept { return mode_(memory); }
  [[nodiscard]] bool is_searching(std::span<const double> memory) const noexcept {
    const Mode mode = mode_(memory);
    return mode == Mode::Choosing || mode == Mode::Reaching || mode == Mode::Planning;
  }
  /// Returns whether all base poses have been tried at least once without success, and none has
  /// been found since.
  [[nodiscard]] bool has_failed(std::span<const double> memory) const noexcept {
    return rounds_(memory) > 0 && is_searching(memory);
  }

  /// Sets the platform's pose, at rest.
  void start(const PlatformPose& at, std::span<double> memory) const noexcept;
  /// Begins a search for a target.
  void begin(std::span<double> memory) const noexcept;
  /// Searches, or drives on. Returns the number of poses that inverse kinematics has evaluated.
  int step(const TipTarget& target, const Obstacles& obstacles, std::span<double> memory) noexcept;
  /// One step of braking.
  void brake(std::span<double> memory) noexcept;

  /// The plan: x, y, heading of the platform and their rates.
  [[nodiscard]] Eigen::Vector3d pose(std::span<const double> memory) const noexcept {
    return plan_(memory).head<3>();
  }
  [[nodiscard]] Eigen::Vector3d rate(std::span<const double> memory) const noexcept {
    return velocity_(memory).head<3>();
  }

 private:
  void list_candidates(const TipTarget& target, const PlatformPose& from, int round) noexcept;
  void choose(const TipTarget& target, const Obstacles& obstacles,
              std::span<double> memory) noexcept;
  int reach(const TipTarget& target, const Obstacles& obstacles, std::span<double> memory) noexcept;
  void plan(const Obstacles& obstacles, std::span<double> memory) noexcept;
  void drive(const Obstacles& obstacles, std::span<double> memory) noexcept;
  void next_candidate(std::span<double> memory) const noexcept;
  [[nodiscard]] const Obstacles& seen_from(const PlatformPose& base,
                                           const Obstacles& obstacles) noexcept;

  MobileContinuum robot_;
  BasePoseSearchOptions options_;
  MobilePathPlanner planner_;
  ObstacleSolver solver_;
  ArmPathPlanner arm_planner_;
  TrajectoryGenerator motion_;

  MemoryLayout layout_;
  Slot<Mode> mode_ = layout_.choice(Mode::Idle, Mode::There);
  Slot<int> candidate_ = layout_.counter(), tries_ = layout_.counter(), slices_ = layout_.counter(),
            rounds_ = layout_.counter();
  Slot<bool> growing_ = layout_.flag();
  Slot<int> waypoint_count_, next_waypoint_;
  MatrixSlot<Eigen::VectorXd> plan_, velocity_, from_, goal_;
  MatrixSlot<Eigen::MatrixXd> waypoints_;
  Block trees_, arm_trees_;

  struct Candidate {
    PlatformPose pose;
    double travel;
    int number;
  };
  // Scratch.
  std::vector<Candidate> candidates_;
  Obstacles seen_;
  std::vector<SectionState> states_;
  Eigen::VectorXd x_, v_, stop_, rate_, q_straight_, q_;
};

}  // namespace tendril
