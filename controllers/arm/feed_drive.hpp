#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/path/advance.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {

/// Advances an arm along a curve: the base is fed, or sections grow, and the sections are fitted to
/// the curve. Advance and bends are synchronized: if a section would exceed its rate limit, the
/// advance slows down.
class FeedDrive {
 public:
  static constexpr int kFitSteps = 2;  ///< Gauss-Newton steps of the warm-started fit in one step

  struct Limits {
    double speed = 0.05;        ///< of the advance [m/s], > 0
    double acceleration = 0.2;  ///< of the advance [m/s^2], > 0
    double rate_limit = 3.0;    ///< of a section's bend [rad/s], > 0

    [[nodiscard]] static Limits from(const Settings& settings) {
      return {.speed = settings.number("speed"),
              .acceleration = settings.number("acceleration"),
              .rate_limit = settings.number("rate_limit")};
    }
    /// Speed of the next step of `h` [s], >= 0, with `remaining` [m] to the end of the advance and
    /// the last speed in its direction; at most `fraction` of the limit.
    [[nodiscard]] double next_speed(double last_speed, double remaining, double h,
                                    double fraction = 1.0) const noexcept {
      return std::min({fraction * speed, std::max(last_speed, 0.0) + acceleration * h,
                       std::sqrt(2.0 * acceleration * remaining), remaining / h});
    }
  };

  FeedDrive(const ContinuumRobot& robot, const Advance& advance, const Limits& limits,
            FitNorm norm = FitNorm::Tip)
      : robot_(robot),
        advance_(advance),
        limits_(limits),
        fit_(robot, {.iterations = kFitSteps, .norm = norm}),
        q_last_(robot.coordinate_count()) {}

  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

  struct Step {
    double advance, speed;  ///< [m], [m/s]; the speed is negative on the way back
    BaseState base;
  };
  /// One step of `h` [s] from the advance `last` and the section states `from` towards the advance
  /// `end` on the curve `position(s)` (base frame, s = feed at the base of section 1). `to` and `q`
  /// receive the sections' states and coordinates after the step.
  template <class Curve>
  [[nodiscard]] Step step(const Curve& position, double last, double last_speed, double end,
                          double h, std::span<const SectionState> from, std::span<SectionState> to,
                          Eigen::VectorXd& q) noexcept {
    to_coordinates(robot_, from, q_last_);
    const double direction = end < last ? -1.0 : 1.0;
    double speed = limits_.next_speed(direction * last_speed, std::abs(end - last), h);
    BaseState base;
    double ratio = 0.0;
    for (int attempt = 0; attempt < kSlowDowns; ++attempt) {
      std::copy(from.begin(), from.end(), to.begin());
      base = advance_.apply(last + direction * speed * h, to);
      fit_.fit(position, base, to);
      to_coordinates(robot_, to, q);
      ratio =
          largest_change(robot_, q, q_last_, TipIntegral::kLengthScale) / (limits_.rate_limit * h);
      if (ratio <= 1.0) break;
      if (attempt + 1 < kSlowDowns) speed *= 0.9 / ratio;
    }
    if (ratio > 1.0) {  // the fit has not converged yet: scale joint step and advance alike
      speed /= ratio;
      q = q_last_ + (q - q_last_) / ratio;
      from_coordinates(robot_, q, to);
      base = advance_.apply(last + direction * speed * h, to);
      to_coordinates(robot_, to, q);
    }
    return {last + direction * speed * h, direction * speed, base};
  }

 private:
  static constexpr int kSlowDowns = 4;  // attempts to find a feed step that keeps the rate limit

  ContinuumRobot robot_;
  Advance advance_;
  Limits limits_;
  ShapeFit fit_;
  Eigen::VectorXd q_last_;  // scratch
};

}  // namespace tendril
