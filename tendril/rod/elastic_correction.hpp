#pragma once

#include <Eigen/Core>
#include <limits>
#include <span>
#include <vector>

#include "tendril/rod/contact_state.hpp"
#include "tendril/rod/elastic_rod.hpp"

namespace tendril {

struct ElasticCorrectionOptions {    ///< every field has a working default
  double position_tolerance = 1e-5;  ///< of the tip [m], > 0
  double path_step = 6e-3;           ///< largest advance of the tip between solutions [m], > 0
  double least_path_step = 1e-4;     ///< given up below [m], > 0
  double curvature_limit = 60.0;     ///< of every section [1/m], > 0
  /// Desired at every planned contact once the tip is at the target [N], >= 0; 0: contacts may
  /// open. More than 0 needs at least one actuated section more than there are contacts to hold.
  double least_contact_force = 0.0;
  /// Arc lengths from the base at which an actuated section ends and the next one begins [m],
  /// rising; empty: one section, one curvature for the whole body.
  std::vector<double> section_ends{};
  int max_iterations = 40;  ///< Newton steps for one tip position, >= 1
};

enum class CorrectionStatus {
  Corrected,      ///< the tip is where it should be (and contacts press as they should)
  NotReached,     ///< it is not; the nearest solution is given
  WeakContact,    ///< the tip is, but a contact presses less than desired
  NoEquilibrium,  ///< none was found, or it is unstable
  InvalidInput    ///< plan empty, not finite, or longer than the rod may be
};
[[nodiscard]] const char* to_string(CorrectionStatus status) noexcept;

/// A corrected actuation and the equilibrium it leads to.
struct CorrectedState {
  CorrectionStatus status = CorrectionStatus::InvalidInput;
  double path_length = 0.0;        ///< arc length of the plan at which the tip should be [m]
  double length = 0.0;             ///< of the body, L [m]
  std::vector<double> curvatures;  ///< one per section, k [1/m]
  Eigen::Vector2d target{0.0, 0.0};
  PlanarPose tip;
  double tip_error = std::numeric_limits<double>::infinity();  ///< [m]
  double contact_force = 0.0;          ///< sum of the magnitudes over all contacts [N]
  double stability = 0.0;              ///< as ElasticRod::stability
  int iterations = 0;                  ///< equilibria solved
  std::vector<ContactState> contacts;  ///< one per planned contact
  RodShape shape;                      ///< in equilibrium

  [[nodiscard]] bool corrected() const noexcept { return status == CorrectionStatus::Corrected; }
};

/// Corrects a plan of arcs for an elastic body: actuation curvature and length such that the tip of
/// the body in equilibrium among the obstacles is where the plan puts it. With one section: two
/// unknowns (k, L), two equations. With more, the least change of actuation is taken, and contacts
/// can be required to press with a least force.
///
///     tip(k, L) = P(l),   F_i(k, L) >= F_min
///
/// Newton's method with the derivatives of the equilibrium; along the insertion each solution
/// starts from the one before, so contacts are made in the planned order and sense.
/// docs/guide/elastic.md. Extension, not in the sources.
class ElasticCorrection {
 public:
  /// Throws ModelError as ElasticRod and for options outside their ranges.
  ElasticCorrection(PlanarScene scene, const PlanarPose& base, const ElasticRodOptions& rod = {},
                    const ElasticCorrectionOptions& options = {});

  /// The corrected insertion of `plan` (chained arcs from the base pose): the tip follows the
  /// planned arcs. First the end of the free arc, last the target; a state that is not Corrected
  /// ends it. Empty for invalid input.
  [[nodiscard]] std::vector<CorrectedState> follow(std::span<const PlanarArc> plan,
                                                   std::span<const PlannedContact> contacts);

  /// The correction of the end only: the last state of `follow`, reached in larger steps.
  [[nodiscard]] CorrectedState solve(std::span<const PlanarArc> plan,
                                     std::span<const PlannedContact> contacts);

  /// The body in its last equilibrium.
  [[nodiscard]] const ElasticRod& rod() const noexcept { return rod_; }
  [[nodiscard]] const ElasticCorrectionOptions& options() const noexcept { return options_; }

 private:
  std::vector<CorrectedState> advance(std::span<const PlanarArc> plan,
                                      std::span<const PlannedContact> contacts, double path_step);
  RodSolution equilibrium(const Eigen::VectorXd& unknowns) noexcept;
  int linearize(const RodSolution& solution, const Eigen::Vector2d& target,
                std::span<const PlannedContact> passed);
  CorrectedState reach(Eigen::VectorXd& unknowns, const Eigen::Vector2d& target,
                       std::span<const PlannedContact> passed);

  ElasticRod rod_;
  ElasticCorrectionOptions options_;
  Eigen::Index sections_;
  double desired_force_ = 0.0;
  std::vector<CurvaturePiece> actuation_;
  Eigen::MatrixXd jacobian_;
  Eigen::VectorXd residual_, weight_;
};

}  // namespace tendril
