#pragma once

#include <Eigen/Geometry>
#include <limits>
#include <span>
#include <vector>

#include "tendril/geometry/body_clearance.hpp"

namespace tendril {

/// A section of an elastic body that bends in every direction.
struct SpatialSection {
  double length = 0.5;              ///< [m], > 0
  double max_curvature = 10.0;      ///< largest magnitude of its actuation [1/m], > 0
  double bending_stiffness = 0.05;  ///< EI [N m^2], > 0
};

/// An elastic body of sections, base first, clamped at the origin along z, or fed out of a straight
/// guide that ends there: the last section comes out first.
struct SpatialBody {
  std::vector<SpatialSection> sections;
  double radius = 0.01;        ///< [m], >= 0
  double start_length = 0.05;  ///< past the guide before it is fed [m], in (0, length()]
  int elements = 20;  ///< of the part past the guide, >= 2; the error falls with the square
  /// An obstacle begins to press at this distance from the surface, and presses with
  /// `kPressing` EI [N] when it touches: the body never overlaps one [m], > 0.
  double contact_layer = 1e-3;

  static constexpr double kPressing = 400.0;     ///< over EI of the first section [1/m^2]
  [[nodiscard]] double length() const noexcept;  ///< of all sections [m]
};

/// Actuation curvatures of every section towards x and y of the frame that the body carries without
/// twist, base first [1/m], then the length past the guide [m].
using SpatialActuation = Eigen::VectorXd;

/// A contact of the body with an obstacle.
struct SpatialContact {
  int obstacle = -1;
  double arc_length = 0.0;                          ///< from the base [m]
  double gap = 0.0;                                 ///< between surfaces [m], in (0, contact_layer)
  double force = 0.0;                               ///< on the body, along `normal` [N]
  Eigen::Vector3d point = Eigen::Vector3d::Zero();  ///< of the backbone
  Eigen::Vector3d normal = Eigen::Vector3d::UnitX();
};

/// The body in equilibrium, or where the search for it ended.
struct SpatialEquilibrium {
  bool converged = false;  ///< forces balance, nothing overlaps, a minimum of the energy
  int iterations = 0;      ///< Newton steps
  double least_gap = std::numeric_limits<double>::infinity();  ///< less than the layer, if any [m]
  Eigen::Vector3d tip = Eigen::Vector3d::Zero();
};

/// An inextensible elastic body in space that does not twist, bent by its actuation and held by
/// frictionless contacts: its shape in equilibrium.
///
///     minimize  int EI/2 |kappa - u|^2 ds + sum_j m/2 (layer - gap_j)_+^2
///
/// The body is a chain of equally long arcs with tangent continuity; each pair of an arc and an
/// obstacle is one contact. Newton's method with a line search on the curvatures of the arcs, from
/// the last shape on, so that a sequence of solves follows one branch of solutions. No gravity.
/// docs/theory/elastic.md, "Elastic rod in space". Extension, not in the sources.
/// Tested by: spatial_rod_test.
class SpatialRod {
 public:
  /// Throws ModelError naming the field.
  SpatialRod(const SpatialBody& body, Obstacles obstacles);

  /// Makes the body straight and `start_length` long. Returns its actuation.
  SpatialActuation reset() noexcept;

  /// The equilibrium for an actuation; the length must be in (0, body().length()].
  SpatialEquilibrium solve(const SpatialActuation& actuation) noexcept;

  /// Derivatives of the tip by the actuation at the last equilibrium, contacts kept, 3 rows.
  [[nodiscard]] const Eigen::MatrixXd& tip_rates() noexcept;

  [[nodiscard]] std::span<const SpatialContact> contacts() const noexcept { return contacts_; }
  /// Curvatures of the arcs towards x and y, base first [1/m]: the shape, to be kept.
  [[nodiscard]] const Eigen::VectorXd& shape() const noexcept { return kappa_; }
  void set_shape(const Eigen::VectorXd& shape) noexcept { kappa_ = shape; }
  /// Ends of the arcs at the last solve, one more than there are arcs.
  [[nodiscard]] std::span<const Eigen::Vector3d> nodes() const noexcept { return node_; }

  [[nodiscard]] const SpatialBody& body() const noexcept { return body_; }
  [[nodiscard]] const Obstacles& obstacles() const noexcept { return obstacles_; }
  [[nodiscard]] int actuation_size() const noexcept {
    return 2 * static_cast<int>(body_.sections.size()) + 1;
  }

 private:
  using Columns = Eigen::Matrix<double, 3, Eigen::Dynamic>;
  struct Load {
    int element;
    Eigen::Vector3d tangent, bend;  // of the arc there; its derivative [1/m]
  };

  void share(double length, Eigen::MatrixXd& shares) const noexcept;
  void spread(const SpatialActuation& actuation) noexcept;
  double evaluate(const Eigen::VectorXd& kappa) noexcept;
  void arc_rates(Eigen::Index arcs) noexcept;
  void find_contacts() noexcept;
  void differentiate() noexcept;
  bool factorize() noexcept;
  void solve_factored(Eigen::Ref<Eigen::MatrixXd> x) const noexcept;
  void point_rates(const SpatialContact& contact, int element) noexcept;
  [[nodiscard]] double bulge(const SpatialContact& contact,
                             const Eigen::Vector3d& direction) const noexcept;

  SpatialBody body_;
  Obstacles obstacles_;
  int count_;
  double total_, pressing_;  // length; stiffness of the layer over EI [1/m^3]
  double h_ = 0.0;
  int coupled_ = 0;  // curvatures up to the last contact
  Eigen::VectorXd actuation_, stiffness_,
      wanted_;                            // of the arcs: EI, over that of the first section
  Eigen::MatrixXd share_, longer_share_;  // of the sections in the arcs
  Eigen::VectorXd kappa_, trial_, gradient_, step_;
  Eigen::MatrixXd hessian_, rates_, columns_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  std::vector<Eigen::Vector3d> node_;
  std::vector<Eigen::Matrix3d> frame_;
  Columns end_rate_, turn_rate_, at_rate_;  // of an arc's end; its rotation; of a contact's point
  Columns levers_;                          // contact normal x rotation of an arc
  std::vector<SpatialContact> contacts_;
  std::vector<Load> loads_;
};

}  // namespace tendril
