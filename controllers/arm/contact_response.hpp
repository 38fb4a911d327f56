#pragma once

#include <Eigen/Core>
#include <span>
#include <utility>
#include <vector>

#include "controllers/arm/arm_mechanics.hpp"

namespace tendril {

/// Contacts of one arm, and how its tip responds to commands while they last.
///
///     (K + N C N^T) dq = G dc - C N n_h dh,     d(tip) = J dq + J_h dh
///
/// K: stiffness of joints and servos, N: columns of contact normals in joint space (and tendons),
/// C: stiffness of the contacts, c: commands, h: feed. Source: docs/theory/obstacles.md,
/// "Commands of an arm in contact". All memory is allocated by the constructor.
class ContactResponse {
 public:
  /// Stiffness of a contact [N/m]: large enough compared with that of a link over its lever arm to
  /// prevent penetration, small enough to keep the equations well conditioned.
  static constexpr double kStiffness = 2e4;

  explicit ContactResponse(const ArmMechanics& arm);

  /// A contact of the physics engine; world frame.
  struct Contact {
    Eigen::Vector3d position, normal;  ///< [m]; unit, towards the arm
    double depth;                      ///< overlap [m]
    double force;                      ///< [N]
    double arc_length;                 ///< of the touching link's middle, from the arm's root [m]
    int joints;                        ///< number of joints between the base and the link
    bool is_guide, is_fixed;
  };
  /// Removes the contacts of the previous step.
  void clear() noexcept { contacts_.clear(); }
  /// Adds a contact, ordered by arc length. Of more than kMaxMeasuredContacts, those nearest to the
  /// base are kept.
  void add(const Contact& contact) noexcept;
  /// Joints of the chain, from the base on, as indices of ArmMechanics::State::joints.
  [[nodiscard]] std::span<const int> chain() const noexcept { return chain_; }

  /// Fills in `contacts` and `tip_response` of the measurement, whose feed must be set before.
  /// @param command  the last commanded coordinates
  /// @param response  false: tip_response is left as it is
  void measure(const ArmMechanics::State& state, std::span<const double> command, bool response,
               ArmMeasurement& out) noexcept;

 private:
  /// A joint, with the gain and stiffness of its servos.
  struct Joint {
    int coordinate;
    bool is_slide;
    double start, length;  // of its link, from the arm's root [m]
    double gain;           // force per unit of the coordinate's command [N m/rad], [N/m]
    double stiffness;      // of joint and servo together
  };
  /// Joints that one servo acts on through a tendon.
  struct Tendon {
    std::vector<int> joints;           // indices of joints_
    std::vector<double> coefficients;  // of the tendon's length
    double servo_gain;                 // kp, without the joints' own stiffness
    bool holds_command;  // its force is zero, apart from the joints' own, where they are as
                         // commanded
  };
  void add_joints(const ArmMechanics& arm);
  void add_tendons(const ArmMechanics& arm);
  void add_section_tendon(int coordinate, double servo_gain, bool holds_command);
  void add_row(double compliance) noexcept;
  void add_contact_rows(const ArmMechanics::State& state, ArmMeasurement& out) noexcept;
  [[nodiscard]] const JointState& at(const ArmMechanics::State& state,
                                     Eigen::Index i) const noexcept {
    return state.joints[static_cast<std::size_t>(chain_[static_cast<std::size_t>(i)])];
  }

  std::vector<int> chain_;
  std::vector<Joint> joints_;  // in the order of the chain
  std::vector<Tendon> tendons_;
  bool has_feed_;
  double guide_length_;
  std::vector<Contact> contacts_;  // by arc length
  int rows_ = 0;
  Eigen::MatrixXd normals_, scaled_;  // joints x rows: N and K^-1 N
  Eigen::MatrixXd small_, rhs_;       // rows x rows and rows x (n + 1), of the Woodbury formula
  Eigen::MatrixXd solution_;          // joints x (n + 1): dq
  Eigen::VectorXd compliance_, feed_normal_;
};

}  // namespace tendril
