#pragma once

#include <Eigen/Geometry>
#include <cstdint>
#include <span>
#include <vector>

#include "tendril/snake/curve.hpp"
#include "tendril/snake/snake_chain.hpp"

namespace tendril {

/// The point of a curve nearest to p, by Newton's method from `guess`; remains on the branch of the
/// guess and within the curve's ends.
struct NearestPoint {
  double s = 0.0;
  double distance = 0.0;  ///< [m]
};
[[nodiscard]] NearestPoint nearest_on_curve(CurveRef curve, const Eigen::Vector3d& p,
                                            double guess) noexcept;

/// Deviation of the joints from the curve: distances of B_0 .. B_N to their nearest points [m].
struct CurveDeviation {
  double even = 0.0;    ///< largest of B_0, B_2, ... B_N: rounding after a march
  double odd = 0.0;     ///< largest of B_1, B_3, ...: about a^2 kappa / 2 after a march
  double rms = 0.0;     ///< of all
  int worst_point = 0;  ///< j of the furthest B_j
  [[nodiscard]] double worst() const noexcept { return even > odd ? even : odd; }
};

/// `parameters` as a march leaves them: where the search for B_0, B_2, ... on the curve starts.
/// Allocates nothing. Precondition: N angles, n + 1 parameters.
[[nodiscard]] CurveDeviation curve_deviation(const SnakeChain& chain, CurveRef curve,
                                             const Eigen::Isometry3d& X_WB,
                                             std::span<const double> angles,
                                             std::span<const double> parameters) noexcept;

/// Motion of the base that is allowed.
enum class FitBase : std::uint8_t {
  Fixed,  ///< none: a fixed base
  Free,   ///< all but along the curve: a free snake
};

struct SnakeFitOptions {
  FitBase base = FitBase::Free;
  /// Exponent of the norm of the distances that is made small: 2 is least squares, large values
  /// come near the smallest worst distance. In [2, 32].
  double power = 16.0;
  /// Weight of a distance of an odd joint relative to one of an even joint, > 0. On a steady arc
  /// the march's odd distance d becomes d/(1 + w) for the odd joints and d w/(1 + w) for the even
  /// ones.
  double odd_weight = 1.15;
  double angle_weight = 2e-4;  ///< [m/rad], >= 0: of an angle relative to a distance
  int max_iterations = 100;    ///< >= 1, all powers together
};

struct SnakeFitResult {
  bool converged = false;  ///< no further improvement; otherwise the budget was spent
  int iterations = 0;
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  CurveDeviation before, after;
};

/// Refines a march: all joints, odd and even, as near to the curve as possible. Where a march
/// leaves the odd joints a^2 kappa / 2 off the curve and the even ones on it, the fit
/// distributes the distance among them. Extension, not in [Torus];
/// docs/theory/snakes.md, "Fit".
///
///     minimize over angles (and base)   sum |B_j - R(s_j)|^p + weights,   s_j: nearest point
///
/// Newton's method with damping, for p = 2 first, then doubled up to `power`. Memory grows with
/// N^2, an iteration costs of the order of N^3.
class SnakeFit {
 public:
  /// Throws ModelError naming the option.
  explicit SnakeFit(const SnakeChain& chain, const SnakeFitOptions& options = {});

  /// Starts from the result of a march and overwrites `angles` (within the limits) and
  /// `parameters` (nearest points of the even joints) with something better in the norm of `power`,
  /// or leaves them. Allocates nothing. Precondition: N angles, n + 1 parameters, all finite.
  SnakeFitResult fit(CurveRef curve, const Eigen::Isometry3d& X_WB, std::span<double> angles,
                     std::span<double> parameters) noexcept;

 private:
  struct Shape {
    Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
    std::vector<double> angles, parameters;  // N; N + 1, one per joint
    double cost = 0.0;
  };

  [[nodiscard]] int variable_count() const noexcept;
  [[nodiscard]] double distance_weight(std::size_t j) const noexcept;
  void place(Shape& shape) noexcept;
  void evaluate(CurveRef curve, double power, Shape& shape) noexcept;
  void linearize(CurveRef curve, double power, const Shape& shape) noexcept;
  bool solve_damped(double damping) noexcept;
  void move(const Shape& from, Shape& to) const noexcept;

  SnakeChain chain_;
  SnakeFitOptions options_;
  Shape now_, trial_;
  double scale_ = 1.0;            // [m], of the distances
  Eigen::Vector3d held_, along_;  // where B_0 is held along the curve, and that direction
  std::vector<Eigen::Isometry3d> X_WL_;
  std::vector<Eigen::Vector3d> columns_;  // of one joint's Jacobian
  std::vector<double> hessian_, factor_, gradient_, step_;
};

}  // namespace tendril
