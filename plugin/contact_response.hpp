#pragma once

#include <mujoco/mujoco.h>

#include <Eigen/Core>
#include <span>
#include <utility>
#include <vector>

#include "controllers/controller.hpp"

namespace tendril {

/// What of a link is out of the guide that ends `guide_length` beyond the base: part of its length,
/// and the rate of that with the feed [1/m]. `start`: of the link, from the arm's root [m].
struct Exposure {
  double part = 1.0, rate = 0.0;
};
[[nodiscard]] inline Exposure guide_exposure(double guide_length, double feed, double start,
                                             double length) noexcept {
  if (guide_length <= 0.0) return {};
  const double part = (feed + start + length - guide_length) / length;
  if (part <= 0.0) return {0.0, 0.0};
  return part >= 1.0 ? Exposure{} : Exposure{part, 1.0 / length};
}

/// A joint of an arm as its servos see it, in the order of the chain.
struct DrivenJoint {
  int joint = -1, dof = -1, body = -1;
  int coordinate = -1;     ///< of the robot that the joint is a part of
  double start = 0.0;      ///< of its link, from the arm's root [m]
  double length = 0.0;     ///< of its link [m]
  double gain = 0.0;       ///< force for a unit of the coordinate's command [N m/rad], [N/m]
  double stiffness = 0.0;  ///< of joint and servo together
};

/// Joints that one servo acts on through a tendon.
struct DrivenTendon {
  std::vector<int> joints;  ///< indices in the list of driven joints
  double servo_gain = 0.0;  ///< kp, without the joints' own stiffness
};

/// Contacts of one arm, and how its tip responds to commands while they last.
///
///     (K + N C N^T) dq = G dc - C N n_h dh,     d(tip) = J dq + J_h dh
///
/// K: stiffness of joints and servos, N: columns of contact normals in joint space (and tendons),
/// C: stiffness of the contacts, c: commands, h: feed. docs/derivations-control.md, "Commands of an
/// arm in contact". All memory is taken by the constructor.
class ContactResponse {
 public:
  /// @param base_body  of the arm; its own geoms do not count but for the guide's
  /// @param feed_joint  -1 without a feed
  ContactResponse(const mjModel* m, std::vector<DrivenJoint> joints,
                  std::vector<DrivenTendon> tendons, int base_body, int feed_joint,
                  int coordinate_count, double guide_length);

  /// Fills `contacts` and `tip_response` of the measurement, whose feed must be there. `command`:
  /// the last commanded coordinates.
  void measure(const mjModel* m, const mjData* d, int tip_site, std::span<const double> command,
               ArmMeasurement& out) noexcept;

 private:
  void add_row(double compliance) noexcept;
  void find_contacts(const mjModel* m, const mjData* d, ArmMeasurement& out) noexcept;

  std::vector<DrivenJoint> joints_;
  std::vector<DrivenTendon> tendons_;
  int base_body_, feed_joint_;
  double guide_length_;
  std::vector<int> link_of_body_;   // number of joints up to the body; -1: not of the arm
  std::vector<double> arc_length_;  // per body of the model
  std::vector<std::pair<double, int>> order_;  // contacts by arc length
  int rows_ = 0;
  Eigen::MatrixXd normals_, scaled_;  // joints x rows: N and K^-1 N
  Eigen::MatrixXd small_, rhs_;       // rows x rows and rows x (n + 1), of the Woodbury formula
  Eigen::MatrixXd solution_;          // joints x (n + 1): dq
  Eigen::VectorXd compliance_, feed_part_;
};

}  // namespace tendril
