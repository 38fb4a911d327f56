#pragma once

// Read continuum_robot.hpp first; then sensors.hpp, static_estimator.hpp, arm_estimator.hpp.

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"
#include "tendril/kinematics/jacobian.hpp"
#include "tendril/kinematics/tendon_map.hpp"

namespace tendril {

/// A point of the backbone.
struct BodyPlace {
  int section = -1;       ///< from 0; -1: the last one
  double fraction = 1.0;  ///< of the section's arc length, in [0, 1]
};

/// The moment stiffness (q - rest) + damping q' of the body against one coordinate; SI units.
struct CoordinateSpring {
  double stiffness = 0.0;  ///< [N m/rad], [N/m], > 0
  double damping = 0.0;    ///< [N m s/rad], [N s/m], > 0
  double rest = 0.0;       ///< [rad], [m]
};

/// Parameters of an elastic arm, as a user gives them.
struct ElasticArmParameters {
  std::vector<CoordinateSpring> springs;  ///< one per coordinate q
  /// One per section: against a bend that differs along it, which a drive of the whole section does
  /// not hold [N m/rad], > 0; empty: as against its bends.
  std::vector<double> uneven_stiffnesses{};
  std::vector<double> section_masses;        ///< one per section [kg], >= 0, even along the section
  double payload = 0.0;                      ///< at the tip [kg], >= 0
  double root_mass = 0.0;                    ///< at the start, felt by the base alone [kg], >= 0
  Eigen::Vector3d gravity{0, 0, -9.81};      ///< base frame [m/s^2]
  std::vector<TendonRoute> tendons{};        ///< may be none
  std::vector<double> tendon_compliances{};  ///< one per tendon [m/N], >= 0; empty: 0
  /// One per tendon that a servo holds at a length: what its tension grows by with its length
  /// [N/m] and with its rate [N s/m], >= 0, 0 of the others; empty: 0. Such a tendon has no
  /// compliance.
  std::vector<double> tendon_stiffnesses{}, tendon_dampings{};
  BodyPlace force_place{};    ///< of the external force; default: the tip
  double guide_length = 0.0;  ///< of a straight guide that begins at the base, through which an arm
                              ///< of even sections of one length is fed; 0: none [m]
  bool disturbed = false;  ///< by what nothing tells of, as contacts along the body and twist: the
                           ///< state has d and b
};

/// Measured inputs of an arm in one step.
struct ArmInput {
  Eigen::VectorXd tension;  ///< of the tendons where they are measured; of one that a servo holds
                            ///< what it would be at rest in the straight arm [N]
  Eigen::VectorXd moment;   ///< of other actuators on q [N m], [N]
  BaseState base;
};

/// An arm of springs and masses on its constant-curvature sections. Its state is one vector,
///
///     x = [ q (n), q' (n), f (3), eta (t), and of a disturbed arm d (n), b (3) ]
///
/// with the external force f [N], base frame, at `force_place`. The share eta of the
/// tension T is lost to friction, or gained: T (1 + eta) reaches the body. Contacts along the body
/// have the moments K scale d, and b is what sections of constant curvature leave out of the
/// position of the tip: what contacts do within a section or in the clearance of a guide, and
/// twist. The balance
///
///     T = measured + k l(q)
///     r = moment - (dl/dq)^T T (1 + eta) + sum_j m_j J_j^T g + J^T f + K (d scale - q + rest)
///     M q'' = r - D q',   M = sum_j m_j J_j^T J_j
///
/// with the stiffness k of servos that hold tendons leaves out Coriolis forces and the inertia of
/// rotations. D has the damping of these servos too. A section's mass is in two points that have
/// its center of mass and moment of inertia while it is straight (Gauss-Legendre points). A
/// coordinate across the plane that a section bends in stays at 0.
///
/// In a guide the body is straight. The q of the state are then the bends that the sections would
/// have if the curvature of their part outside, a fraction e of their length, were that of all of
/// them: they bend by e q, and e (K (q - rest) + D q') holds them, with e K scale d of contacts.
/// `exposure` has e of each coordinate, 1 without a guide.
///
/// Functions write into buffers of the object; nothing allocates after construction.
/// Source: docs/theory/estimation.md, "The body". Tested by: elastic_arm_test.
class ElasticArm {
 public:
  /// Throws ModelError naming the field outside its range or of a wrong size.
  ElasticArm(const ContinuumRobot& robot, const ElasticArmParameters& parameters);

  struct MassPoint {
    BodyPlace place;
    double mass;
  };
  /// Balance r of the coordinates, its derivatives, and M: see above.
  struct Balance {
    Eigen::VectorXd moment;                             ///< r [N m], [N]
    Eigen::MatrixXd mass;                               ///< M, n x n
    Eigen::MatrixXd by_q;                               ///< dr/dq, n x n
    Eigen::Matrix<double, Eigen::Dynamic, 3> by_force;  ///< J^T, n x 3
    Eigen::MatrixXd by_friction;                        ///< n x t
    Eigen::MatrixXd by_load;                            ///< n x load_count()
  };

  [[nodiscard]] const ContinuumRobot& robot() const noexcept { return robot_; }
  [[nodiscard]] const ElasticArmParameters& parameters() const noexcept { return parameters_; }
  /// Of a base that turns; base frame [m/s^2].
  void set_gravity(const Eigen::Vector3d& gravity) noexcept { parameters_.gravity = gravity; }
  [[nodiscard]] const TendonMap& tendons() const noexcept { return tendons_; }
  [[nodiscard]] const std::vector<MassPoint>& masses() const noexcept { return masses_; }
  [[nodiscard]] int coordinate_count() const noexcept { return robot_.coordinate_count(); }
  [[nodiscard]] int tendon_count() const noexcept { return tendons_.tendon_count(); }
  [[nodiscard]] int load_count() const noexcept {
    return parameters_.disturbed ? coordinate_count() : 0;
  }
  [[nodiscard]] int offset_count() const noexcept { return parameters_.disturbed ? 3 : 0; }
  /// Whether b moves a place.
  [[nodiscard]] bool has_offset(BodyPlace place) const noexcept {
    return parameters_.disturbed && place.fraction == 1.0 &&
           on_arm(place).section == robot_.section_count() - 1;
  }
  [[nodiscard]] int state_size() const noexcept {
    return 2 * coordinate_count() + 3 + tendon_count() + load_count() + offset_count();
  }
  /// 1 of a bend, the length of the section at most [m] of an extension, 0 of what does not move:
  /// what deviations of bends are multiplied by where they are meant for all coordinates.
  [[nodiscard]] const Eigen::VectorXd& scale() const noexcept { return scale_; }
  /// Whether the coordinate moves: else its section bends in one plane, across it.
  [[nodiscard]] bool moves(Eigen::Index k) const noexcept { return scale_[k] > 0.0; }
  /// Moments that hold each coordinate at its scale: K scale [N m], [N].
  [[nodiscard]] Eigen::VectorXd scale_moment() const { return stiffness_.cwiseProduct(scale_); }
  /// The fraction e of each coordinate that is outside the guide; until the next call of any.
  const Eigen::VectorXd& exposure(const BaseState& base) noexcept;
  /// The fraction of a coordinate's stiffness and damping that acts, at the last base: e, and a
  /// little in the guide, so that the state is defined there.
  [[nodiscard]] double acting(Eigen::Index k) const noexcept;
  /// What the shear force of a section does to the bends along it: `position`.
  struct UnevenBend {
    double compliance = 0.0;  ///< 1 / K_i
    double mean, variance;    ///< of the fraction of the arc, weighted by the bend
    double own = 0.0;         ///< mass of the section,
    double beyond =
        0.0;  ///< and of all beyond: the weight of own / 2 + beyond is F_i without f [kg]
  };
  [[nodiscard]] const std::vector<UnevenBend>& uneven_bends() const noexcept { return uneven_; }
  /// The coordinates at the rest of the springs.
  [[nodiscard]] const Eigen::VectorXd& rest() const noexcept { return rest_; }

  /// The same arm with the external force elsewhere. `place` is on the arm.
  void set_force_place(BodyPlace place) noexcept { parameters_.force_place = on_arm(place); }

  /// Pose of a place in the base frame, and the derivative of its position (rows 0-2) and direction
  /// z (rows 3-5) with respect to q, 6 x n.
  Eigen::Isometry3d pose(const Eigen::Ref<const Eigen::VectorXd>& q, const BaseState& base,
                         BodyPlace place, JacobianRef jacobian) noexcept;
  /// Position of a place with the uneven deflection, without b: a section under the mean shear
  /// force F_i bends more at its start than at its end. Of a section of length L_i and mean bend
  /// stiffness K_i this moves all that follows, and by 3 c^2 - 2 c^3 of it the point at fraction c,
  ///
  ///     p = p(q) + sum_i V_i L_i^2 / K_i (I - t_i t_i^T) F_i,   F_i = m_i g / 2 + all beyond
  ///
  /// with the tangent t_i at the middle, and V_i the variance of the arc fraction weighted by the
  /// bend: 1/12 of an even section. Directions stay. First order in F_i; exact for a straight arm.
  /// @param by_q      3 x n, overwritten
  /// @param by_force  derivative with respect to f, overwritten
  Eigen::Vector3d position(const Eigen::VectorXd& x, const BaseState& base, BodyPlace place,
                           Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> by_q,
                           Eigen::Matrix3d& by_force) noexcept;
  /// Curvature of a place towards x and y of its frame [1/m], with its share of the uneven bend:
  /// with W_j, w_j of the sub-section at the fraction c, m the mean of the fraction weighted by the
  /// bend,
  ///
  ///     (w_j / W_j) ( (u, v) / L_i + (m - c) / K_i (R^T F_i)_xy ).
  ///
  /// @param by_q,by_force  derivatives, their first two rows; all overwritten
  Eigen::Vector2d curvature(const Eigen::VectorXd& x, const BaseState& base, BodyPlace place,
                            Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> by_q,
                            Eigen::Matrix3d& by_force) noexcept;
  /// Angular velocity of a place's frame, base frame, for unit rates of q: 3 x n.
  void rotation_jacobian(const Eigen::Ref<const Eigen::VectorXd>& q, const BaseState& base,
                         BodyPlace place,
                         Eigen::Ref<Eigen::Matrix<double, 3, Eigen::Dynamic>> jacobian) noexcept;

  /// Computes the balance at a state; `by_q` only by `linearize`, by differences of the gravity and
  /// force terms. Valid until the next call.
  const Balance& balance(const Eigen::VectorXd& x, const ArmInput& input) noexcept;
  const Balance& linearize(const Eigen::VectorXd& x, const ArmInput& input) noexcept;

  /// Factor of A = M + h D + h^2 K, at the last balance: one step is q' <- A^-1 (M q' + h r),
  /// q <- q + h q'. Stiffness and damping are implicit: stable at any step length h [s], and where
  /// masses vanish it is the implicit step of D q' = r.
  const Eigen::LLT<Eigen::MatrixXd>& step_factor(double h) noexcept;
  /// Moves q and q' of x by one such step.
  void advance(double h, Eigen::VectorXd& x, const ArmInput& input) noexcept;

 private:
  [[nodiscard]] BodyPlace on_arm(BodyPlace place) const noexcept;
  [[nodiscard]] double force_share(int section) const noexcept;
  [[nodiscard]] Eigen::Vector3d mean_shear_force(int section,
                                                 const Eigen::VectorXd& x) const noexcept;
  void set_states(const Eigen::Ref<const Eigen::VectorXd>& q, const BaseState& base) noexcept;
  void spread_masses() noexcept;
  /// A place of the body outside the guide; nothing: it is in the guide.
  [[nodiscard]] std::optional<double> outside(const BodyPlace& place) const noexcept;
  [[nodiscard]] Eigen::Isometry3d place_pose(const BodyPlace& place,
                                             JacobianRef jacobian) const noexcept;
  void load(const Eigen::VectorXd& q, const BaseState& base, const Eigen::Vector3d& force,
            Eigen::VectorXd& moment, bool with_mass) noexcept;

  ContinuumRobot robot_;
  ElasticArmParameters parameters_;
  TendonMap tendons_;
  std::vector<MassPoint> masses_;
  std::vector<SectionState> states_;
  std::vector<UnevenBend> uneven_;  // of each section
  std::vector<double> starts_;      // of the sections, from the root [m]
  BaseState base_;     // of `states_`; its feed puts the root where the body leaves the guide
  double feed_ = 0.0;  // of the root itself [m]
  Eigen::VectorXd exposure_, scale_, stiffness_, damping_, rest_, bent_, q_, load_, shifted_load_;
  Eigen::VectorXd held_;                           // k: stiffness of servos, by tendon
  Eigen::MatrixXd held_stiffness_, held_damping_;  // n x n: of these servos
  Eigen::VectorXd tension_;                        // of the last balance
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian_;
  Balance balance_;
  Eigen::MatrixXd step_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace tendril
