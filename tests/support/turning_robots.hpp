#pragma once

#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"

namespace tendril::test {

/// A robot of which every section turns or bends, at random, one at least turns; its base feeds and
/// spins.
inline ContinuumRobot random_turning_robot(Random& random, int section_count) {
  std::vector<SectionParameters> sections;
  const int sure = random.integer(0, section_count - 1);
  for (int i = 0; i < section_count; ++i) {
    sections.push_back(random_section_parameters(random));
    if (i == sure || random.uniform(0.0, 1.0) < 0.5)
      sections.back().rotation = SectionRotation::Turning;
  }
  return ContinuumRobot(sections, {.feed_limit = 0.3, .spin = true});
}

/// Tip pose from the states in the sections' own frames: the product (2.6), (2.7) with the angle
/// phi of sections that turn and the angle omega of those that bend, without the last factor of
/// (2.7).
inline Eigen::Isometry3d oracle_turning_tip(const ContinuumRobot& robot, SectionStates own,
                                            const BaseState& base = {}) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translate(Eigen::Vector3d(0.0, 0.0, base.feed));
  X.rotate(Eigen::AngleAxisd(base.spin, Eigen::Vector3d::UnitZ()));
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionState& state = own[static_cast<std::size_t>(i)];
    X = X * oracle_section_pose(robot.section(i), state);
    if (robot.section(i).turns()) X.rotate(Eigen::AngleAxisd(state.phi, Eigen::Vector3d::UnitZ()));
  }
  return X;
}

}  // namespace tendril::test
