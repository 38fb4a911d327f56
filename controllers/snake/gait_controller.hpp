#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controllers/interface/snake_controller.hpp"
#include "controllers/snake/ground_path_follower.hpp"
#include "controllers/snake/snake_settings.hpp"
#include "controllers/watch/progress_watch.hpp"
#include "tendril/snake/gait.hpp"

namespace tendril {

/// Moves a free snake by gaits: one gait, a schedule of gaits, from goal to goal, or up and down a
/// pole.
///
/// Every change of gait, including the start from the measured pose, blends linearly between two
/// gaits that share one phase. Steering to a goal uses the center of mass and the heading (tail to
/// head), both averaged over a period of the gait because the body oscillates. Sidewinding moves
/// sideways; if the goal is on the other side, the direction of sidewinding is changed instead of
/// rotating the body. Source: docs/theory/snakes.md. Tested by: gait_controller_test,
/// scenes/snake_*.
class GaitController final : public SnakeController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kProgress,
      {"path_error", "m", "distance from the present path of the task"},
      {"speed", "m/s",
       "of the center of mass, mean over the last period; with a carriage: of the carriage"},
      {"heading", "rad",
       "direction from tail to head about the world's z axis, mean over the last period"},
      {"advance", "m", "displacement of the center of mass along the world's x axis"},
      {"rise", "m", "displacement of the center of mass upwards"},
      snake_quantity::kSlip,
      snake_quantity::kGoals};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Throws ModelError naming the setting.
  explicit GaitController(const SnakeContext& context);

  void update(const SnakeMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, SnakeCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] PoseNeed pose_need() const noexcept override;
  [[nodiscard]] int path(const SnakeMeasurement& measurement, std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

  struct Stage {
    double time;  ///< begins [s]
    Gait gait;
  };
  /// The gaits of the schedule, at least one; the first begins at 0.
  [[nodiscard]] std::span<const Stage> stages() const noexcept { return stages_; }
  /// Of a path, or among obstacles; null: neither.
  [[nodiscard]] const GroundPathFollower* follower() const noexcept { return follower_.get(); }

 private:
  [[nodiscard]] static std::span<const SettingInfo> own_settings();

  enum class Wrap { No, Left, Right };
  enum class Climbing { Closing, Rolling, Holding, Releasing };
  /// Motion of the body, averaged over the last period.
  struct Motion {
    double heading = 0.0;  ///< [rad]
    double speed = 0.0;    ///< [m/s]
  };

  [[nodiscard]] Gait read_gait(const Settings& settings, GaitKind kind) const;
  void read_schedule(const Settings& settings);
  void read_goals(const Settings& settings);
  void read_pole(const SnakeContext& context);
  /// Number of the joint in the middle, which need not be whole.
  [[nodiscard]] double middle() const noexcept { return 0.5 * (joints_ + 1); }
  void begin(const SnakeMeasurement& measurement, std::span<double> next) const noexcept;
  void fade(std::span<double> next, double time) const noexcept;
  [[nodiscard]] Motion average(const SnakeMeasurement& measurement,
                               std::span<double> next) const noexcept;
  /// Motion in one step, by which a task is evaluated.
  struct Step {
    Eigen::Vector3d moved;  ///< by the center of mass [m]
    double periods;         ///< of the gait
  };
  /// State of a climb in one step.
  struct Climb {
    double time;       ///< [s]
    double rise;       ///< [m]
    double remaining;  ///< to the present height [m]
  };

  // Tasks. Each returns the factor of the gait's frequency.
  double steer(const SnakeMeasurement& measurement, const Motion& motion, const Step& step,
               std::span<double> next, ControllerReport& report) const noexcept;
  double follow(const SnakeMeasurement& measurement, const Motion& motion, const Step& step,
                std::span<double> next, ControllerReport& report) noexcept;
  double climb(const Step& step, std::span<double> next, double time,
               ControllerReport& report) const noexcept;
  double keep_speed(const Motion& motion, std::span<double> next, double h) const noexcept;

  /// Turns the motion towards a direction [rad]; returns how far it is from it now, >= 0.
  double turn_to(double direction, double heading, double time, double h,
                 std::span<double> next) const noexcept;
  void bend_along_path(double h, std::span<double> next) noexcept;
  void enter(Climbing stage, double time, std::span<double> next) const noexcept;
  void begin_roll(const Climb& climb, std::span<double> next) const noexcept;
  double roll(const Climb& climb, const Step& step, std::span<double> next,
              ControllerReport& report) const noexcept;
  void hold(const Climb& climb, std::span<double> next, ControllerReport& report) const noexcept;

  [[nodiscard]] GaitSteering steering(const Gait& gait,
                                      std::span<const double> memory) const noexcept;
  double blend_gaits(double time, std::span<const double> memory, SnakeCommand& command) noexcept;
  void wrap_angles(const Gait& closed, double passed, double fraction,
                   std::span<const double> memory) noexcept;
  void straighten(double time, SnakeCommand& command) const noexcept;
  void report_motion(const SnakeMeasurement& measurement, const Motion& motion,
                     std::span<const double> memory, ControllerReport& report) const noexcept;

  int joints_;
  double joint_limit_;
  std::vector<Stage> stages_;
  double fade_time_, ramp_time_;
  double steering_, speed_;
  std::vector<Eigen::Vector2d> goals_;
  bool follows_target_;
  double goal_tolerance_;
  std::vector<double> heights_;
  double hold_time_, release_time_;
  Wrap wrap_ = Wrap::No;
  ProgressWatch progress_;
  AdvanceWatch advance_;
  std::unique_ptr<GroundPathFollower> follower_;  ///< of a path, or among obstacles; null: neither

  // Memory.
  static constexpr int kBins = 40;  // of a period, for averages
  Slot<bool> started_ = memory_.flag();
  Slot<double> phase_ = memory_.number();
  Slot<double> factor_ = memory_.number();      // of the gait's frequency, rate-limited
  Slot<int> from_stage_, to_stage_;             // -1: the start pose
  Slot<double> fade_start_ = memory_.number();  // time
  Slot<double> side_ = memory_.number(1.0), side_target_ = memory_.number(1.0);
  Slot<double> side_time_ = memory_.number();  // of the last change
  Slot<double> turn_ = memory_.number();
  Slot<double> roll_ = memory_.number();  // of the body, from which the bends are turned back
  Slot<int> goal_;
  Slot<Climbing> climbing_ = memory_.choice(Climbing::Closing, Climbing::Releasing);
  Slot<int> height_;  // index of the next one
  Slot<double> stage_time_ = memory_.number();
  Slot<double> held_ = memory_.number();  // rise at the beginning of the hold
  Slot<double> slip_ = memory_.number(), speed_factor_ = memory_.number(1.0);
  Slot<double> nearest_ = memory_.number();  // smallest distance from the present height
  Block progress_memory_ = memory_.part(progress_.layout());
  Block advance_memory_ = memory_.part(advance_.layout());
  Block path_memory_;
  MatrixSlot<Eigen::VectorXd> bends_;  // of the yaw joints, as the path bends [rad]
  MatrixSlot<Eigen::Vector3d> last_center_ = memory_.matrix<Eigen::Vector3d>();
  MatrixSlot<Eigen::Vector3d> start_center_ = memory_.matrix<Eigen::Vector3d>();
  MatrixSlot<Eigen::Vector2d> segment_ = memory_.matrix<Eigen::Vector2d>();  // start of the motion
                                                                             // to the present goal
  Slot<int> bin_ = memory_.index(-1, kBins - 1, -1);
  Slot<double> heading_ = memory_.number(), mean_speed_ = memory_.number();
  MatrixSlot<Eigen::VectorXd> start_angles_;
  MatrixSlot<Eigen::VectorXd> bin_time_;     // of each bin; -1: none yet
  MatrixSlot<Eigen::MatrixXd> bin_center_;   // of mass, a column each
  MatrixSlot<Eigen::MatrixXd> bin_heading_;  // from tail to head, horizontal, a column each

  std::vector<double> from_, to_;      // scratch: angles of the two gaits
  std::vector<double> desired_bends_;  // scratch
};

}  // namespace tendril
