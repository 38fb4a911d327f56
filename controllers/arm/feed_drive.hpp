#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_memory.hpp"
#include "controllers/interface/settings.hpp"
#include "tendril/path/shape_fit.hpp"

namespace tendril {

/// Feeds an arm along a curve: the base advances and the sections are fitted to the curve. Feed and
/// bends are synchronized: if a section would exceed its rate limit, the feed slows down.
class FeedDrive {
 public:
  static constexpr int kFitSteps = 2;  ///< Gauss-Newton steps of the warm-started fit in one step

  struct Limits {
    double speed = 0.05;        ///< of the feed [m/s], > 0
    double acceleration = 0.2;  ///< of the feed [m/s^2], > 0
    double rate_limit = 3.0;    ///< of a section's bend [rad/s], > 0

    [[nodiscard]] static Limits from(const Settings& settings) {
      return {.speed = settings.number("speed"),
              .acceleration = settings.number("acceleration"),
              .rate_limit = settings.number("rate_limit")};
    }
  };

  FeedDrive(const ContinuumRobot& robot, const Limits& limits, FitNorm norm = FitNorm::Tip)
      : robot_(robot),
        limits_(limits),
        fit_(robot, {.iterations = kFitSteps, .norm = norm}),
        q_last_(robot.coordinate_count()) {}

  struct Step {
    double feed, speed;  ///< [m], [m/s]; the speed is negative on the way back
  };
  /// One step of `h` [s] from `feed` and the section states `from` towards `feed_end` on the curve
  /// `position(s)` (base frame, s = feed at the base of section 1). `to` and `q` receive the
  /// sections' states and coordinates after the step.
  template <class Curve>
  [[nodiscard]] Step step(const Curve& position, double feed, double last_speed, double feed_end,
                          double h, std::span<const SectionState> from, std::span<SectionState> to,
                          Eigen::VectorXd& q) noexcept {
    to_coordinates(robot_, from, q_last_);
    const double direction = feed_end < feed ? -1.0 : 1.0;
    const double remaining = std::abs(feed_end - feed);
    double speed =
        std::min({limits_.speed, std::max(direction * last_speed, 0.0) + limits_.acceleration * h,
                  std::sqrt(2.0 * limits_.acceleration * remaining), remaining / h});
    BaseState base{.feed = feed, .spin = 0.0};
    double ratio = 0.0;
    for (int attempt = 0; attempt < kSlowDowns; ++attempt) {
      base.feed = feed + direction * speed * h;
      std::copy(from.begin(), from.end(), to.begin());
      fit_.fit(position, base, to);
      to_coordinates(robot_, to, q);
      ratio =
          largest_change(robot_, q, q_last_, TipIntegral::kLengthScale) / (limits_.rate_limit * h);
      if (ratio <= 1.0) break;
      if (attempt + 1 < kSlowDowns) speed *= 0.9 / ratio;
    }
    if (ratio > 1.0) {  // the fit has not converged yet: scale joint step and feed step alike
      speed /= ratio;
      base.feed = feed + direction * speed * h;
      q = q_last_ + (q - q_last_) / ratio;
      from_coordinates(robot_, q, to);
    }
    return {base.feed, direction * speed};
  }

 private:
  static constexpr int kSlowDowns = 4;  // attempts to find a feed step that keeps the rate limit

  ContinuumRobot robot_;
  Limits limits_;
  ShapeFit fit_;
  Eigen::VectorXd q_last_;  // scratch
};

}  // namespace tendril
