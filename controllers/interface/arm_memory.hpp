#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "tendril/kinematics/coordinates.hpp"
#include "tendril/memory_layout.hpp"

namespace tendril {

/// Section states in a controller's memory: theta, phi, extension of each section.
inline void load_states(std::span<const double> memory, std::span<SectionState> states) noexcept {
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = {memory[3 * i], memory[3 * i + 1], memory[3 * i + 2]};
}
inline void store_states(std::span<const SectionState> states, std::span<double> memory) noexcept {
  for (std::size_t i = 0; i < states.size(); ++i) {
    memory[3 * i] = states[i].theta;
    memory[3 * i + 1] = states[i].phi;
    memory[3 * i + 2] = states[i].extension;
  }
}

/// Adds a block for them, initialized to the straight robot.
inline Block add_states(MemoryLayout& layout, const ContinuumRobot& robot) {
  std::vector<double> start(3 * robot.straight().size());
  store_states(robot.straight(), start);
  return layout.numbers(start);
}

/// Smooth coordinates of the straight robot.
inline Eigen::VectorXd straight_coordinates(const ContinuumRobot& robot) {
  Eigen::VectorXd q(robot.coordinate_count());
  to_coordinates(robot, robot.straight(), q);
  return q;
}

/// Length of the straight arm, variable lengths as in its straight pose [m].
inline double straight_length(const ContinuumRobot& robot) {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i)
    length += robot.section(i).length() + robot.straight()[static_cast<std::size_t>(i)].extension;
  return length;
}

/// Largest change of a coordinate between two commands; `length_scale` [m] makes lengths comparable
/// with angles.
inline double largest_change(const ContinuumRobot& robot,
                             const Eigen::Ref<const Eigen::VectorXd>& a,
                             const Eigen::Ref<const Eigen::VectorXd>& b,
                             double length_scale) noexcept {
  double largest = 0.0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const int k = robot.coordinate_index(i);
    largest = std::max(largest, (a - b).segment<2>(k).norm());
    if (robot.section(i).is_extensible())
      largest = std::max(largest, std::abs(a[k + 2] - b[k + 2]) / length_scale);
  }
  return largest;
}

}  // namespace tendril
