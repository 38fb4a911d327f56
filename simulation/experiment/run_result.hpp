#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "simulation/experiment/experiment.hpp"
#include "simulation/experiment/robot_watch.hpp"
#include "simulation/experiment/step_times.hpp"

namespace tendril::simulation {

enum class Outcome { Done, Diverged, Interrupted };

/// Returns "done", "diverged" or "interrupted".
[[nodiscard]] const char* to_string(Outcome outcome) noexcept;

struct CheckResult {
  Check check;
  std::string unit;
  double value = std::numeric_limits<double>::quiet_NaN();
  bool holds = false;
};

struct RunResult {
  Outcome outcome = Outcome::Done;
  std::string reason;  ///< of a divergence: one line naming joint, value, step and time
  long steps = 0;      ///< done
  double timestep = 0.0;
  double simulated_time = 0.0;    ///< [s]
  double wall_time = 0.0;         ///< of the whole loop, recording and metrics included [s]
  double real_time_factor = 0.0;  ///< simulated_time / wall_time
  double duration = 0.0;          ///< requested [s]
  std::uint64_t seed = 0;
  StepTimes step_times;
  std::vector<CheckResult> checks;
  std::vector<std::pair<Metric, double>> metrics;
  std::vector<Setting> settings;
  std::vector<std::string> notices;
  std::string command_line;
  std::vector<RobotStatus> statuses;
  std::vector<SaturatedServo> saturated;
  std::vector<TouchedGeom> touched;
  /// Reasons why the run does not pass although no check says so: a robot whose controller faulted
  /// or ended neither working nor finished, unless a check reads its status.
  std::vector<std::string> failures;

  [[nodiscard]] bool all_checks_hold() const noexcept;
  /// The run was done to its end, all checks hold and nothing else failed.
  [[nodiscard]] bool passes() const noexcept {
    return outcome == Outcome::Done && all_checks_hold() && failures.empty();
  }
  /// What controllers saw: "sensors" if one of them saw its sensors, else "truth".
  [[nodiscard]] const char* measured() const noexcept;
  /// "pass" or "fail"; "none" of a run without checks that came to its end.
  [[nodiscard]] const char* verdict() const noexcept;
};

}  // namespace tendril::simulation
