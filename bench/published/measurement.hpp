#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bench/published/histogram.hpp"
#include "tendril/ik/any_solver.hpp"

namespace tendril::tables {

/// Tolerances of a table.
struct Tolerances {
  double position = 1e-5;  ///< [m]
  double angle = 1e-3;     ///< [rad]
};

/// Tells whether both errors are within their tolerances, up to rounding.
[[nodiscard]] bool within(const Tolerances& tolerances, double position_error,
                          double angle_error) noexcept;

/// One solve, checked.
struct Outcome {
  bool claimed = false;   ///< the solver says that it converged
  bool verified = false;  ///< confirmed by forward kinematics of its states, limits included
  int iterations = 0;
  double time = 0.0;            ///< [s], for the quantiles
  double time_for_mean = 0.0;   ///< [s], for the mean
  double position_error = 0.0;  ///< [m], by forward kinematics
  double angle_error = 0.0;     ///< [rad]
  [[nodiscard]] bool success() const noexcept { return claimed && verified; }
};

/// Statistics of the solves of one method on one row. Times and iterations are those of successes,
/// errors those of failures.
struct Measurement {
  std::int64_t samples = 0;
  std::int64_t successes = 0;
  std::int64_t false_claims = 0;  ///< claimed, but not verified
  double time_sum = 0.0;          ///< [s]
  LogHistogram times;             ///< [s]
  CountHistogram iterations;
  RangeByCount times_by_iterations;  ///< [s]
  LogHistogram position_errors;      ///< [m]
  LogHistogram angle_errors;         ///< [rad]
  std::optional<int> solutions;      ///< paths that a planner finds in each solve

  void add(const Outcome& outcome);
  void merge(const Measurement& other);

  [[nodiscard]] double success() const;    ///< 0..1; NaN without samples
  [[nodiscard]] double mean_time() const;  ///< [s]; NaN without successes
};

/// Wilson confidence interval of a rate, 95 %; also valid at 0 and 1.
struct Interval {
  double low = 0.0, high = 1.0;
};
[[nodiscard]] Interval success_interval(const Measurement& measurement);

/// Conversion of a measurement to JSON and back; histograms are lists of [bin, count]. `from_json`
/// throws nlohmann::json::exception or std::out_of_range for invalid text.
[[nodiscard]] nlohmann::ordered_json to_json(const Measurement& measurement);
[[nodiscard]] Measurement measurement_from_json(const nlohmann::ordered_json& json);

/// The errors of `states` by forward kinematics, and whether they are within the tolerances and the
/// limits of the robot.
void verify(const ContinuumRobot& robot, SectionStates states, const BaseState& base,
            const TipTarget& target, const Tolerances& tolerances, Outcome& outcome) noexcept;

}  // namespace tendril::tables
