#include "simulation/experiment/run_result.hpp"

#include <algorithm>

namespace tendril::simulation {

const char* to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::Done:
      return "done";
    case Outcome::Diverged:
      return "diverged";
    case Outcome::Interrupted:
      return "interrupted";
  }
  return "";
}

const char* RunResult::measured() const noexcept {
  return std::ranges::any_of(statuses, &RobotStatus::is_sensed) ? "sensors" : "truth";
}

const char* RunResult::verdict() const noexcept {
  const bool has_checks = !checks.empty() || !failures.empty() || outcome == Outcome::Diverged;
  return !has_checks ? "none" : passes() ? "pass" : "fail";
}

bool RunResult::all_checks_hold() const noexcept {
  return std::all_of(checks.begin(), checks.end(), [](const CheckResult& c) { return c.holds; });
}

}  // namespace tendril::simulation
