#include "tendril/ik/start_pose.hpp"

#include <algorithm>
#include <cassert>

namespace tendril {

void straight_start(const ContinuumRobot& robot, const TipTarget& target, const BaseState& base,
                    std::span<SectionState> states) noexcept {
  assert(static_cast<int>(states.size()) == robot.section_count());
  double constant = 0.0, variable = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    constant += robot.section(i).length();
    variable += robot.section(i).variable_length();
  }
  const double distance = (target.position() - Eigen::Vector3d(0.0, 0.0, base.feed)).norm();
  const double ratio =
      variable > 0.0 ? std::clamp((distance - constant) / variable, 0.0, 1.0) : 0.0;  // (2.30)
  for (int i = 0; i < robot.section_count(); ++i)
    states[static_cast<std::size_t>(i)] = {
        .theta = 0.0, .phi = 0.0, .extension = ratio * robot.section(i).variable_length()};
}

}  // namespace tendril
