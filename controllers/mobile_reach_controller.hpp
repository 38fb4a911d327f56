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
/// docs/mobile.md, "In MuJoCo". Held by: mobile_reach_controller_test, scenes/youbot_*.
class MobileReachController final : public MobileController {
 public:
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit MobileReachController(const MobileContext& context);

  [[nodiscard]] int memory_size() const noexcept override;
  void reset(std::span<double> memory) const noexcept override;
  void update(const MobileMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, MobileCommand& command,
              MobileReport& report) noexcept override;

 private:
  /// Vectors in the memory, each a configuration.
  enum Part : std::size_t {
    kPlan,      // where the robot is planned to be
    kVelocity,  // of the plan
    kGoal,
    kGoalRate,
    kCorrection,  // added to the plan for the setpoints
    kCorrectionRate,
    kBest,  // of the search for a goal
    kTurn   // the turns of the way follow one another
  };
  enum class Mode { Holding, Going, Searching, Refused };
  using Map = Eigen::Map<Eigen::VectorXd>;

  [[nodiscard]] Map part(std::span<double> memory, std::size_t part) const noexcept;
  void choose(const Eigen::Isometry3d& X_WG, std::span<double> next, MobileReport& report) noexcept;
  [[nodiscard]] bool follow(const Eigen::Isometry3d& X_WG, std::span<double> next,
                            MobileReport& report) noexcept;
  void reach(const Eigen::Isometry3d& X_WG, std::span<double> next, MobileReport& report) noexcept;
  void search(std::span<double> next, MobileReport& report) noexcept;
  void adopt(const Eigen::Isometry3d& X_WG, const MobileConfiguration& goal, int turns,
             std::span<double> next) noexcept;
  void begin_search(const Eigen::Isometry3d& X_WG, std::span<double> next) const noexcept;
  void move(std::span<double> next, bool hold) noexcept;
  void correct(const MobileMeasurement& measurement, std::span<const double> memory,
               std::span<double> next, MobileCommand& command) noexcept;
  void judge(const MobileMeasurement& measurement, std::span<double> next,
             MobileReport& report) const noexcept;
  [[nodiscard]] double side(const MobileConfiguration& x,
                            const Eigen::Isometry3d& X_WG) const noexcept;

  MobileRobot robot_;
  double tolerance_, angle_tolerance_;
  double gain_, correction_limit_;
  double settle_time_, h_;
  MobileFabrikSolver solver_;
  MobileTracker tracker_;
  MobilePostures postures_;
  MobilePathPlanner way_;
  TrajectoryGenerator motion_;
  Eigen::VectorXd x_, v_, stop_, rate_;   // scratch
  const Obstacles* obstacles_ = nullptr;  // of the running update
};

}  // namespace tendril
