#include "controllers/arm/pose_planner.hpp"

#include <algorithm>
#include <cmath>

#include "controllers/arm/tip_integral.hpp"
#include "controllers/interface/arm_memory.hpp"

namespace tendril {
PosePlanner::PosePlanner(const ContinuumRobot& robot)
    : solution_memory_(add_states(layout_, robot)),
      pose_memory_(layout_.matrix(straight_coordinates(robot))) {}

double PoseRates::fraction(const ContinuumRobot& robot,
                           const Eigen::Ref<const Eigen::VectorXd>& from,
                           const Eigen::Ref<const Eigen::VectorXd>& to,
                           double duration) const noexcept {
  constexpr double kNoChange = 1e-12;
  const double change = largest_change(robot, from, to, TipIntegral::kLengthScale);
  const double fraction = rate_limit * duration / std::max(change, kNoChange);
  if (robot.rail_count() == 0) return fraction;
  const double shift = std::abs(to[PosePlanner::kShift] - from[PosePlanner::kShift]);
  return std::min(fraction, feed_speed * duration / std::max(shift, kNoChange));
}

PoseRates read_rates(const Settings& settings) {
  return {.rate_limit = settings.number("rate_limit"), .feed_speed = settings.number("feed_speed")};
}

}  // namespace tendril
