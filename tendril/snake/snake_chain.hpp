#pragma once

#include <Eigen/Geometry>
#include <numbers>
#include <span>
#include <vector>

namespace tendril {

struct SnakeParameters {
  /// a_1 .. a_N from the base to the head [m], > 0; N is even, >= 2. Universal joints: a_1, a_3,
  /// ... are all 0, so that the axes of joints 2k-1 and 2k meet.
  std::vector<double> link_lengths;
  /// Limit of every joint, in both directions [rad], in (0, pi/2].
  double joint_limit = std::numbers::pi / 2.0;
  /// One limit per joint instead, or empty.
  std::vector<double> joint_limits{};
  /// Length of body 0 behind joint 1 [m], >= 0: 0 for a base or a carriage, a link's length for a
  /// free snake, whose body 0 is one more link.
  double rear_length = 0.0;
};

/// Chain of N = 2n links with hinges whose axes alternate: yaw joints 1, 3, 5, ... rotate about z,
/// pitch joints 2, 4, 6, ... about -y of the body before. Neighboring axes are a link apart and do
/// not meet. Link j (from 1) goes from the point B_{j-1} to B_j, along x of body j; joint j sits at
/// B_{j-1}. Links 2k-1 and 2k form module k. Body 0 is the base, with B_0 as its origin.
///
///     R_j = R_{j-1} Rot(axis_j, phi_j),   axis_j = z for odd j, -y for even j
///     B_j = B_{j-1} + a_j R_j e_x
///
/// Positive yaw moves the nose to +y (left), positive pitch to +z (up). In a chain of universal
/// joints the first link of every module has the length 0: joints 2k-1 (yaw, first) and 2k (pitch)
/// are one universal joint at B_{2k-2} = B_{2k-1}, and link 2k follows it.
/// Source: [Torus] (3)-(10); docs/theory/snakes.md, "The chain".
class SnakeChain {
 public:
  /// Throws ModelError naming the link or joint.
  explicit SnakeChain(SnakeParameters parameters);

  /// `module_count` modules, >= 1, of two links of `link_length` [m] each.
  [[nodiscard]] static SnakeChain uniform(int module_count, double link_length,
                                          double joint_limit = std::numbers::pi / 2.0,
                                          double rear_length = 0.0);

  /// N, as many as links.
  [[nodiscard]] int joint_count() const noexcept {
    return static_cast<int>(parameters_.link_lengths.size());
  }
  /// n = N/2.
  [[nodiscard]] int module_count() const noexcept { return joint_count() / 2; }
  /// a_j [m], j in 1 .. N.
  [[nodiscard]] double link_length(int j) const noexcept {
    return parameters_.link_lengths[static_cast<std::size_t>(j - 1)];
  }
  /// Returns the limit of joint j in 1 .. N, in both directions [rad].
  [[nodiscard]] double joint_limit(int j) const noexcept {
    return parameters_.joint_limits[static_cast<std::size_t>(j - 1)];
  }
  /// Returns a_{2k-1} + a_2k [m], k in 1 .. n.
  [[nodiscard]] double module_length(int k) const noexcept {
    return link_length(2 * k - 1) + link_length(2 * k);
  }
  /// Tells whether the axes of each module's joints meet.
  [[nodiscard]] bool is_universal() const noexcept { return parameters_.link_lengths[0] == 0.0; }
  [[nodiscard]] double rear_length() const noexcept { return parameters_.rear_length; }
  /// Returns the length from B_0 to B_N when straight [m].
  [[nodiscard]] double length() const noexcept { return length_; }
  [[nodiscard]] bool within_limits(std::span<const double> angles) const noexcept;

  /// Largest curvature of a steady arc in the plane of the yaw joints, and of the pitch joints,
  /// that joint j can follow [1/m]:
  ///
  ///     yaw    2 sin(limit/2) / m,  m: mean length of the modules that meet at the joint
  ///     pitch  tan(limit/2) / a,    a: mean length of the links that meet at the joint; of a
  ///                                 universal joint as yaw
  ///
  /// docs/theory/snakes.md, "Steady arcs".
  [[nodiscard]] double curvature_limit(int j) const noexcept;

 private:
  SnakeParameters parameters_;  // joint_limits has one entry per joint
  double length_ = 0.0;
};

/// The points B_0 .. B_N [m] in W. Precondition: N angles [rad], N + 1 points.
void snake_points(const SnakeChain& chain, const Eigen::Isometry3d& X_WB,
                  std::span<const double> angles, std::span<Eigen::Vector3d> p_WL) noexcept;

/// Poses of the bodies 0 .. N in W, each with its origin at the body's output point B_j (body 0: at
/// B_0). A point fixed in link j is at X_WL[j] * p, p.x in [-a_j, 0] along the link.
/// Precondition: N angles [rad], N + 1 poses.
void snake_frames(const SnakeChain& chain, const Eigen::Isometry3d& X_WB,
                  std::span<const double> angles, std::span<Eigen::Isometry3d> X_WL) noexcept;

/// The angles of one module from the position of its end point: D = B_2k - B_{2k-2} in the frame of
/// body 2k-2. Well-conditioned up to pitch = pi/2; on the axis of the yaw joint yaw is 0.
///
///     yaw = atan2(y.D, x.D),   pitch = atan2(z.D, rho - a_{2k-1}),  rho = |D - (z.D) z|
///
/// `gap` is the distance of D from what the module reaches, the outer half of the torus [m],
/// negative inside. Differs: [Torus] (26) has asin(z.D / a_2k), which loses digits near pi/2.
/// Source: [Torus] (16)-(18), (26), (27), corrected in docs/theory/snakes.md, "One
/// module".
struct ModuleAngles {
  double yaw = 0.0;
  double pitch = 0.0;
  double gap = 0.0;
};
[[nodiscard]] ModuleAngles module_angles(const Eigen::Vector3d& D, double first_length,
                                         double second_length) noexcept;

/// The joint angles from the points B_0, B_2, .. B_N alone and the orientation of body 0: [Torus]
/// (26), (27) module by module. Where the first links of the modules are the longer ones, rounding
/// grows from module to module by their ratio ("Zig-zag"). Returns the largest |gap| [m].
/// Precondition: n + 1 points, N angles.
double angles_from_even_points(const SnakeChain& chain, const Eigen::Matrix3d& R_WB,
                               std::span<const Eigen::Vector3d> even_points,
                               std::span<double> angles) noexcept;

}  // namespace tendril
