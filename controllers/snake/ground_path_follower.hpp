#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controllers/interface/snake_controller.hpp"
#include "tendril/avoidance/ground_map.hpp"
#include "tendril/snake/gait.hpp"

namespace tendril {

/// Guides a free snake along a path on the ground: a path that is given, or one to each goal among
/// the obstacles of the scene. Paths among obstacles are found from everywhere when the controller
/// is constructed; the one from where the snake is goes into its memory, and is traced again when
/// the snake has left it.
///
/// A gait that moves the snake head first takes the whole body along the path: the guided point is
/// the mean of the body, compared with the mean of the segment on which it should lie, and the yaw
/// joints bend as the path does. One that moves it sideways guides the center of mass.
/// Source: docs/theory/snakes.md, "Along a path", "Among obstacles". Tested by:
/// gait_controller_test, snake_test (plugin).
class GroundPathFollower {
 public:
  /// Rows for the controller's table.
  [[nodiscard]] static std::span<const SettingInfo> settings();
  /// Returns whether the settings ask for one.
  [[nodiscard]] static bool is_requested(const Settings& settings);

  /// @param goals  to be reached in order, or empty: the target
  /// Throws ModelError naming the setting if the path is malformed, or the target is missing,
  /// inside or too near to an obstacle, or unreachable.
  GroundPathFollower(const SnakeContext& context, const Gait& gait,
                     std::vector<Eigen::Vector2d> goals, double largest_yaw_offset);

  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }

  struct Guidance {
    double direction = 0.0;   ///< desired, of the motion [rad]
    double path_error = 0.0;  ///< distance from the path [m]
    double gained = 0.0;      ///< decrease of the least remaining length so far [m]
    double remaining = 0.0;   ///< along the path, to its end [m]
    double progress = 0.0;    ///< 0..1
    int goals = 0;            ///< reached
    Eigen::Vector2d goal = Eigen::Vector2d::Zero();  ///< of the present path
    bool on_path = false;                            ///< has come near to the path once
    bool finished = false;  ///< the last goal, or the end of the path, was reached: `path_error`
                            ///< is the distance from it
    bool has_path = true;   ///< to the goal from here
    bool new_goal = false;  ///< a goal was reached in this step
  };
  /// Returns the heading of a body that moves head first, from its joints alone: the wave and a
  /// steady bend are fitted to the headings of the links by least squares, and the rest is that of
  /// its middle. Unlike a mean over a period it has no delay, with which steering would oscillate.
  [[nodiscard]] double heading(const SnakeMeasurement& measurement) const noexcept;

  /// One step. Allocates nothing.
  /// @param center   of mass [m]
  /// @param heading  of the body, without the oscillation of its gait [rad]
  Guidance step(const Eigen::Vector2d& center, double heading,
                std::span<double> memory) const noexcept;

  /// Computes offsets of the yaw joints with which the body lies on its path [rad]; 0 for pitch
  /// joints, and for gaits that move sideways. `offsets`: one for each joint.
  void bends(std::span<const double> memory, std::span<double> offsets) const noexcept;

  /// Writes points of the present path; at most `points.size()`. Returns their number.
  [[nodiscard]] int points(std::span<const double> memory,
                           std::span<Eigen::Vector3d> points) const noexcept;

  /// Distance from obstacles that the snake's middle line keeps [m].
  [[nodiscard]] double clearance() const noexcept { return clearance_; }
  [[nodiscard]] bool is_head_first() const noexcept { return head_first_; }
  [[nodiscard]] double tolerance() const noexcept { return tolerance_; }

  /// What the steps work with, made at construction.
  struct Tables {
    std::span<const double> link_lengths;    ///< [m]
    const Eigen::VectorXd& heading_weights;  ///< of the joints in `heading`
    double footprint_length;                 ///< of the body [m]
    double body_length;                      ///< of the segment on which the body lies [m]
    double look_ahead;                       ///< [m]
    double max_curvature;                    ///< [1/m]
    double spacing;                          ///< between points of paths [m]
    const Eigen::Matrix2Xd& path;            ///< that is given; empty: paths among obstacles
    const GroundMap* map;                    ///< null: the path is given
    std::span<const GroundPaths> paths;      ///< to each goal
  };
  [[nodiscard]] Tables tables() const noexcept {
    return {lengths_,          heading_weights_,
            footprint_.length, body_length_,
            look_ahead_,       max_curvature_,
            spacing_,          path_,
            map_.get(),        paths_};
  }
  static constexpr int kPathPoints = 160;  ///< kept in the memory; the rest of a path comes later

 private:
  /// Points at equal distances; past its ends it continues straight.
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
  /// Location of the snake relative to its path.
  struct Location {
    double tangent;         ///< of the path there [rad]
    Eigen::Vector2d along;  ///< the same as a direction
    double aside;           ///< distance to the left of the path [m]
  };
  /// New paths that may be longer than the last one, in a row.
  static constexpr int kRetries = 3;

  void read_path(const Settings& settings);
  void plan(const SnakeContext& context, std::vector<Eigen::Vector2d> goals);
  void make_map(const SnakeContext& context, const std::vector<Eigen::Vector2d>& goals);
  void require_room(const Eigen::Vector2d& goal, const std::string& name) const;

  /// Paths among obstacles, not one that is given.
  [[nodiscard]] bool is_planned() const noexcept { return path_.cols() == 0; }
  [[nodiscard]] int goal_count() const noexcept { return static_cast<int>(paths_.size()); }
  [[nodiscard]] Eigen::Vector2d goal(int i) const noexcept;
  [[nodiscard]] Line line(std::span<const double> memory) const noexcept;

  void begin(const Eigen::Vector2d& center, double heading,
             std::span<double> memory) const noexcept;
  void trace(const Eigen::Vector2d& center, double heading,
             std::span<double> memory) const noexcept;
  [[nodiscard]] Guidance stay(const Eigen::Vector2d& center, double heading,
                              Guidance guidance) const noexcept;
  bool find_path(const Eigen::Vector2d& center, double heading,
                 std::span<double> memory) const noexcept;
  Location locate(const Line& path, const Eigen::Vector2d& center,
                  std::span<double> memory) const noexcept;
  void guide(const Line& path, const Location& location, std::span<double> memory,
             Guidance& guidance) const noexcept;
  [[nodiscard]] bool is_at_goal(const Line& path, const Location& location,
                                const Eigen::Vector2d& goal,
                                std::span<const double> memory) const noexcept;
  bool next_goal(const Eigen::Vector2d& center, double heading,
                 std::span<double> memory) const noexcept;
  void retrace_if_left(const Line& path, const Location& location, const Eigen::Vector2d& center,
                       double heading, std::span<double> memory) const noexcept;

  std::vector<double> lengths_;  ///< of the links
  GaitFootprint footprint_;
  Eigen::VectorXd heading_weights_;  ///< of the joints in `heading`
  bool head_first_;
  double body_length_;  ///< of the segment on which the body lies [m]; 0: its mean alone
  double look_ahead_, clearance_, goal_tolerance_, tolerance_, max_curvature_;
  double spacing_ = 0.0;
  Eigen::Matrix2Xd path_;  ///< that is given; empty: paths among obstacles
  std::unique_ptr<GroundMap> map_;
  std::vector<GroundPaths> paths_;  ///< to each goal

  MemoryLayout layout_;
  Slot<bool> begun_ = layout_.flag(), has_path_ = layout_.flag(true), on_path_ = layout_.flag();
  Slot<bool> finished_ = layout_.flag();
  Slot<double> s_ = layout_.number();        // of the foremost guided point on the path [m]
  Slot<double> nearest_ = layout_.number();  // least remaining length so far [m]
  Slot<int> retries_ = layout_.index(0, kRetries);
  MatrixSlot<Eigen::Vector2d> traced_at_ =
      layout_.matrix<Eigen::Vector2d>();  // where the last path began
  Slot<int> goal_, point_count_;
  MatrixSlot<Eigen::Matrix2Xd> points_;  // of the path
};

}  // namespace tendril
