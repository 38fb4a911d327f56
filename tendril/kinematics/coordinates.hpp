#pragma once

#include <Eigen/Core>
#include <span>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril {

/// Smooth coordinates of section states, and back (directions of straight sections are taken from
/// `states`).
inline void to_coordinates(const ContinuumRobot& robot, std::span<const SectionState> states,
                           Eigen::Ref<Eigen::VectorXd> q) noexcept {
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionState& state = states[static_cast<std::size_t>(i)];
    const int k = robot.coordinate_index(i);
    q.segment<2>(k) = bend_vector(state);
    if (robot.section(i).is_extensible()) q[k + 2] = state.extension;
  }
}
inline void from_coordinates(const ContinuumRobot& robot,
                             const Eigen::Ref<const Eigen::VectorXd>& q,
                             std::span<SectionState> states) noexcept {
  for (int i = 0; i < robot.section_count(); ++i) {
    SectionState& state = states[static_cast<std::size_t>(i)];
    const int k = robot.coordinate_index(i);
    state = state_from_bend_vector(q[k], q[k + 1],
                                   robot.section(i).is_extensible() ? q[k + 2] : 0.0, state.phi);
  }
}

}  // namespace tendril
