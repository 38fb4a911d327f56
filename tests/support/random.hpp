#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "tendril/kinematics/continuum_robot.hpp"

namespace tendril::test {

/// Seeded randomness with the same numbers on every machine (the distributions of <random> are not
/// portable).
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Draws a number in [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  /// Draws an integer in [low, high].
  int integer(int low, int high) {
    return low + static_cast<int>(uniform(0.0, 1.0) * static_cast<double>(high - low + 1));
  }
  double angle() { return uniform(-std::numbers::pi, std::numbers::pi); }

  Eigen::Vector3d unit_vector() {
    const double z = uniform(-1.0, 1.0), a = angle(), r = std::sqrt(1.0 - z * z);
    return {r * std::cos(a), r * std::sin(a), z};
  }

 private:
  std::mt19937_64 engine_;
};

/// A section of fixed, variable or telescopic length with 1 to 5 sub-sections, 50 to 150 mm long;
/// now and then a sub-section that hardly bends.
inline SectionParameters random_section_parameters(Random& random) {
  SectionParameters parameters;
  parameters.bend_angle_limit = random.uniform(0.5, std::numbers::pi);
  const int type = random.integer(0, 2);
  if (type != 2) parameters.length = random.uniform(0.05, 0.1);
  if (type != 0) parameters.variable_length = random.uniform(0.02, 0.05);
  const int count = random.integer(1, 5);
  for (int j = 0; j < count; ++j) {
    parameters.length_weights.push_back(random.uniform(1.0, 10.0));
    const bool stiff = j > 0 && random.uniform(0.0, 1.0) < 0.2;
    parameters.angle_weights.push_back(stiff ? 0.001 : random.uniform(1.0, 10.0));
  }
  return parameters;
}

inline ContinuumRobot random_robot(Random& random, int section_count) {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < section_count; ++i) sections.push_back(random_section_parameters(random));
  return ContinuumRobot(sections);
}

/// Sections of which each bends in the x-z plane, in the y-z plane or in both, but not all in the
/// same way.
inline ContinuumRobot random_robot_with_planes(Random& random, int section_count) {
  std::vector<SectionParameters> sections;
  for (int i = 0; i < section_count; ++i) {
    sections.push_back(random_section_parameters(random));
    sections.back().bend_plane = static_cast<BendPlane>(i < 2 ? i : random.integer(0, 2));
  }
  return ContinuumRobot(sections);
}

/// Inside the limits, bend uniform up to the limit at the drawn length.
inline SectionState random_section_state(Random& random, const Section& section) {
  SectionState state;
  state.extension = random.uniform(0.0, section.variable_length());
  state.theta = random.uniform(0.0, section.bend_angle_limit_at(state.extension));
  state.phi = random.angle();
  return state;
}

inline std::vector<SectionState> random_states(Random& random, const ContinuumRobot& robot) {
  std::vector<SectionState> states;
  for (int i = 0; i < robot.section_count(); ++i)
    states.push_back(robot.clamped(i, random_section_state(random, robot.section(i))));
  return states;
}

}  // namespace tendril::test
