#pragma once

#include <span>
#include <vector>

#include "controllers/interface/mobile_controller.hpp"
#include "controllers/mobile/trajectory_generator.hpp"
#include "tendril/mobile/fabrik_solver.hpp"
#include "tendril/mobile/path_planner.hpp"
#include "tendril/mobile/postures.hpp"
#include "tendril/mobile/tracker.hpp"

namespace tendril {

/// Moves the tool of an arm on a mobile platform to a target body, in position and full
/// orientation.
///
/// 1. If the target moves little, MobileTracker follows it from the last solution, without a branch
///    switch.
/// 2. For a new target MobileFabrikSolver is called, first with the platform frozen, then with the
///    platform free. The solution is accepted if the configuration and the straight line to it are
///    free of collisions with obstacles, the floor and the platform itself.
/// 3. Otherwise the robot brakes. A search, distributed over the steps, finds the free solution of
///    least cost among all arm planes, elbow branches, distances and headings of the platform;
///    MobilePathPlanner then plans a path to it. If there is no path, the solution of next higher
///    cost is tried.
/// 4. Platform and arm move along the path, synchronized within their speed limits. A step after
///    which the robot could not brake before a collision is not made.
/// 5. From an obstacle too near to brake away from, the platform backs away, in the direction that
///    leads farthest from all obstacles; then it searches for a path again.
/// 6. Integral action on the setpoints removes the steady-state error of the servos.
///
/// If a target is refused or not finite, the robot brakes and holds; the reason is reported. Only
/// the constructor allocates or throws; the work of a step is bounded. docs/guide/mobile.md, "In
/// MuJoCo". Tested by: mobile_reach_controller_test, scenes/youbot_*.
class MobileReachController final : public MobileController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      {"ik_status", "", "MobileStatus of the last solution, as a number"},
      {"targets_reached", "", "targets at which the tool has come to rest"},
      {"settled_error", "m",
       "largest tip error over all arrivals, each from `settle_time` after it until the "
       "target "
       "moves again"},
      {"settled_angle", "rad", "the same for the angle"},
      {"base_travel", "m", "distance traveled by the platform"},
      {"branch_switches", "",
       "changes of the arm's plane from one side of the target to the other"},
      {"searches", "", "searches for configurations and paths among obstacles, over all steps"},
      {"clearance", "m", "of the commanded configuration from obstacles; at most 1"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit MobileReachController(const MobileContext& context);

  void update(const MobileMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, MobileCommand& command,
              ControllerReport& report) noexcept override;

 private:
  enum class Mode { Holding, Going, Searching, Refused };
  using Vectors = MatrixSlot<Eigen::VectorXd>;  // configurations in the memory
  using Pose = MatrixSlot<Eigen::Matrix<double, 3, 4>>;

  void choose(const Eigen::Isometry3d& X_WG, std::span<double> next,
              ControllerReport& report) noexcept;
  [[nodiscard]] bool follow(const Eigen::Isometry3d& X_WG, std::span<double> next,
                            ControllerReport& report) noexcept;
  void reach(const Eigen::Isometry3d& X_WG, std::span<double> next,
             ControllerReport& report) noexcept;
  void search(std::span<double> next, ControllerReport& report) noexcept;
  void adopt(const Eigen::Isometry3d& X_WG, const MobileConfiguration& goal, int waypoints,
             std::span<double> next) noexcept;
  void begin_search(const Eigen::Isometry3d& X_WG, std::span<double> next) const noexcept;
  void move(std::span<double> next, bool hold) noexcept;
  [[nodiscard]] double clearance(const MobileConfiguration& x) noexcept;
  [[nodiscard]] bool is_threatened(std::span<double> next) noexcept;
  [[nodiscard]] bool back_away(std::span<double> next) noexcept;
  void correct(const MobileMeasurement& measurement, std::span<const double> memory,
               std::span<double> next, MobileCommand& command) noexcept;
  void evaluate(const MobileMeasurement& measurement, std::span<double> next,
                ControllerReport& report) const noexcept;
  [[nodiscard]] double side(const MobileConfiguration& x,
                            const Eigen::Isometry3d& X_WG) const noexcept;

  MobileRobot robot_;
  double tolerance_, angle_tolerance_;
  double gain_, correction_limit_;
  double settle_time_, h_;
  double braking_;  // acceleration of the platform [m/s^2]
  MobileFabrikSolver solver_;
  MobileTracker tracker_;
  MobilePostures postures_;
  MobilePathPlanner planner_;
  TrajectoryGenerator motion_;

  Slot<bool> started_ = memory_.flag();
  Slot<Mode> mode_ = memory_.choice(Mode::Holding, Mode::Refused);
  Slot<MobileStatus> reason_ = memory_.choice(MobileStatus::Converged, MobileStatus::BaseBlocked);
  // A search for the cheapest free goal, then for a path to it.
  Slot<int> candidate_;                   // next one
  Slot<bool> has_best_ = memory_.flag();  // a free goal has been found
  Slot<double> best_cost_ = memory_.number();
  Slot<double> cost_floor_ = memory_.number();  // goals up to this cost have been rejected; < 0:
                                                // none
  Slot<bool> to_best_ = memory_.flag();         // a path to the best is being searched
  Slot<bool> planning_ = memory_.flag();        // that search has begun; its trees are in planner_
  Slot<bool> failed_ = memory_.flag();          // a complete search has found nothing
  Slot<int> waypoint_count_, next_waypoint_;    // of the path
  // Clearance of the plan in the previous step, speed at which obstacles approach it, and whether
  // the platform backs away from them.
  Slot<double> clearance_ = memory_.number(), approach_ = memory_.number();
  Slot<bool> backing_ = memory_.flag();
  Slot<bool> arrived_ = memory_.flag();
  Slot<int> targets_reached_ = memory_.counter();
  Slot<double> arrival_time_ = memory_.number(), settled_error_ = memory_.number(),
               settled_angle_ = memory_.number(), travel_ = memory_.number();
  Slot<int> branch_switches_ = memory_.counter(), searches_ = memory_.counter();
  Pose target_ = memory_.matrix<Eigen::Matrix<double, 3, 4>>();       // to which the mode refers
  Pose goal_target_ = memory_.matrix<Eigen::Matrix<double, 3, 4>>();  // reached by the goal
  Vectors plan_, velocity_;  // planned configuration and its rate
  Vectors goal_, goal_rate_;
  Vectors correction_, correction_rate_;   // added to the plan for the setpoints
  Vectors best_;                           // of the search for a goal
  MatrixSlot<Eigen::MatrixXd> waypoints_;  // of the path, a column each
  Block planner_memory_;

  Eigen::VectorXd x_, v_, stop_, rate_;   // scratch
  const Obstacles* obstacles_ = nullptr;  // of the running update
};

}  // namespace tendril
