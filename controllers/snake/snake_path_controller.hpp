#pragma once

#include <span>
#include <vector>

#include "controllers/interface/snake_controller.hpp"
#include "controllers/snake/snake_settings.hpp"
#include "tendril/snake/folded_path.hpp"
#include "tendril/snake/growing_path.hpp"
#include "tendril/snake/head_pose.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// Follow-the-leader motion: a carriage feeds a chain of hinges along a path that is extended ahead
/// of its head, and the body follows the path of the head. The path is straight along the feed axis
/// over the travel of the carriage, then passes through waypoints, then follows the trail of a
/// target body. It is fixed `look_ahead` ahead of the head and does not change afterwards. All
/// quantities are in the frame of the base: x along the feed, z up.
///
/// A fixed base does not feed. The path begins at it; `fold` of the body's length is folded aside
/// over the path's straight beginning (FoldedPath), and the head advances as the fold straightens:
/// the unfolded length takes the place of the feed.
///
/// Once per `period`, `march_from_base` fits the chain to the path; setpoints are interpolated
/// linearly in between. Feed and joints are synchronized: if a joint would exceed `rate_limit`, the
/// whole motion slows down.
///
/// At the end of the path the snake stops, or returns along the same path (`back`), or its head
/// turns to `head_orientation` and stays where it is (HeadPose).
///
/// A target to which the path cannot be extended (behind the head, or only by too tight a bend) is
/// not added: the status reports it, and the body moves to the end of the existing path and waits.
///
/// Source: [Torus], fed manipulator; docs/theory/snakes.md, "March from the base",
/// "Growing path". Tested by: snake_path_controller_test, scenes/snake_path, scenes/snake_inspect.
class SnakePathController final : public SnakeController {
 public:
  static constexpr Quantity kQuantities[] = {
      quantity::kProgress,
      {"path_error", "m", "largest distance of a joint from the path"},
      {"speed", "m/s", "of the carriage; fixed base: at which the body unfolds"},
      {"heading", "rad", "direction from tail to head about the world's z axis"},
      {"advance", "m", "displacement of the center of mass along the world's x axis"},
      {"rise", "m", "displacement of the center of mass upwards"},
      snake_quantity::kSlip,
      snake_quantity::kGoals,
      {"head_angle_error", "rad",
       "path: angle between the head and `head_orientation`; 0 without one"}};
  [[nodiscard]] static std::span<const SettingInfo> settings();

  /// Checks the whole path through the waypoints by marching along it. Throws ModelError naming the
  /// setting, and the waypoint or the module at fault.
  explicit SnakePathController(const SnakeContext& context);

  void update(const SnakeMeasurement& measurement, std::span<const double> memory,
              std::span<double> next_memory, SnakeCommand& command,
              ControllerReport& report) noexcept override;
  [[nodiscard]] int path(const SnakeMeasurement& measurement, std::span<const double> memory,
                         std::span<Eigen::Vector3d> points) const noexcept override;

  /// Feed, or length unfolded, at which the head is at the last waypoint, or the carriage at the
  /// end of its travel, or the body unfolded [m].
  [[nodiscard]] double feed_end() const noexcept { return feed_end_; }

  /// The setpoints at the end of a period.
  struct Period {
    std::vector<double> angles;          ///< [rad]
    double feed, progress;               ///< [m]
    ControllerStatus status;             ///< meanwhile
    std::vector<CurvePoint> references;  ///< of the path next to the joints and the head, in the
                                         ///< frame of the base; derivatives 0: where they should be
  };
  /// The whole motion of a snake that nothing hinders, from a feed [m], until it rests at the end.
  /// The first entry is the start. Precondition: no target.
  [[nodiscard]] std::vector<Period> motion(double feed, double timestep);
  [[nodiscard]] bool follows_target() const noexcept { return has_target_; }
  /// Steps of the simulation in a period.
  [[nodiscard]] int period_steps() const noexcept { return steps_; }

 private:
  void read_waypoints(const Settings& settings);
  void check_first_waypoint() const;
  void round_corners(double radius);
  void read_fold(const Settings& settings);
  void fold(double length);
  void append_waypoints(GrowingPath& path) const;
  void check_waypoints();
  [[nodiscard]] double stored(double feed) const noexcept { return is_fixed_ ? fold_ - feed : 0.0; }
  /// Returns the path on which the body lies at a feed: folded, with a fixed base.
  [[nodiscard]] FoldedPath body_path(const PathView& path, double feed) const noexcept;
  [[nodiscard]] MarchResult march(const PathView& path, double feed,
                                  MarchMemory out) const noexcept;
  /// Parameter of the head on the path at the next setpoint.
  [[nodiscard]] double head(std::span<double> next) const noexcept;
  void begin(const SnakeMeasurement& measurement, std::span<double> next) const noexcept;
  void extend_path(const SnakeMeasurement& measurement, std::span<double> next) const noexcept;
  void follow_target(const SnakeMeasurement& measurement, std::span<double> next) const noexcept;
  void read_head_orientation(const Settings& settings);
  void move(std::span<double> next, double dt) noexcept;
  void stop(std::span<double> next, double dt, bool is_back) noexcept;
  void turn_head(std::span<double> next, double dt) noexcept;
  void watch(const SnakeMeasurement& measurement, std::span<double> next) noexcept;
  void plan(const SnakeMeasurement& measurement, std::span<double> next) noexcept;
  [[nodiscard]] double progress(double feed, std::span<const double> memory) const noexcept;
  /// Calls visit(point, j) for the references of Period, by the path's parameter near each.
  template <class Visit>
  void visit_references(double feed, std::span<const double> memory, const Visit& visit) noexcept;

  SnakeChain chain_;
  double speed_, acceleration_, rate_limit_, start_delay_, look_ahead_, trail_spacing_;
  double gravity_factor_, jam_path_error_, path_tolerance_;
  bool has_target_, back_, is_fixed_;
  bool turns_head_ = false;
  Eigen::Matrix3d R_BG_ = Eigen::Matrix3d::Identity();  ///< desired orientation of the head
  int steps_;                                           ///< of the simulation in a period
  std::vector<Eigen::Vector3d> waypoints_;
  Eigen::Vector3d direction_ = Eigen::Vector3d::UnitX();  ///< of the path's straight piece
  double straight_;                                       ///< its length [m]
  double fold_ = 0.0;          ///< fixed base: length of the body that is folded at the start [m]
  bool chooses_fold_ = false;  ///< as much as the path is shorter than the body
  double folding_ = 1.0;       ///< of the straight piece over which it is folded [m]
  Eigen::Vector3d aside_ = Eigen::Vector3d::UnitY();  ///< direction of the fold
  double feed_end_;                                   ///< [m]
  MarchOptions march_;
  GrowingPathOptions growing_;  ///< without a curvature limit: waypoints have been checked
  double curvature_limit_;      ///< of the chain in steady arcs, at any roll [1/m]
  int capacity_ = 2;            ///< of the path, in nodes

  // Memory.
  Slot<bool> started_ = memory_.flag();
  Slot<double> start_time_ = memory_.number(), start_feed_ = memory_.number();
  Slot<int> step_;                             // of the period
  Slot<double> feed_ = memory_.number();       // of the last setpoint
  Slot<double> next_feed_ = memory_.number();  // of the next
  Slot<double> path_feed_end_ = memory_.number(), planned_speed_ = memory_.number();
  Slot<double> turned_ = memory_.number();  // fraction of the head's turn at the path's end
  Slot<bool> returning_ = memory_.flag();   // along the path
  Slot<int> waypoint_;                      // index of the next one
  Slot<bool> complete_ = memory_.flag();    // the path is complete
  MatrixSlot<Eigen::Vector3d> target_ = memory_.matrix<Eigen::Vector3d>();  // its last point
  MatrixSlot<Eigen::Vector3d> along_ = memory_.matrix<Eigen::Vector3d>();   // its direction there
  MatrixSlot<Eigen::Vector3d> bend_ = memory_.matrix<Eigen::Vector3d>();    // its last change there
  Slot<ControllerStatus> status_ =
      memory_.choice(ControllerStatus::Working, ControllerStatus::PathTooTight);
  Slot<double> path_error_ = memory_.number();
  Slot<double> sensed_time_ = memory_.number(), sensed_feed_ = memory_.number(),
               sensed_speed_ = memory_.number();
  MatrixSlot<Eigen::Vector3d> start_center_ = memory_.matrix<Eigen::Vector3d>();  // of mass
  Block start_angles_, from_angles_, to_angles_;  // of the start, the last setpoint and the next
  Block parameters_;                              // of the even joints on the path
  Block path_;

  // Scratch: measured joints, commanded ones, frames at the path's end, and the head's turn.
  std::vector<Eigen::Vector3d> points_, commanded_;
  std::vector<Eigen::Isometry3d> frames_;
  HeadPose head_pose_;
};

}  // namespace tendril
