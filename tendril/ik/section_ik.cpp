#include "tendril/ik/section_ik.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tendril {
namespace {

constexpr double kStraight = 1e-12;  // [rad], below it alpha/theta is its limit
constexpr double kSlowestChordTurn =
    1e-3;                               // dalpha/dtheta below which a Newton step is not trusted
constexpr double kLargestShrink = 0.3;  // a Newton step keeps at least this part of theta

/// The target in polar form: distance n and chord angle alpha*. (2.10)
struct PolarTarget {
  double n, alpha;
};

PolarTarget polar(double rho, double z) noexcept {
  return {std::hypot(rho, z), std::atan2(rho, z)};
}

/// Steps 17-19: limits; then the honest comparison with the target.
SectionIkResult clamped_answer(const Section& section, double rho, double z, double theta, double s,
                               const PlanarPoint& end, int iterations,
                               const SectionIkOptions& options) noexcept {
  SectionIkResult result{
      .theta = theta, .extension = 0.0, .end = end, .iterations = iterations, .reached = false};
  result.extension = std::clamp(s, 0.0, section.variable_length());    // (2.24)
  const double limit = section.bend_angle_limit_at(result.extension);  // (2.25)
  if (theta > limit) {                                                 // (2.26)
    result.theta = limit;
    result.end = section.end_point(limit);
  }
  const double S = section.length() + result.extension;
  const double distance = std::hypot(rho - S * result.end.x, z - S * result.end.z);
  const double turn = std::abs(std::atan2(rho, z) - std::atan2(result.end.x, result.end.z));
  result.reached = distance <= options.position_tolerance && turn <= options.angle_tolerance;
  return result;
}

/// The answer with the length that puts the end of the section bent by theta at distance n.
SectionIkResult answer_at(const Section& section, double rho, double z, double n, double theta,
                          int iterations, const SectionIkOptions& options) noexcept {
  const PlanarPoint end = section.end_point(theta);
  const double c = std::hypot(end.x, end.z);
  const double s = c > 0.0 ? n / c - section.length() : section.variable_length();
  return clamped_answer(section, rho, z, theta, s, end, iterations, options);
}

bool is_single_arc(const Section& section) noexcept { return section.length_weights().size() == 1; }

}  // namespace

SectionIkResult solve_section_iterative(const Section& section, double rho, double z,
                                        const SectionIkOptions& options) noexcept {
  assert(rho >= 0.0);
  const auto [n, alpha] = polar(rho, z);
  if (alpha >= section.invertible_chord_angle())
    return answer_at(section, rho, z, n, section.invertible_bend_angle(), 0, options);

  const double SC = section.length();
  double theta = std::min(2.0 * alpha, section.invertible_bend_angle());                   // (2.11)
  double s = theta < kStraight ? n - SC : n * (theta / 2.0) / std::sin(theta / 2.0) - SC;  // (2.12)
  int iterations = 0;
  while (iterations < options.max_iterations) {
    ++iterations;
    const Chord now = chord(section, theta);
    const double S = SC + s;
    const double n_now = S * now.ratio;
    const double angle_error = std::abs(alpha - now.angle);
    const double position_error =
        std::hypot(rho - n_now * std::sin(now.angle), z - n_now * std::cos(now.angle));
    const double k =
        theta < kStraight ? 1.0 / section.small_bend_chord_ratio() : theta / now.angle;  // (2.13)
    theta = std::min(k * alpha, section.invertible_bend_angle());                        // (2.14)
    if (n_now > 0.0) s = S * n / n_now - SC;                                             // (2.15)
    if (position_error <= options.position_tolerance && angle_error <= options.angle_tolerance)
      break;
  }
  return clamped_answer(section, rho, z, theta, s, section.end_point(theta), iterations, options);
}

SectionIkResult solve_section_newton(const Section& section, double rho, double z,
                                     const SectionIkOptions& options, double theta_start) noexcept {
  assert(rho >= 0.0);
  const auto [n, alpha] = polar(rho, z);
  const double theta_inv = section.invertible_bend_angle();
  if (alpha >= section.invertible_chord_angle())
    return answer_at(section, rho, z, n, theta_inv, 0, options);
  if (is_single_arc(section) || alpha == 0.0)
    return answer_at(section, rho, z, n, 2.0 * alpha, 0, options);

  double theta = std::min(theta_start > 0.0 ? theta_start : 2.0 * alpha, theta_inv);
  int iterations = 0;
  while (iterations < options.max_iterations) {
    ++iterations;
    const Chord now = chord(section, theta);
    const double error = alpha - now.angle;
    const double next = now.angle_rate < kSlowestChordTurn
                            ? theta * alpha / now.angle  // Algorithm I's step
                            : theta + error / now.angle_rate;
    theta = std::clamp(next, kLargestShrink * theta, theta_inv);
    if (std::abs(error) <= options.angle_tolerance) break;
  }
  return answer_at(section, rho, z, n, theta, iterations, options);
}

}  // namespace tendril
