#include "tendril/kinematics/bend_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace tendril {
namespace {

/// A number of about 32 digits, high + low: the fit is done with digits to spare. Operations are
/// those of Dekker (1971) and Knuth, which need IEEE arithmetic alone: `long double` has other
/// digits on each machine.
struct Real {
  double high = 0.0, low = 0.0;

  constexpr Real(double number = 0.0) : high(number) {}
  constexpr Real(double more, double less) : high(more), low(less) {}

  /// a + b, whose rounding error is `low`; of any sizes.
  static constexpr Real sum(double a, double b) {
    const double total = a + b, part = total - a;
    return {total, (a - (total - part)) + (b - part)};
  }
  static constexpr Real product(double a, double b) {
    constexpr double kSplit = 134217729.0;  // 2^27 + 1
    const double across_a = kSplit * a, across_b = kSplit * b;
    const double upper_a = across_a - (across_a - a), upper_b = across_b - (across_b - b);
    const double lower_a = a - upper_a, lower_b = b - upper_b, total = a * b;
    return {total, ((upper_a * upper_b - total) + upper_a * lower_b + lower_a * upper_b) +
                       lower_a * lower_b};
  }

  friend constexpr Real operator-(const Real& a) { return {-a.high, -a.low}; }
  friend constexpr Real operator+(const Real& a, const Real& b) {
    const Real total = sum(a.high, b.high);
    return sum(total.high, total.low + (a.low + b.low));
  }
  friend constexpr Real operator-(const Real& a, const Real& b) { return a + -b; }
  friend constexpr Real operator*(const Real& a, const Real& b) {
    const Real total = product(a.high, b.high);
    return sum(total.high, total.low + (a.high * b.low + a.low * b.high));
  }
  friend constexpr Real operator/(const Real& a, const Real& b) {
    const double first = a.high / b.high;
    const Real rest = a - b * first;
    const double second = rest.high / b.high;
    return sum(first, second) + (rest - b * second).high / b.high;
  }
  constexpr Real& operator+=(const Real& other) { return *this = *this + other; }
  constexpr Real& operator-=(const Real& other) { return *this = *this - other; }
  constexpr Real& operator*=(const Real& other) { return *this = *this * other; }
  constexpr Real& operator/=(const Real& other) { return *this = *this / other; }
};

Real square_root(const Real& square) {
  const double root = std::sqrt(square.high);
  return root > 0.0 ? Real(root) + (square - Real::product(root, root)).high / (2.0 * root)
                    : Real();
}

constexpr int kMaxDegree = 24;  // enough for rounding at thetaMax = 2 pi
constexpr int kNodes = kMaxDegree + 8;
constexpr double kNegligible = 3e-18;  // of a Chebyshev coefficient
constexpr Real kPi{std::numbers::pi,
                   1.2246467991473532e-16};  // its digits beyond those of a double

using Series = std::array<Real, kNodes>;  // Chebyshev coefficients

/// Sum of (-1)^j t^j / (2j + first)!, to rounding for t up to that of two turns.
Real alternating_series(const Real& t, int first) {
  constexpr int kTerms = 28;
  Real sum;
  for (int j = kTerms; j > 0; --j) {
    const int n = 2 * j + first;
    sum = (1.0 - sum * t) / static_cast<double>(n * (n - 1));
  }
  sum = 1.0 - sum * t;
  for (int m = 2; m <= first; ++m) sum /= static_cast<double>(m);
  return sum;
}

/// (theta - sin(theta)) / theta^3.
Real residue(const Real& t) { return alternating_series(t, 3); }

/// (cos(theta) - 1 + theta^2 / 2) / theta^4.
Real cosine_residue(const Real& t) { return alternating_series(t, 4); }

Real sine(const Real& angle) { return angle * alternating_series(angle * angle, 1); }

Real cosine(const Real& angle) { return alternating_series(angle * angle, 0); }

struct PlanarEnd {
  Real x, z;
};

/// `Section::end_point` in these digits.
PlanarEnd end_point(const Section& section, const Real& theta) {
  PlanarEnd end;
  Real tangent;
  for (std::size_t j = 0; j < section.length_weights().size(); ++j) {
    const Real y = section.angle_weights()[j] * theta * 0.5;
    const Real chord = section.length_weights()[j] * alternating_series(y * y, 1);
    end.x += chord * sine(tangent + y);
    end.z += chord * cosine(tangent + y);
    tangent += 2.0 * y;
  }
  return end;
}

/// Chebyshev coefficients of f(t), t = (x + 1) t_max / 2, from its values at the Chebyshev nodes.
template <class Function>
Series chebyshev(const Real& t_max, Function f) {
  constexpr int kPeriod = 4 * kNodes;
  static const auto cosines = [] {  // of pi k / (2 kNodes)
    std::array<Real, kPeriod> table{};
    for (int k = 0; k < kPeriod; ++k)
      table[static_cast<std::size_t>(k)] = cosine(2.0 * kPi * k / kPeriod);
    return table;
  }();
  Series values{}, series{};
  const auto node = [](int j, int m) {  // cos(pi j (m + 1/2) / kNodes)
    return cosines[static_cast<std::size_t>(j * (2 * m + 1) % kPeriod)];
  };
  for (int m = 0; m < kNodes; ++m)
    values[static_cast<std::size_t>(m)] = f((node(1, m) + 1.0) * t_max / 2.0);
  for (int j = 0; j < kNodes; ++j) {
    Real sum;
    for (int m = 0; m < kNodes; ++m) sum += values[static_cast<std::size_t>(m)] * node(j, m);
    series[static_cast<std::size_t>(j)] = (j == 0 ? 1.0 : 2.0) / kNodes * sum;
  }
  return series;
}

/// Coefficients of the derivative with respect to x of the first `degree` + 1 terms.
Series derivative(const Series& series, int degree) {
  Series result{};
  for (int j = degree; j >= 1; --j) {
    const auto k = static_cast<std::size_t>(j);
    result[k - 1] = result[k + 1] + 2.0 * j * series[k];
  }
  result[0] /= 2.0;
  return result;
}

/// Coefficients of the powers of x, lowest first, of the first `degree` + 1 terms.
Series powers(const Series& series, int degree) {
  Series result{}, previous{}, now{};  // T_{j-1}, T_j
  for (int j = 0; j <= degree; ++j) {
    Series next{};
    if (j == 0) {
      next[0] = 1.0;
    } else {
      for (std::size_t k = 0; k + 1 < next.size(); ++k) next[k + 1] = (j == 1 ? 1.0 : 2.0) * now[k];
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
  while (degree > 1 && std::abs(series[static_cast<std::size_t>(degree)].high) < kNegligible)
    --degree;
  return degree;
}

}  // namespace

BendFunctions::BendFunctions(const Section& section)
    : is_arc_(section.length_weights().size() == 1) {
  const double t_max = section.bend_angle_limit() * section.bend_angle_limit();
  scale_ = 2.0 / t_max;
  std::vector<Series> lanes = {chebyshev(t_max, residue), chebyshev(t_max, cosine_residue)};
  if (!is_arc_) {
    lanes.push_back(chebyshev(t_max, [&](const Real& t) {  // no node is at 0
      const Real theta = square_root(t);
      return end_point(section, theta).x / theta;
    }));
    lanes.push_back(
        chebyshev(t_max, [&](const Real& t) { return end_point(section, square_root(t)).z; }));
  }
  for (const Series& lane : lanes) degree_ = std::max(degree_, degree_of(lane));
  if (!is_arc_) {
    lanes.push_back(derivative(lanes[2], degree_));
    lanes.push_back(derivative(lanes[3], degree_));
    for (std::size_t lane = 4; lane < 6; ++lane) {
      for (Real& coefficient : lanes[lane]) coefficient *= 2.0 / Real(t_max);
    }
  }
  for (Series& lane : lanes) lane = powers(lane, degree_);
  for (int j = degree_; j >= 0; --j) {
    for (const Series& lane : lanes)
      coefficients_.push_back(lane[static_cast<std::size_t>(j)].high);
  }
}

}  // namespace tendril
