#include "tendril/kinematics/random_states.hpp"

#include <algorithm>
#include <cassert>
#include <numbers>

namespace tendril {

void random_states(const ContinuumRobot& robot, SplitMix64& random,
                   std::span<SectionState> states) noexcept {
  assert(static_cast<int>(states.size()) == robot.section_count());
  for (int i = 0; i < robot.section_count(); ++i) {
    const Section& section = robot.section(i);
    SectionState& state = states[static_cast<std::size_t>(i)];
    state.extension = random.uniform(0.0, section.variable_length());
    const double limit =
        std::min(section.bend_angle_limit_at(state.extension), section.invertible_bend_angle());
    state.theta = random.uniform(0.0, limit);
    state.phi = random.uniform(-std::numbers::pi, std::numbers::pi);
    const double half = state.phi < 0.0 ? -1.0 : 1.0;
    if (!section.bends_v()) state.phi = half < 0.0 ? 0.0 : std::numbers::pi;
    if (!section.bends_u()) state.phi = half * std::numbers::pi / 2.0;
  }
}

BaseState random_base(const ContinuumRobot& robot, SplitMix64& random) noexcept {
  BaseState base;
  if (robot.base().feed_limit > 0.0) base.feed = random.uniform(0.0, robot.base().feed_limit);
  if (robot.base().spin) base.spin = random.uniform(-std::numbers::pi, std::numbers::pi);
  return base;
}

}  // namespace tendril
