#pragma once

#include <span>
#include <vector>

#include "controllers/mobile_controller.hpp"
#include "controllers/trajectory_generator.hpp"
#include "tendril/mobile/mobile_fabrik_solver.hpp"
#include "tendril/mobile/mobile_path_planner.hpp"
#include "tendril/mobile/mobile_postures.hpp"
#include "tendril/mobile/mobile_tracker.hpp"

namespace tendril {

/// The tool of an arm on a mobile platform follows a target body, with position and full
/// orientation.
///
/// 1. A target that moves little is followed from the last solution by MobileTracker: no jump of
///    elbow or plane.
/// 2. For a new one MobileFabrikSolver is asked, first with the platform where it stands, then with
///    its help. The solution is taken when the robot is free there (of obstacles, the floor and its
///    own platform) and on the straight way to it.
/// 3. Otherwise the robot brakes, the cheapest free solution among all planes, elbows, distances
/// and
///    headings of the platform is looked for, some of them in each step, and a way to it by
///    MobilePathPlanner. Where there is no way, the next cheapest solution is tried.
/// 4. Platform and arm go there, paced together under their speed limits. A step that could not
///    brake before a collision is not made.
/// 5. What the servos leave of the setpoints' error is integrated away.
///
/// A target that is refused, or that is not finite, makes the robot brake and hold; the reason is
/// reported. Nothing but the constructor allocates or throws; the work of a step is bounded.
/// docs/mobile.md, "In MuJoCo". Tested by: mobile_reach_controller_test, scenes/youbot_*.
class MobileReachController final : public MobileController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kIterations,
      quantity::kTipError,
      quantity::kAngleError,
      {"reason", "", "MobileStatus of the last solution, as a number"},
      {"arrivals", "", "targets that the tool has come to rest at"},
      {"settled_error", "m",
       "largest tip error after an arrival, from `settle_time` after it until the target moves "
       "away "
       "again, of all arrivals"},
      {"settled_angle", "rad", "the same of the angle"},
      {"base_travel", "m", "distance that the platform has travelled"},
      {"branch_switches", "",
       "changes of the arm's plane from one side of the target to the other"},
      {"searches", "", "searches for poses and paths among obstacles, of all steps together"},
      {"clearance", "m", "of the commanded pose from obstacles; 1 m or more: 1"}};
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
  Slot<double> cost_floor_ = memory_.number();  // goals that cost no more have been given up; < 0:
                                                // none
  Slot<bool> to_best_ = memory_.flag();         // the path to the best is searched
  Slot<bool> planning_ = memory_.flag();        // that search has begun; its trees are in planner_
  Slot<bool> in_vain_ = memory_.flag();         // a whole search has found nothing
  Slot<int> waypoint_count_, next_waypoint_;    // of the path
  Slot<bool> arrived_ = memory_.flag();
  Slot<int> arrivals_ = memory_.counter();
  Slot<double> arrival_time_ = memory_.number(), settled_error_ = memory_.number(),
               settled_angle_ = memory_.number(), travel_ = memory_.number();
  Slot<int> branch_switches_ = memory_.counter(), searches_ = memory_.counter();
  Pose target_ = memory_.matrix<Eigen::Matrix<double, 3, 4>>();       // that the mode is about
  Pose goal_target_ = memory_.matrix<Eigen::Matrix<double, 3, 4>>();  // that the goal meets
  Vectors plan_, velocity_;  // where the robot is planned to be
  Vectors goal_, goal_rate_;
  Vectors correction_, correction_rate_;   // added to the plan for the setpoints
  Vectors best_;                           // of the search for a goal
  MatrixSlot<Eigen::MatrixXd> waypoints_;  // of the path, a column each
  Block planner_memory_;

  Eigen::VectorXd x_, v_, stop_, rate_;   // scratch
  const Obstacles* obstacles_ = nullptr;  // of the running update
};

}  // namespace tendril
