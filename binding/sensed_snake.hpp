#pragma once

// Read tendril/estimation/joint_filter.hpp, head_estimator.hpp and ground_odometry.hpp first.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <span>
#include <vector>

#include "controllers/arm/servo.hpp"
#include "controllers/interface/snake_controller.hpp"
#include "tendril/estimation/ground_odometry.hpp"
#include "tendril/estimation/head_estimator.hpp"
#include "tendril/estimation/joint_filter.hpp"
#include "tendril/estimation/snake_observations.hpp"

namespace tendril {

/// What the computer of a snake knows: its joints by their encoders, and the pose of a free snake
/// by the inertial unit in its head and the odometry of its links on level ground. It knows where
/// it starts, and masses and friction as modelled. It sees nothing else.
class SensedSnake {
 public:
  /// What it knows of the pose of body 0.
  enum class Base {
    Known,     ///< it stands, or is on a carriage
    Measured,  ///< free: by the unit
    Unknown,   ///< free: the center of mass and the orientation of link 0 are those at the start
  };
  struct Parameters {
    /// a_0 .. a_n [m]; of each link its mass [kg] and the center of mass from its start [m].
    std::vector<double> link_lengths, link_masses;
    std::vector<Eigen::Vector3d> link_centers;
    double radius = 0.0, joint_limit = 0.0;
    double friction_along = 0.0, friction_across = 0.0;
    Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  ///< [m/s^2]
    double timestep = 0.0;
    Base base = Base::Known;
    SnakeObservations observations;
  };
  /// Throws ModelError for a snake whose sensors do not tell what is asked.
  explicit SensedSnake(Parameters parameters);

  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const JointFilter& filter() const noexcept { return filter_; }
  /// Null: the base is not measured.
  [[nodiscard]] const HeadEstimator* head() const noexcept { return head_ ? &*head_ : nullptr; }
  [[nodiscard]] const GroundOdometry* odometry() const noexcept {
    return odometry_ ? &*odometry_ : nullptr;
  }
  /// Of each joint: from the time of its readings to now, and to that of the unit's.
  [[nodiscard]] std::span<const Eigen::Matrix3d> to_now() const noexcept { return to_now_; }
  [[nodiscard]] std::span<const Eigen::Matrix3d> to_unit() const noexcept { return to_unit_; }

  /// Numbers of its memory and their places.
  struct Memory {
    Memory(int joint_count, Base base);
    MemoryLayout layout;
    Slot<bool> began;
    Block joints, head, odometry;                ///< of the parts
    MatrixSlot<Eigen::Vector3d> rate, force;     ///< of the unit, read last
    MatrixSlot<Eigen::Matrix3d> start_rotation;  ///< of link 0
    MatrixSlot<Eigen::Vector3d> start_center;    ///< of mass
  };

  /// Replaces what sensors do not measure by what follows from the readings. Before the first step
  /// `seen` is the truth; later its clock, feed and target are, and with a known base X_WT.
  /// @param readings  of all sensors of the engine, one after the other
  /// @param arrived   one flag for each of these sensors
  /// @param next      a copy of the memory, written
  /// @param states    of the joints from the tail on, written
  void sense(std::span<const double> readings, std::span<const bool> arrived,
             std::span<double> next, SnakeMeasurement& seen, std::span<JointState> states) noexcept;
  /// Sets the angles of which encoders tell, of a snake that has not begun.
  void read_angles(std::span<const double> readings, std::span<const bool> arrived,
                   Eigen::VectorXd& q) noexcept;
  /// Places the links from the tail on by the angles in `seen`, and sets all that follows from
  /// their places.
  void place(const Eigen::Isometry3d& X_WT, SnakeMeasurement& seen,
             std::span<JointState> states) noexcept;

 private:
  void begin(std::span<double> next, const SnakeMeasurement& seen) noexcept;
  /// Keeps the readings of the unit. Returns whether it has sent a sample.
  bool read_unit(std::span<const double> readings, std::span<const bool> arrived,
                 std::span<double> next) noexcept;
  void move_head(std::span<double> next, bool has_sample) noexcept;
  [[nodiscard]] Eigen::Isometry3d tail_from_head(std::span<const double> next,
                                                 const SnakeMeasurement& seen) const noexcept;

  Parameters parameters_;
  int joints_;
  JointFilter filter_;
  std::optional<HeadEstimator> head_;
  std::optional<GroundOdometry> odometry_;
  Memory memory_;
  std::vector<Eigen::Matrix3d> to_now_, to_unit_;  // of each joint, from the time of its readings
  double total_mass_ = 0.0;
  // Scratch.
  std::vector<double> values_, angles_, rates_;
  std::vector<Eigen::Isometry3d> frames_;  // of the links, at their starts
};

}  // namespace tendril
