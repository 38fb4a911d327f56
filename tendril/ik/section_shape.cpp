#include "tendril/ik/section_shape.hpp"

#include <cmath>
#include <numbers>

namespace tendril {
namespace {

/// Mean of x^n over [a, b]: (b^(n+1) - a^(n+1)) / ((n + 1) (b - a)) without the division by b - a.
double mean_power(double a, double b, int n) noexcept {
  double sum = 0.0, power_of_a = 1.0;
  for (int i = 0; i <= n; ++i) {
    sum = sum * b + power_of_a;
    power_of_a *= a;
  }
  return sum / (n + 1);
}

/// m_n: mean over the arc length of the n-th power of the tangent angle, seen from the middle
/// tangent and in units of theta/2.
double moment(const Section& section, int n) noexcept {
  double m = 0.0, angle_fraction = 0.0;
  for (std::size_t j = 0; j < section.length_weights().size(); ++j) {
    const double next = angle_fraction + section.angle_weights()[j];
    m += section.length_weights()[j] * mean_power(2.0 * angle_fraction - 1.0, 2.0 * next - 1.0, n);
    angle_fraction = next;
  }
  return m;
}

constexpr double kHalfPi = std::numbers::pi / 2.0;

}  // namespace

SectionShape::SectionShape(const Section& section)
    : length_(section.length()),
      variable_length_(section.variable_length()),
      bend_angle_limit_(section.bend_angle_limit()),
      kappa0_(section.small_bend_chord_ratio()),
      theta_inv_(section.invertible_bend_angle()),
      alpha_inv_(section.invertible_chord_angle()),
      is_single_arc_(section.length_weights().size() == 1) {
  double factorial = 1.0;  // (2n)!, with the sign of the term
  for (int n = 0; n <= kFullOrder; ++n) {
    if (n > 0) factorial *= -(2.0 * n - 1.0) * (2.0 * n);
    const auto k = static_cast<std::size_t>(n);
    const double odd = is_single_arc_ ? 0.0 : moment(section, 2 * n + 1);
    value_[k] = {moment(section, 2 * n) / factorial, odd / (factorial * (2 * n + 1))};
  }
  for (std::size_t k = 0; k < kFullOrder; ++k)
    rate_[k] = static_cast<double>(k + 1) * value_[k + 1];
  rate_[kFullOrder].setZero();
}

/// Sum of c_n t^n for n < kCount, even and odd terms apart: half the chain of dependent operations.
template <int kCount>
SectionShape::Pair SectionShape::series(const std::array<Pair, kFullOrder + 1>& c,
                                        double t) const noexcept {
  static_assert(kCount % 2 == 0 && kCount <= kFullOrder + 1);
  const double t2 = t * t;
  Pair odd = c[kCount - 1], even = c[kCount - 2];
  for (std::size_t n = kCount - 2; n > 0; n -= 2) {
    odd = odd * t2 + c[n - 1];
    even = even * t2 + c[n - 2];
  }
  return even + odd * t;
}

SectionShape::Pair SectionShape::value(double phi) const noexcept {
  return phi <= kHalfPi ? series<kOrder + 1>(value_, phi * phi)
                        : series<kFullOrder + 1>(value_, phi * phi);
}

SectionShape::Chord SectionShape::chord(double theta) const noexcept {
  const double phi = 0.5 * theta;
  const Pair value_now = value(phi);
  const double C = value_now[0], D = phi * value_now[1];
  if (D == 0.0 && C > 0.0) return {phi, C};
  return {phi + std::atan2(D, C), std::sqrt(C * C + D * D)};
}

SectionShape::Chord SectionShape::chord_with_rate(double theta) const noexcept {
  const double phi = 0.5 * theta;
  const Pair value_now = value(phi);
  const double C = value_now[0], D = phi * value_now[1];
  const Pair slope = phi <= kHalfPi ? series<kOrder + 1>(rate_, phi * phi)
                                    : series<kFullOrder + 1>(rate_, phi * phi);
  const double dC = 2.0 * phi * slope[0], dD = value_now[1] + 2.0 * phi * phi * slope[1];
  const double c2 = C * C + D * D;
  const double rate = c2 > 0.0 ? 0.5 + 0.5 * (C * dD - D * dC) / c2 : 0.0;
  return {phi + std::atan2(D, C), std::sqrt(c2), rate};
}

SectionShape::End SectionShape::end(double theta) const noexcept {
  const double phi = 0.5 * theta;
  const Pair value_now = value(phi);
  const double C = value_now[0], D = phi * value_now[1];
  const double cos_phi = std::cos(phi), sin_phi = std::sin(phi);
  return {.x = C * sin_phi + D * cos_phi,
          .z = C * cos_phi - D * sin_phi,
          .cos_theta = (cos_phi - sin_phi) * (cos_phi + sin_phi),
          .sin_theta = 2.0 * sin_phi * cos_phi};
}

}  // namespace tendril
