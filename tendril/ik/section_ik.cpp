#include "tendril/ik/section_ik.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "tendril/ik/false_position.hpp"

namespace tendril {
namespace {

constexpr double kStraight = 1e-12;  // [rad], below it alpha/theta is its limit
constexpr double kRounding = 1e-14;  // [rad], steps below it change nothing
constexpr double kNoStep = std::numeric_limits<double>::max();
constexpr double kOnAxis = 1e-12;   // of the target's distance: no lateral offset
constexpr double kRootStep = 0.05;  // [rad], short against the distance of two turning points
constexpr double kDipWidth = 1e-7;  // [rad], a dip is searched down to this width
constexpr double kGolden = 0.381966;
constexpr int kRootIterations = 100;

/// The target in polar form: distance n and chord angle alpha*. (2.10)
struct PolarTarget {
  double n, alpha;
};

PolarTarget polar(double rho, double z) noexcept {
  return {std::sqrt(rho * rho + z * z), std::atan2(rho, z)};
}

/// Tells whether the end S (X, Z) lies within the tolerances of (rho, z): distance, and angle
/// between the chords. Where the first comparison of the angles holds, so does the second, because
/// atan(t) <= t.
bool is_reached(double rho, double z, double S, const SectionShape::End& end,
                const SectionIkOptions& options) noexcept {
  const double dx = rho - S * end.x, dz = z - S * end.z;
  const double tolerance = options.position_tolerance;
  if (!(dx * dx + dz * dz <= tolerance * tolerance)) return false;
  const double cross = std::abs(rho * end.z - z * end.x), dot = rho * end.x + z * end.z;
  return cross <= options.angle_tolerance * dot ||
         std::atan2(cross, dot) <= options.angle_tolerance;
}

/// Steps 17-20: limits; then the comparison with the target.
SectionIkResult clamped_solution(const SectionShape& shape, double rho, double z, double h,
                                 double theta, double s, const SectionShape::End& end,
                                 int iterations, const SectionIkOptions& options) noexcept {
  SectionIkResult result{.theta = theta,
                         .extension = std::clamp(s, 0.0, shape.variable_length()),  // (2.24)
                         .feed = std::clamp(h, 0.0, options.feed_limit),            // (2.27)
                         .end = end,
                         .iterations = iterations};
  const double limit = shape.bend_angle_limit_at(result.extension);  // (2.25)
  if (theta > limit) {                                               // (2.26)
    result.theta = limit;
    result.end = shape.end(limit);
  }
  result.reached =
      is_reached(rho, z - result.feed, shape.length() + result.extension, result.end, options);
  return result;
}

/// Variable length of the constant-curvature section bent by theta with chord n. (2.12)
double arc_extension(double n, double theta, double SC) noexcept {
  if (theta < kStraight) return n - SC;
  const double sine = std::sin(theta / 2.0);
  return sine > kStraight ? n * (theta / 2.0) / sine - SC : n - SC;
}

/// theta at which the chord angle is alpha in (0, alphaInv), by Newton steps, or halvings of the
/// bracket where a step would leave it. What a step leaves is about its square over dalpha/dtheta:
/// next to the critical bend a good chord angle is not enough.
struct BendSearch {
  double theta;
  int iterations;
};
BendSearch find_bend(const SectionShape& shape, const PolarTarget& target, double theta_start,
                     const SectionIkOptions& options) noexcept {
  const double alpha = target.alpha;
  const double theta_inv = shape.invertible_bend_angle();
  double theta = theta_start;
  if (!(theta > 0.0)) {
    // k = theta/alpha is even in alpha: linear in alpha^2 between its known ends.
    const double t = alpha / shape.invertible_chord_angle();
    const double k_straight = 1.0 / shape.small_bend_chord_ratio();
    const double k_end = theta_inv / shape.invertible_chord_angle();
    theta = alpha * (k_straight + t * t * (k_end - k_straight));
  }
  theta = std::min(theta, theta_inv);
  double low = 0.0, high = theta_inv;  // the chord angle grows from 0 to alphaInv between them
  int iterations = 0;
  while (iterations < options.max_iterations) {
    ++iterations;
    const SectionShape::Chord now = shape.chord_with_rate(theta);
    const double error = target.alpha - now.angle;
    const double step = error / now.angle_rate;
    const bool is_close = std::abs(error) <= options.angle_tolerance &&
                          target.n * step * step <= options.position_tolerance * now.angle_rate;
    if (is_close || std::abs(step) <= kRounding) {
      theta = std::clamp(theta + step, low, high);
      break;
    }
    (error > 0.0 ? low : high) = theta;
    theta += step;
    if (!(theta > low && theta < high)) theta = 0.5 * (low + high);
  }
  return {theta, iterations};
}

/// The first theta in [low, high] where f changes sign, or where |f| is least if it does not.
/// Samples f in steps of kRootStep and searches every dip of |f| between the samples as well.
template <class F>
double first_root(const F& f, double low, double high) noexcept {
  const double f_low = f(low);
  if (f_low == 0.0) return low;
  const double sign = f_low < 0.0 ? -1.0 : 1.0;
  double best = low, least = std::abs(f_low);
  const auto keep_if_best = [&](double theta, double f_theta) {
    if (std::abs(f_theta) >= least) return;
    least = std::abs(f_theta);
    best = theta;
  };
  struct Point {
    double theta, f;
  };
  // Golden sections towards the least |f| in [left, right]; the first root if f changes sign.
  const auto descend = [&](Point left, Point middle, Point right) -> std::optional<double> {
    const Point first = left;
    for (int k = 0; k < kRootIterations && right.theta - left.theta > kDipWidth; ++k) {
      const bool to_right = right.theta - middle.theta > middle.theta - left.theta;
      const double t = middle.theta + kGolden * ((to_right ? right : left).theta - middle.theta);
      const Point probe{t, f(t)};
      if (sign * probe.f <= 0.0)
        return false_position(f, first.theta, first.f, probe.theta, probe.f);
      if (sign * probe.f < sign * middle.f) {
        (to_right ? left : right) = middle;
        middle = probe;
      } else {
        (to_right ? right : left) = probe;
      }
    }
    keep_if_best(middle.theta, middle.f);
    return std::nullopt;
  };
  const auto is_dip = [&](const Point& left, const Point& middle, const Point& right) {
    return sign * middle.f <= sign * left.f && sign * middle.f <= sign * right.f;
  };

  const int steps = std::max(2, static_cast<int>(std::ceil((high - low) / kRootStep)));
  // Samples right next to the ends tell whether a dip lies in the first or the last step.
  const double dip = kDipWidth * (high - low);
  Point a{low, f_low}, b{low, f_low};
  for (int i = 0; i <= steps + 1; ++i) {
    const double t = i == 0           ? low + dip
                     : i == steps     ? high - dip
                     : i == steps + 1 ? high
                                      : low + (high - low) * i / steps;
    const Point c{t, f(t)};
    if (sign * c.f <= 0.0) return false_position(f, b.theta, b.f, c.theta, c.f);
    if (i > 0 && is_dip(a, b, c)) {
      if (const auto root = descend(a, b, c)) return *root;
    }
    keep_if_best(c.theta, c.f);
    a = b;
    b = c;
  }
  return best;
}

}  // namespace

SectionIkResult section_solution_at(const SectionShape& shape, double rho, double z, double theta,
                                    int iterations, const SectionIkOptions& options) noexcept {
  const SectionShape::End end = shape.end(theta);
  double s = 0.0;
  if (shape.is_extensible()) {
    const double c2 = end.x * end.x + end.z * end.z;
    s = c2 > 0.0 ? std::sqrt((rho * rho + z * z) / c2) - shape.length() : shape.variable_length();
  }
  return clamped_solution(shape, rho, z, 0.0, theta, s, end, iterations, options);
}

SectionIkResult solve_section_iterative(const SectionShape& shape, double rho, double z,
                                        const SectionIkOptions& options) noexcept {
  assert(rho >= 0.0);
  PolarTarget target = polar(rho, z);
  const double theta_inv = shape.invertible_bend_angle();
  if (target.alpha >= shape.invertible_chord_angle())  // feeding would only widen the chord angle
    return section_solution_at(shape, rho, z, theta_inv, 0, options);

  const double SC = shape.length(), SD = shape.variable_length();
  const double position_tolerance = options.position_tolerance;
  double h = 0.0;
  double theta = std::min(2.0 * target.alpha, theta_inv);  // (2.11)
  double s = arc_extension(target.n, theta, SC);           // (2.12)
  double last_step = kNoStep;
  int iterations = 0;
  while (iterations < options.max_iterations) {
    ++iterations;
    const auto [n, alpha] = target;
    const SectionShape::Chord now = shape.chord(theta);
    const double n_now = (SC + s) * now.ratio;
    const double angle_error = std::abs(alpha - now.angle);
    // Law of cosines; 2 (1 - cos(angle_error)) by its series.
    const double a2 = angle_error * angle_error;
    const double versine = a2 * (1.0 - a2 / 12.0 * (1.0 - a2 / 30.0 * (1.0 - a2 / 56.0)));
    const double position_error_squared = (n - n_now) * (n - n_now) + n * n_now * versine;

    const double k =
        theta < kStraight ? 1.0 / shape.small_bend_chord_ratio() : theta / now.angle;  // (2.13)
    const double theta_next = std::min(k * alpha, theta_inv);                          // (2.14)
    const double step = std::abs(theta_next - theta);
    theta = theta_next;
    if (now.ratio > 0.0) s = n / now.ratio - SC;  // (2.15)

    if (options.feed_limit > 0.0 && SC + s > 0.0) {
      const double s2 = s > 0.0 && s < SD ? s : SD;       // (2.18)
      const double e = n * (1.0 - (SC + s2) / (SC + s));  // (2.19)
      if (std::abs(e) > position_tolerance) {
        const double lift = std::clamp(e / std::cos(now.angle), -options.max_feed_step,
                                       options.max_feed_step);                // (2.20), (2.21)
        const double h_next = std::clamp(h + lift, 0.0, options.feed_limit);  // (2.22), (2.27)
        if (h_next != h) {
          h = h_next;
          target = polar(rho, z - h);  // (2.23), (2.10)
          theta = std::min(k * target.alpha, theta_inv);
          s = arc_extension(target.n, theta, SC);
          last_step = kNoStep;
          continue;  // the errors are those of another target
        }
      }
    }
    // Steps shrink by the factor q = step/last_step: what remains is step q/(1 - q).
    if (position_error_squared <= position_tolerance * position_tolerance &&
        angle_error <= options.angle_tolerance &&
        (step <= kRounding || n * step * step <= position_tolerance * (last_step - step)))
      break;
    last_step = step;
  }
  return clamped_solution(shape, rho, z, h, theta, s, shape.end(theta), iterations, options);
}

SectionIkResult solve_section_newton(const SectionShape& shape, double rho, double z,
                                     const SectionIkOptions& options, double theta_start) noexcept {
  assert(rho >= 0.0);
  const PolarTarget target = polar(rho, z);
  if (target.alpha >= shape.invertible_chord_angle())
    return section_solution_at(shape, rho, z, shape.invertible_bend_angle(), 0, options);
  if (shape.is_single_arc() || target.alpha == 0.0)
    return section_solution_at(shape, rho, z, 2.0 * target.alpha, 0, options);
  const BendSearch found = find_bend(shape, target, theta_start, options);
  return section_solution_at(shape, rho, z, found.theta, found.iterations, options);
}

SectionIkResult solve_section_with_feed(const SectionShape& shape, double rho, double z,
                                        const SectionIkOptions& options) noexcept {
  const SectionIkResult at_rest = solve_section_newton(shape, rho, z, options);
  const auto [n, alpha] = polar(rho, z);
  // The chord angle to the target only grows with the feed.
  if (at_rest.reached || !(options.feed_limit > 0.0) || alpha >= shape.invertible_chord_angle())
    return at_rest;

  const double SC = shape.length(), SD = shape.variable_length();
  if (rho <= kOnAxis * n) {  // straight ahead
    const double s = std::clamp(z - SC, 0.0, SD);
    return clamped_solution(shape, rho, z, z - SC - s, 0.0, s, shape.end(0.0), 0, options);
  }

  // The bend theta meets the target with the length rho/X and the feed z - rho Z/X, which grows
  // with theta. So the smallest feed is the first theta, from that at rest, at which the length is
  // inside its range: not above SC + SD, and not below the length at which theta is the bend limit.
  const auto length_at_limit = [&](double theta) {
    return shape.is_extensible() ? SC + SD * (theta / shape.bend_angle_limit()) : SC;
  };
  constexpr SectionIkOptions kExact{.position_tolerance = 1e-14, .angle_tolerance = 1e-14};
  const auto bend_at = [&](double feed) {
    const PolarTarget target = polar(rho, z - feed);
    if (target.alpha >= shape.invertible_chord_angle()) return shape.invertible_bend_angle();
    return find_bend(shape, target, -1.0, kExact).theta;
  };
  const double low = bend_at(0.0), high = std::max(low, bend_at(options.feed_limit));
  const double x_low = shape.end(low).x;
  const bool too_far = (SC + SD) * x_low < rho;
  if (!too_far && length_at_limit(low) * x_low <= rho) return at_rest;
  const double theta =
      too_far ? first_root([&](double t) { return (SC + SD) * shape.end(t).x - rho; }, low, high)
              : first_root([&](double t) { return length_at_limit(t) * shape.end(t).x - rho; }, low,
                           high);
  const double s = too_far ? SD : length_at_limit(theta) - SC;
  const SectionShape::End end = shape.end(theta);
  return clamped_solution(shape, rho, z, z - (SC + s) * end.z, theta, s, end, at_rest.iterations,
                          options);
}

}  // namespace tendril
