#pragma once

#include <numbers>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril::test {

inline constexpr double kDegree = std::numbers::pi / 180.0;
inline constexpr double kMillimeter = 1e-3;

/// Three sections of 100 mm, one arc each, bend limit 100 degrees.
inline ContinuumRobot plain_robot() {
  const SectionParameters section{.length = 0.1, .bend_angle_limit = 100 * kDegree};
  return ContinuumRobot{section, section, section};
}

/// Its first section alone.
inline ContinuumRobot one_arc_robot() {
  return ContinuumRobot({{.length = 0.1, .bend_angle_limit = 100 * kDegree}});
}

/// One section each of fixed, variable and telescopic length.
inline ContinuumRobot mixed_robot() {
  return ContinuumRobot{{.length = 0.070,
                         .bend_angle_limit = 100 * kDegree,
                         .length_weights = {20, 40, 10},
                         .angle_weights = {1, 0.001, 3}},
                        {.length = 0.025,
                         .variable_length = 0.025,
                         .bend_angle_limit = 100 * kDegree,
                         .length_weights = {1, 2},
                         .angle_weights = {3, 1}},
                        {.variable_length = 0.050, .bend_angle_limit = 100 * kDegree}};
}

/// Robot 1 (3 x 3 sub-sections) of [FABRIKx] table 3.10.
inline ContinuumRobot table_robot() {
  const auto section = [](std::vector<double> W, std::vector<double> w) {
    return SectionParameters{.length = 0.070,
                             .bend_angle_limit = 100 * kDegree,
                             .length_weights = W,
                             .angle_weights = w};
  };
  return ContinuumRobot{section({20, 40, 10}, {1, 0.001, 3}), section({10, 20, 40}, {3, 2, 1}),
                        section({30, 10, 30}, {1, 7, 1})};
}

}  // namespace tendril::test
