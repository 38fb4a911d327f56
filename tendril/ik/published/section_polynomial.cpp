#include "tendril/ik/published/section_polynomial.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace tendril {
namespace {

constexpr int kFitPoints = 400;
constexpr int kCheckPoints = 1001;  // between the fitted ones

}  // namespace

SectionPolynomial::SectionPolynomial(const SectionShape& shape)
    : shape_(shape),
      per_alpha_squared_(2.0 / (shape.invertible_chord_angle() * shape.invertible_chord_angle())) {
  // Least squares for k at bends spaced like the zeros of a Chebyshev polynomial in (0, thetaInv].
  const double theta_inv = shape.invertible_bend_angle();
  Eigen::MatrixXd A(kFitPoints, kDegree + 1);
  Eigen::VectorXd k(kFitPoints);
  for (int i = 0; i < kFitPoints; ++i) {
    const double theta =
        theta_inv * 0.5 * (1.0 - std::cos(std::numbers::pi * (i + 0.5) / kFitPoints));
    const double alpha = shape.chord(theta).angle;
    const double x = per_alpha_squared_ * alpha * alpha - 1.0;
    double power = 1.0;
    for (int n = 0; n <= kDegree; ++n, power *= x) A(i, n) = power;
    k[i] = theta / alpha;
  }
  const Eigen::VectorXd fit = A.colPivHouseholderQr().solve(k);
  std::copy(fit.begin(), fit.end(), coefficients_.begin());

  for (int i = 0; i < kCheckPoints; ++i) {
    const double ratio = 0.5 * (1.0 - std::cos(std::numbers::pi * i / (kCheckPoints - 1)));
    const double theta = theta_inv * ratio;
    const double error = std::abs(bend_angle(shape.chord(theta).angle) - theta);
    fit_error_ = std::max(fit_error_, error);
  }
}

double SectionPolynomial::bend_angle(double alpha) const noexcept {
  // Horner's rule on even and odd powers apart: half the chain of dependent operations.
  static_assert(kDegree % 2 == 0);
  const double x = per_alpha_squared_ * alpha * alpha - 1.0, x2 = x * x;
  const auto& c = coefficients_;
  double even = c[kDegree], odd = c[kDegree - 1];
  for (std::size_t n = kDegree - 2; n > 0; n -= 2) {
    even = even * x2 + c[n];
    odd = odd * x2 + c[n - 1];
  }
  return alpha * (even * x2 + c[0] + odd * x);
}

SectionIkResult SectionPolynomial::solve(double rho, double z,
                                         const SectionIkOptions& options) const noexcept {
  assert(rho >= 0.0);
  const double alpha = std::atan2(rho, z);
  const double theta_inv = shape_.invertible_bend_angle();
  if (alpha >= shape_.invertible_chord_angle())
    return section_solution_at(shape_, rho, z, theta_inv, 0, options);
  const double theta = std::clamp(bend_angle(alpha), 0.0, theta_inv);
  if (!is_polynomial()) return solve_section_newton(shape_, rho, z, options, theta);
  return section_solution_at(shape_, rho, z, theta, 0, options);
}

}  // namespace tendril
