#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "controllers/interface/snake_controller.hpp"
#include "tendril/avoidance/ground_map.hpp"
#include "tendril/snake/gait.hpp"

namespace tendril {

/// The way of a free snake on the ground, and where it is on it: a path that is given, or one to
/// each goal among the obstacles of the scene. Ways among obstacles are found from everywhere when
/// the controller is made; the one from where the snake is goes into its memory, and anew when the
/// snake has left it.
///
/// A gait that moves the snake head first takes the whole body along the way: the guided point is
/// the mean of the body, compared with the mean of that part of the way on which it should lie,
/// and the yaw joints bend as the way does. One that moves it sideways guides the center of mass.
/// Source: docs/derivations-snake.md, "Along a path", "Among obstacles". Tested by:
/// gait_controller_test, snake_test (plugin).
class GroundPathFollower {
 public:
  /// Rows for the controller's table.
  [[nodiscard]] static std::span<const SettingInfo> settings();
  /// Whether the settings ask for one.
  [[nodiscard]] static bool is_requested(const Settings& settings);

  /// @param goals  to be reached in order, or empty: the target
  /// Throws ModelError naming the setting: a path that is none, no target, a target in or too near
  /// to an obstacle, no way to it.
  GroundPathFollower(const SnakeContext& context, const Gait& gait,
                     std::vector<Eigen::Vector2d> goals, double largest_yaw_offset);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  struct Guidance {
    double direction = 0.0;   ///< wanted, of the motion [rad]
    double path_error = 0.0;  ///< distance from the way [m]
    double gained = 0.0;      ///< of what remains, in this step; less than before at best [m]
    double remaining = 0.0;   ///< along the way, to its end [m]
    double progress = 0.0;    ///< 0..1
    int goals = 0;            ///< reached
    Eigen::Vector2d goal = Eigen::Vector2d::Zero();  ///< of the present way
    bool on_path = false;                            ///< has come near to the way once
    bool finished = false;  ///< the last goal, or the end of the path, was reached: `path_error`
                            ///< is the distance from it
    bool has_path = true;   ///< to the goal from here
    bool new_goal = false;  ///< a goal was reached in this step
  };
  /// The heading of a body that moves head first, from its joints alone: the wave and a steady bend
  /// are fitted to the headings of the links by least squares, and what remains is that of its
  /// middle. Unlike a mean over a period it has no delay, with which steering would swing.
  [[nodiscard]] double heading(const SnakeMeasurement& measurement) const noexcept;

  /// One step. Allocates nothing.
  /// @param center   of mass [m]
  /// @param heading  of the body, without the swing of its gait [rad]
  Guidance step(const Eigen::Vector2d& center, double heading,
                std::span<double> memory) const noexcept;

  /// Offsets of the yaw joints with which the body lies on its way [rad]; 0 for pitch joints, and
  /// for gaits that move sideways. `offsets`: one for each joint.
  void bends(std::span<const double> memory, std::span<double> offsets) const noexcept;

  /// Points of the present way; at most `points.size()`. Returns their number.
  [[nodiscard]] int points(std::span<const double> memory,
                           std::span<Eigen::Vector3d> points) const noexcept;

  /// Distance from obstacles that the snake's middle line keeps [m].
  [[nodiscard]] double clearance() const noexcept { return clearance_; }
  [[nodiscard]] bool is_head_first() const noexcept { return head_first_; }
  [[nodiscard]] double tolerance() const noexcept { return tolerance_; }

 private:
  /// Points at equal distances; beyond its ends it goes straight on.
  struct Line {
    Eigen::Map<const Eigen::Matrix2Xd> points;
    double spacing;
    [[nodiscard]] double length() const noexcept {
      return static_cast<double>(points.cols() - 1) * spacing;
    }
    [[nodiscard]] Eigen::Vector2d at(double s) const noexcept;
    /// Direction from s to s + ds [rad].
    [[nodiscard]] double direction(double s, double ds) const noexcept;
  };
  [[nodiscard]] Line line(std::span<const double> memory) const noexcept;
  void read_path(const Settings& settings);
  void plan(const SnakeContext& context, std::vector<Eigen::Vector2d> goals);
  void trace(const Eigen::Vector2d& center, double heading,
             std::span<double> memory) const noexcept;
  /// Ways that may be tried in turn without coming nearer than on those before.
  static constexpr int kRetries = 3;
  [[nodiscard]] Eigen::Vector2d goal(int i) const noexcept;

  std::vector<double> lengths_;  ///< of the links
  GaitFootprint footprint_;
  Eigen::VectorXd heading_weights_;  ///< of the joints in `heading`
  bool head_first_;
  double body_;  ///< part of the way on which the body lies [m]; 0: its mean alone
  double look_ahead_, clearance_, goal_tolerance_, tolerance_, max_curvature_;
  double spacing_ = 0.0;
  Eigen::Matrix2Xd path_;  ///< empty: ways among obstacles
  std::unique_ptr<GroundMap> map_;
  std::vector<GroundPaths> ways_;  ///< to each goal

  MemoryLayout layout_;
  Slot<bool> begun_ = layout_.flag(), has_path_ = layout_.flag(true), on_path_ = layout_.flag();
  Slot<bool> finished_ = layout_.flag();
  Slot<double> s_ = layout_.number();        // of the foremost guided point on the way [m]
  Slot<double> nearest_ = layout_.number();  // least of what remained of the way [m]
  Slot<int> retries_ = layout_.index(0, kRetries);
  MatrixSlot<Eigen::Vector2d> tried_ =
      layout_.matrix<Eigen::Vector2d>();  // where the last way began
  Slot<int> goal_, count_;                // of points of the way
  MatrixSlot<Eigen::Matrix2Xd> way_;
};

}  // namespace tendril
