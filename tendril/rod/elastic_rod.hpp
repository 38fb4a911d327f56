#pragma once

#include <Eigen/Core>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "tendril/contact/planar_arc.hpp"
#include "tendril/contact/planar_scene.hpp"
#include "tendril/rod/guide_clearance.hpp"

namespace tendril {

struct ElasticRodOptions {            ///< every field has a working default
  double bending_stiffness = 0.05;    ///< EI [N m^2], > 0; the shape does not depend on it
  double body_radius = 0.01;          ///< r [m], >= 0
  double element_length = 0.005;      ///< [m], > 0; the error falls with its square
  double max_length = 1.5;            ///< largest length that can be solved [m], > 0
  double gap_tolerance = 1e-8;        ///< largest error of a loaded contact's gap [m], > 0
  double curvature_tolerance = 1e-8;  ///< largest residual of the moment balance over EI [1/m], > 0
  int max_iterations = 400;           ///< Newton steps of a solve, >= 1
  /// Shapes evaluated in a solve, >= 1: the bound of its work. Newton steps take one or two each.
  int max_evaluations = 20'000;
  /// Clearance of the body in the straight guide that it leaves at the base, on each side [m], >=
  /// 0: its heading there yields to the moment (guide_clearance.hpp). 0: clamped.
  double guide_clearance = 0.0;
  double guide_length =
      0.15;  ///< of the passive body in the guide, up to where it is held [m], > 0
};

/// A piece of the body with one actuation curvature.
struct CurvaturePiece {
  double length = 0.0;     ///< [m], > 0
  double curvature = 0.0;  ///< [1/m]
};

enum class RodStatus {
  Equilibrium,    ///< forces balance, no overlap, stable
  Unstable,       ///< forces balance, but a disturbance grows
  NoConvergence,  ///< out of iterations; the shape is the last one
  InvalidInput    ///< length or curvature not finite, length outside (0, max_length]
};
[[nodiscard]] const char* to_string(RodStatus status) noexcept;

/// A contact of the body with an obstacle.
struct RodContact {
  int obstacle = -1;                    ///< index in the scene
  double arc_length = 0.0;              ///< from the base [m]
  double force = 0.0;                   ///< [N], > 0
  Eigen::Vector2d position{0.0, 0.0};   ///< of the backbone there [m]
  Eigen::Vector2d direction{0.0, 0.0};  ///< unit; of the force on the body
  BodySide side = BodySide::Positive;   ///< of the body on which the obstacle lies
};

struct RodSolution {
  RodStatus status = RodStatus::InvalidInput;
  int iterations = 0;        ///< Newton steps
  int evaluations = 0;       ///< shapes evaluated
  PlanarPose exit;           ///< at the base; rotated relative to it within the guide's clearance
  PlanarPose tip;            ///< pose of the free end
  double energy = 0.0;       ///< bending energy against the actuation [J]
  double penetration = 0.0;  ///< largest overlap with an obstacle [m], >= 0
  /// Force of clamp and guide on the body, at the base [N]; minus the contact forces.
  Eigen::Vector2d base_force{0.0, 0.0};
  double base_moment = 0.0;              ///< of both about the base [N m], > 0 from +z to +x
  std::span<const RodContact> contacts;  ///< by obstacle, then arc length; until the next solve

  [[nodiscard]] bool converged() const noexcept { return status == RodStatus::Equilibrium; }
  [[nodiscard]] double contact_force() const noexcept;  ///< sum of the magnitudes [N]
};

/// A force that carries over to the next solve: of an element and an obstacle.
struct RodMultiplier {
  int element = 0;
  int obstacle = 0;
  double force = 0.0;  ///< over EI [1/m^2]
};

/// Shape that a solve starts from, to be stored.
struct RodShape {
  std::vector<double> curvatures;  ///< of the elements [1/m]
  double exit_angle = 0.0;         ///< in the guide [rad]
  std::vector<RodMultiplier> multipliers;
};

/// A planar elastic body that is clamped at its base, or held by a guide that ends there, bent by
/// its actuation and held by frictionless one-sided contacts: its shape in equilibrium and the
/// forces on it.
///
///     minimize  int EI/2 (psi' - k)^2 ds   subject to  d(p(s)) >= r
///
/// The body is a chain of arcs with tangent continuity, so that contacts slide along it without
/// steps, and is exact where nothing touches it. Each pair of element and obstacle is one
/// constraint on the least gap between them; augmented Lagrangian with Newton steps on the element
/// curvatures, each in a time proportional to the number of elements. docs/theory/elastic.md.
/// Extension, not in the sources.
///
/// The object holds the shape: a solve starts from the last one, so that a sequence of solves
/// follows one branch of solutions. The scene is copied. Options are validated in the constructor
/// (ModelError); `solve` throws and allocates nothing and depends only on the shape and its
/// arguments.
class ElasticRod {
 public:
  ElasticRod(PlanarScene scene, const PlanarPose& base, const ElasticRodOptions& options = {});

  /// Takes the shape of a chain of arcs (its curvatures; past its end that of the last arc),
  /// straight for an empty one. Clears the contact forces.
  void set_shape(std::span<const PlanarArc> chain) noexcept;

  /// Takes the curvatures of the first elements, as `curvatures` gives them, and the exit angle.
  /// Clears the contact forces.
  void set_curvatures(std::span<const double> curvatures, double exit_angle = 0.0) noexcept;

  /// Writes the forces that the next solve starts from, the largest ones where `out` is too short;
  /// returns how many. `set_multipliers` restores them, after `set_curvatures`; entries that do not
  /// exist are ignored.
  int multipliers(std::span<RodMultiplier> out) const noexcept;
  void set_multipliers(std::span<const RodMultiplier> multipliers) noexcept;

  /// The present shape and forces; `resume` restores them.
  [[nodiscard]] RodShape shape() const;
  void resume(const RodShape& shape) noexcept;

  /// Moves an obstacle from where the scene has it, from the next solve on [m].
  void set_obstacle_shift(int obstacle, const Eigen::Vector2d& shift) noexcept;
  [[nodiscard]] const Eigen::Vector2d& obstacle_shift(int obstacle) const noexcept {
    return shift_[static_cast<std::size_t>(obstacle)];
  }

  /// Shapes that a solve may evaluate, from now on; >= 1.
  void set_max_evaluations(int count) noexcept { options_.max_evaluations = count; }

  /// Saves the shape and the contact forces; `restore` restores them.
  void save() noexcept;
  void restore() noexcept;

  /// The equilibrium at `length` for one actuation curvature, or for pieces from the base on (the
  /// last one reaches to the tip).
  RodSolution solve(double curvature, double length) noexcept;
  RodSolution solve(std::span<const CurvaturePiece> actuation, double length) noexcept;

  /// Smallest eigenvalue of the stiffness that the contacts leave at the last solution, over EI: 1
  /// for a free rod, 0 where it buckles or snaps over; to about 1 %. 0 if it is not stable.
  [[nodiscard]] double stability() noexcept;

  /// Makes the rates below those with respect to the actuation curvature between arc lengths `from`
  /// and `to`, at the last solution, loaded contacts kept.
  void differentiate(double from, double to) noexcept;
  /// Returns the rate of the backbone's position at a material point [m per 1/m].
  [[nodiscard]] Eigen::Vector2d position_rate(double arc_length) const noexcept;
  /// Returns the rate of the force of contact `index` [N per 1/m].
  [[nodiscard]] double force_rate(int index) const noexcept;

  [[nodiscard]] PlanarPose pose_at(double arc_length) const noexcept;  ///< [0, length]
  [[nodiscard]] double curvature_at(double arc_length) const noexcept;
  [[nodiscard]] double length() const noexcept { return length_; }
  [[nodiscard]] double exit_angle() const noexcept { return angle_; }  ///< in the guide [rad]
  [[nodiscard]] int element_count() const noexcept { return count_; }
  [[nodiscard]] int most_elements() const noexcept { return static_cast<int>(kappa_.size()); }

  [[nodiscard]] const PlanarScene& scene() const noexcept { return scene_; }
  [[nodiscard]] const PlanarPose& base() const noexcept { return base_; }
  [[nodiscard]] const ElasticRodOptions& options() const noexcept { return options_; }

  /// Calls `visit(arc)` for every element of the last solution, base to tip.
  template <class Visitor>
  void visit_elements(Visitor&& visit) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i)
      visit(PlanarArc{.start = node_[i], .curvature = kappa_[i], .length = h_[i]});
  }

  /// Potential of the discrete problem, EI = 1, and its gradient with respect to the element
  /// curvatures at the present shape and multipliers; for tests.
  [[nodiscard]] double potential(std::span<const double> curvatures,
                                 std::span<double> gradient) noexcept;
  [[nodiscard]] std::span<const double> curvatures() const noexcept;

 private:
  /// A loaded constraint: element and obstacle. The point that is nearest may lie on the element
  /// next to the one whose multiplier it has, `owner`.
  struct Load {
    int element, owner, obstacle;
    double s;       ///< in the element [m]
    double gap;     ///< [m]
    double force;   ///< over EI [1/m^2]
    bool interior;  ///< the gap is stationary in s
    Eigen::Vector2d normal;
    PlanarPose at;
  };
  struct Nearest {
    int element;
    double s, gap;
    bool interior;
  };
  /// Propagation of a disturbance x (displacement, angle) through an element to its end,
  /// `x' = x + x_angle rotation + bend u`, u being that of its curvature, and the element's factor.
  struct Sweep {
    Eigen::Vector3d rotation, bend;
    Eigen::Vector3d gain;  ///< row of the factor: u = (own - gain x)/pivot
    double pivot;
  };

  double obstacle_distance(int obstacle, const Eigen::Vector2d& point,
                           Eigen::Vector2d* gradient = nullptr) const noexcept;
  void divide(double length) noexcept;
  void place(std::span<const double> curvatures, double angle) noexcept;
  [[nodiscard]] PlanarArc element_arc(int element) const noexcept;
  [[nodiscard]] Nearest nearest_on_element(int element, int obstacle, double enough) const noexcept;
  [[nodiscard]] std::size_t index_of(int element, int obstacle) const noexcept {
    return static_cast<std::size_t>(element) * static_cast<std::size_t>(scene_.size()) +
           static_cast<std::size_t>(obstacle);
  }
  [[nodiscard]] double multiplier_of(int element, int obstacle) const noexcept {
    return multiplier_[index_of(element, obstacle)];
  }
  [[nodiscard]] double& multiplier_of(int element, int obstacle) noexcept {
    return multiplier_[index_of(element, obstacle)];
  }
  [[nodiscard]] std::optional<Nearest> contact_of(int element, int obstacle, bool is_owner,
                                                  double enough) const noexcept;
  void find_loads() noexcept;
  double evaluate(std::span<const double> curvatures, double angle) noexcept;
  void compute_gradient() noexcept;
  void compute_hessian() noexcept;
  bool factorize(double damping) noexcept;
  double keep_multipliers() noexcept;
  /// Solves for curvatures and exit angle in place.
  void solve_factored(Eigen::Ref<Eigen::VectorXd> x, double& angle) const noexcept;
  [[nodiscard]] double residual() const noexcept;
  /// Tells whether potential and shape are finite; curvatures can be too large for numbers.
  [[nodiscard]] bool is_finite(double value) const noexcept;
  [[nodiscard]] double largest_move() const noexcept;
  [[nodiscard]] Eigen::Vector2d lever(int element, const Load& load) const noexcept;
  void collect_contacts() noexcept;
  /// A running minimization.
  struct Minimization {
    double value;             ///< of the augmented Lagrangian
    double tolerance = 1e-2;  ///< of the residual, at these multipliers
    double damping = 0.0;
    double last_change = std::numeric_limits<double>::infinity();  ///< of the multipliers
    int renewals = 0;
  };
  RodSolution minimize() noexcept;
  bool renew_multipliers(Minimization& run, RodSolution& solution) noexcept;
  bool newton_step(Minimization& run, RodSolution& solution) noexcept;
  bool search_line(double slope, Minimization& run, RodSolution& solution) noexcept;
  void report(double value, RodSolution& solution) noexcept;

  PlanarScene scene_;
  PlanarPose base_;
  ElasticRodOptions options_;
  GuideClearance guide_;
  double length_ = 0.0;
  double angle_ = 0.0, trial_angle_ = 0.0, saved_angle_ = 0.0;  ///< in the guide [rad]
  double angle_gradient_ = 0.0, angle_step_ = 0.0, angle_rate_ = 0.0;
  double angle_pivot_ = 1.0;
  int count_ = 0;    ///< elements
  int coupled_ = 0;  ///< elements up to the last load
  std::vector<double> h_, start_, kappa_, trial_, actuation_;
  std::vector<PlanarPose> node_, before_;
  std::vector<Eigen::Vector2d> centroid_, shift_;
  std::vector<double> multiplier_;  ///< element-major
  std::vector<double> saved_kappa_, saved_multiplier_;
  int saved_count_ = 0;
  bool stable_ = true;  ///< the last solution
  std::vector<Load> loads_;
  std::vector<RodContact> contacts_;
  std::vector<int> contact_of_load_;
  std::vector<Eigen::Matrix4d> own_;  ///< second derivatives of what an element adds by itself
  std::vector<Sweep> sweep_;
  std::vector<Eigen::Vector3d> moved_by_;  ///< loads of an element: force and moment
  Eigen::VectorXd gradient_, step_, scratch_, rate_;
};

}  // namespace tendril
