#include "tendril/ik/solver_support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tendril {

std::optional<IkResult> refused_solve(const ContinuumRobot& robot, const TipTarget& target,
                                      SectionStates start, const BaseState& base,
                                      bool meets_roll) noexcept {
  const bool base_is_finite = std::isfinite(base.feed) && std::isfinite(base.spin);
  const auto refused = [&](IkStatus status) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return IkResult{.status = status,
                    .iterations = 0,
                    .position_error = infinity,
                    .angle_error = infinity,
                    .base = base_is_finite ? base : BaseState{},
                    .states = robot.straight()};
  };
  if (!is_finite(target) || (target.task == TipTask::Pose && !meets_roll))
    return refused(IkStatus::InvalidTarget);
  const bool start_is_finite =
      base_is_finite && std::all_of(start.begin(), start.end(), [](const SectionState& s) {
        return std::isfinite(s.theta) && std::isfinite(s.phi) && std::isfinite(s.extension);
      });
  if (static_cast<int>(start.size()) != robot.section_count() || !start_is_finite)
    return refused(IkStatus::InvalidStart);
  return std::nullopt;
}

BaseState restart_base(const ContinuumRobot& robot, const TipTarget& target, BaseState base,
                       bool feed_base, SplitMix64& random) noexcept {
  if (feed_base) base.feed = random.uniform(0.0, robot.base().feed_limit);
  if (target.task == TipTask::Pose && robot.base().spin)
    base.spin = random.uniform(-std::numbers::pi, std::numbers::pi);
  return base;
}

}  // namespace tendril
