#pragma once

#include <array>

#include "tendril/ik/section_ik.hpp"

namespace tendril {

/// Single-section solve by a polynomial instead of an iteration: the bend as a function of the
/// chord angle, fitted once per section.
///
///     theta = alpha p(t^2),  t = alpha/alphaInv,  p of degree 10 fitted to k = theta/alpha
///
/// Fitting k keeps the relative accuracy of small bends; k is even in alpha, hence t^2. Where the
/// chord angle nearly stops growing at the end of the interval the fit is poor; if its error
/// exceeds kLargestFitError, `solve` continues from the polynomial's value by Newton steps.
///
/// Source: [FABRIKx] sec. 3.1.6, which names "a 10th-degree polynomial approximation" only;
/// docs/theory/ik.md, "Polynomial of a section". Tested by: section_polynomial_test.
class SectionPolynomial {
 public:
  explicit SectionPolynomial(const SectionShape& shape);

  static constexpr int kDegree = 10;
  static constexpr double kLargestFitError = 1e-6;  ///< [rad], on theta

  /// Largest error of `bend_angle` over the invertible interval, measured when it was built [rad].
  [[nodiscard]] double fit_error() const noexcept { return fit_error_; }
  /// Tells whether the polynomial alone gives the solutions; false: Newton steps follow.
  [[nodiscard]] bool is_polynomial() const noexcept { return fit_error_ <= kLargestFitError; }

  /// The polynomial's value for a chord angle in [0, alphaInv] [rad].
  [[nodiscard]] double bend_angle(double alpha) const noexcept;

  /// Solves as `solve_section_newton` does; 0 iterations where the polynomial suffices. `reached`
  /// is computed from the bend returned: tolerances below the fit error can be missed.
  [[nodiscard]] SectionIkResult solve(double rho, double z,
                                      const SectionIkOptions& options = {}) const noexcept;

  [[nodiscard]] const SectionShape& shape() const noexcept { return shape_; }

 private:
  SectionShape shape_;
  std::array<double, kDegree + 1> coefficients_;  // of x = 2 t^2 - 1, which is in [-1, 1]
  double per_alpha_squared_;                      // 2 / alphaInv^2
  double fit_error_ = 0.0;
};

}  // namespace tendril
