#include "tendril/kinematics/bend_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace tendril {
namespace {

using Real = long double;  // the fit is done with digits to spare

constexpr int kMaxDegree = 24;  // enough for rounding at thetaMax = 2 pi
constexpr int kNodes = kMaxDegree + 8;
constexpr Real kNegligible = 3e-18L;  // of a Chebyshev coefficient
constexpr Real kPi = std::numbers::pi_v<Real>;
constexpr Real kSeriesLimit = 1.0L;  // [rad^2], below it the series converge fast

using Series = std::array<Real, kNodes>;  // Chebyshev coefficients

/// Sum of (-1)^j t^j / (2j + first)!.
Real alternating_series(Real t, int first) {
  Real term = 1.0L;
  for (int m = 2; m <= first; ++m) term /= static_cast<Real>(m);
  Real sum = 0.0L;
  for (int j = 0; j < 14; ++j) {
    sum += term;
    term *= -t / static_cast<Real>((2 * j + first + 1) * (2 * j + first + 2));
  }
  return sum;
}

/// (theta - sin(theta)) / theta^3.
Real residue(Real t) {
  if (t < kSeriesLimit) return alternating_series(t, 3);
  const Real theta = std::sqrt(t);
  return (theta - std::sin(theta)) / (t * theta);
}

/// (cos(theta) - 1 + theta^2 / 2) / theta^4.
Real cosine_residue(Real t) {
  if (t < kSeriesLimit) return alternating_series(t, 4);
  return (std::cos(std::sqrt(t)) - 1.0L + t / 2.0L) / (t * t);
}

struct PlanarEnd {
  Real x, z;
};

/// `Section::end_point` in these digits.
PlanarEnd end_point(const Section& section, Real theta) {
  PlanarEnd end{0.0L, 0.0L};
  Real tangent = 0.0L;
  for (std::size_t j = 0; j < section.length_weights().size(); ++j) {
    const Real y = static_cast<Real>(section.angle_weights()[j]) * theta / 2.0L;
    const Real sinc = 1.0L - y * y * residue(y * y);
    const Real chord = static_cast<Real>(section.length_weights()[j]) * sinc;
    end.x += chord * std::sin(tangent + y);
    end.z += chord * std::cos(tangent + y);
    tangent += 2.0L * y;
  }
  return end;
}

/// Chebyshev coefficients of f(t), t = (x + 1) t_max / 2, from its values at the Chebyshev nodes.
template <class Function>
Series chebyshev(Real t_max, Function f) {
  constexpr int kPeriod = 4 * kNodes;
  static const auto cosines = [] {  // of pi k / (2 kNodes)
    std::array<Real, kPeriod> table{};
    for (int k = 0; k < kPeriod; ++k)
      table[static_cast<std::size_t>(k)] = std::cos(2.0L * kPi * static_cast<Real>(k) / kPeriod);
    return table;
  }();
  Series values{}, series{};
  const auto node = [](int j, int m) {  // cos(pi j (m + 1/2) / kNodes)
    return cosines[static_cast<std::size_t>(j * (2 * m + 1) % kPeriod)];
  };
  for (int m = 0; m < kNodes; ++m)
    values[static_cast<std::size_t>(m)] = f((node(1, m) + 1.0L) * t_max / 2.0L);
  for (int j = 0; j < kNodes; ++j) {
    Real sum = 0.0L;
    for (int m = 0; m < kNodes; ++m) sum += values[static_cast<std::size_t>(m)] * node(j, m);
    series[static_cast<std::size_t>(j)] = (j == 0 ? 1.0L : 2.0L) / static_cast<Real>(kNodes) * sum;
  }
  return series;
}

/// Coefficients of the derivative with respect to x of the first `degree` + 1 terms.
Series derivative(const Series& series, int degree) {
  Series result{};
  for (int j = degree; j >= 1; --j) {
    const auto k = static_cast<std::size_t>(j);
    result[k - 1] = result[k + 1] + 2.0L * static_cast<Real>(j) * series[k];
  }
  result[0] /= 2.0L;
  return result;
}

/// Coefficients of the powers of x, lowest first, of the first `degree` + 1 terms.
Series powers(const Series& series, int degree) {
  Series result{}, previous{}, now{};  // T_{j-1}, T_j
  for (int j = 0; j <= degree; ++j) {
    Series next{};
    if (j == 0) {
      next[0] = 1.0L;
    } else {
      for (std::size_t k = 0; k + 1 < next.size(); ++k)
        next[k + 1] = (j == 1 ? 1.0L : 2.0L) * now[k];
      for (std::size_t k = 0; k < next.size(); ++k) next[k] -= previous[k];
    }
    previous = now;
    now = next;
    for (std::size_t k = 0; k < result.size(); ++k)
      result[k] += series[static_cast<std::size_t>(j)] * now[k];
  }
  return result;
}

/// Returns the degree at which the coefficients have become negligible.
int degree_of(const Series& series) {
  int degree = kMaxDegree;
  while (degree > 1 && std::abs(series[static_cast<std::size_t>(degree)]) < kNegligible) --degree;
  return degree;
}

}  // namespace

BendFunctions::BendFunctions(const Section& section)
    : is_arc_(section.length_weights().size() == 1) {
  const Real t_max = static_cast<Real>(section.bend_angle_limit() * section.bend_angle_limit());
  scale_ = static_cast<double>(2.0L / t_max);
  std::vector<Series> lanes = {chebyshev(t_max, residue), chebyshev(t_max, cosine_residue)};
  if (!is_arc_) {
    lanes.push_back(chebyshev(t_max, [&](Real t) {  // no node is at 0
      const Real theta = std::sqrt(t);
      return end_point(section, theta).x / theta;
    }));
    lanes.push_back(chebyshev(t_max, [&](Real t) { return end_point(section, std::sqrt(t)).z; }));
  }
  for (const Series& lane : lanes) degree_ = std::max(degree_, degree_of(lane));
  if (!is_arc_) {
    lanes.push_back(derivative(lanes[2], degree_));
    lanes.push_back(derivative(lanes[3], degree_));
    for (std::size_t lane = 4; lane < 6; ++lane) {
      for (Real& coefficient : lanes[lane]) coefficient *= 2.0L / t_max;
    }
  }
  for (Series& lane : lanes) lane = powers(lane, degree_);
  for (int j = degree_; j >= 0; --j) {
    for (const Series& lane : lanes)
      coefficients_.push_back(static_cast<double>(lane[static_cast<std::size_t>(j)]));
  }
}

}  // namespace tendril
