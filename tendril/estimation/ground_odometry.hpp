#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/memory_layout.hpp"

namespace tendril {

/// A chain of links that lies on level ground, from the tail on. Odd joints turn about z of the
/// link before them, even ones about -y.
struct GroundBody {
  std::vector<double> link_lengths;  ///< a_0 .. a_n [m], >= 0; n joints. One of 0 touches nothing
  std::vector<double> link_masses;   ///< of each, its center in its middle [kg], >= 0
  double radius = 0.025;             ///< of a link [m], > 0
  double friction_along = 0.7;       ///< of the ground along a link, >= 0
  double friction_across = 0.7;      ///< and across it, > 0
  double gravity = 9.81;             ///< [m/s^2], > 0
};

struct GroundOdometryOptions {
  double stiffness = 2000.0;  ///< of a contact, for how the weight is spread [N/m], > 0
  double slip_speed = 0.005;  ///< below which friction grows with the speed [m/s], > 0
};

/// The velocity on the ground of a chain whose shape changes, from the shape and the rotation of
/// its head alone: what friction leaves to it.
///
///     forces    N_i = k max(0, d_i), d_i the depth of the ends of the links below the plane on
///               which the weight is in balance
///     velocity  v minimizes  m |v_c - v_c'|^2 / (2 h) + sum_i N_i |D_i v_i|
///
/// v_c is the velocity of the center of mass, v_c' that of the step before, v_i the velocity of
/// what touches the ground and D_i the friction along and across the link. It is the implicit step
/// of the body's momentum. Without mass and with friction across alone, links do not slip sideways
/// if they can.
/// Source: docs/theory/estimation.md, "Snakes". Tested by: ground_odometry_test.
class GroundOdometry {
 public:
  /// Throws ModelError naming the field outside its range.
  explicit GroundOdometry(GroundBody body, const GroundOdometryOptions& options = {});

  [[nodiscard]] int joint_count() const noexcept {
    return static_cast<int>(body_.link_lengths.size()) - 1;
  }
  [[nodiscard]] const MemoryLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const GroundOdometryOptions& options() const noexcept { return options_; }

  /// The moving shape.
  struct Motion {
    Eigen::Matrix3d R_WH = Eigen::Matrix3d::Identity();  ///< of the last link
    Eigen::Vector3d rate = Eigen::Vector3d::Zero();      ///< of it, world frame [rad/s]
    std::span<const double> angles, angle_rates;         ///< of the joints [rad], [rad/s]
  };
  struct Result {
    Eigen::Vector2d velocity = Eigen::Vector2d::Zero();  ///< of the head [m/s]
    double head_height = 0.0;                            ///< above the ground [m]
    double link_speed = 0.0;  ///< root mean square of the links' velocities on the ground [m/s]
  };
  /// Starts at rest, or with the center of mass at a velocity on the ground [m/s].
  void start(std::span<double> memory,
             const Eigen::Vector2d& velocity = Eigen::Vector2d::Zero()) const noexcept;
  /// One step over a time [s], > 0.
  Result step(std::span<double> memory, const Motion& motion, double time) noexcept;

 private:
  void place(const Motion& motion) noexcept;
  void find_forces(std::span<double> memory) noexcept;
  [[nodiscard]] Eigen::Vector2d find_velocity(const Eigen::Vector2d& last_center,
                                              const Eigen::Vector2d& guess, double time) noexcept;

  GroundBody body_;
  GroundOdometryOptions options_;
  double mass_;
  MemoryLayout layout_;
  MatrixSlot<Eigen::Vector3d> plane_ = layout_.matrix<Eigen::Vector3d>();     // height, slopes
  MatrixSlot<Eigen::Vector2d> center_ = layout_.matrix<Eigen::Vector2d>();    // velocity
  MatrixSlot<Eigen::Vector2d> velocity_ = layout_.matrix<Eigen::Vector2d>();  // of the head
  Slot<bool> began_ = layout_.flag();
  // Scratch; all relative to the head.
  struct Point {
    Eigen::Vector3d position, velocity;  // of the middle line; of what touches the ground
    Eigen::Vector2d along;               // of the link, on the ground
    double force;
  };
  std::vector<Point> points_;  // two of each link that has a length
  Eigen::Vector3d center_of_mass_, center_velocity_;
};

}  // namespace tendril
