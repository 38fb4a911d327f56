#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "tendril/estimation/sensors.hpp"
#include "tendril/kinematics/coordinates.hpp"
#include "tests/support/random.hpp"

namespace tendril::test {

/// A standard normal number (Box and Muller).
inline double normal(Random& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.uniform(0.0, 1.0))) * std::cos(random.angle());
}
inline Eigen::VectorXd normal_vector(Random& random, Eigen::Index size) {
  Eigen::VectorXd vector(size);
  for (double& component : vector) component = normal(random);
  return vector;
}

/// Three tendons at 120 degrees for each section, to its end.
inline std::vector<TendonRoute> three_tendons_a_section(const ContinuumRobot& robot,
                                                        double distance) {
  std::vector<TendonRoute> tendons;
  for (int i = 0; i < robot.section_count(); ++i)
    for (int k = 0; k < 3; ++k)
      tendons.push_back({.section = i,
                         .angle = 2.0 * std::numbers::pi / 3.0 * k + 0.4 * i,
                         .base_distance = distance,
                         .end_distance = distance});
  return tendons;
}

/// Springs, masses and tendons of a robot, drawn; sections extend about half of their range.
inline ElasticArmParameters random_elastic_parameters(Random& random, const ContinuumRobot& robot) {
  ElasticArmParameters parameters;
  for (int i = 0; i < robot.section_count(); ++i) {
    const double time = random.uniform(0.05, 0.2);
    for (int k = 0; k < 2; ++k) {
      const double stiffness = random.uniform(0.3, 1.0);
      parameters.springs.push_back({stiffness, time * stiffness, random.uniform(-0.2, 0.2)});
    }
    if (robot.section(i).is_extensible())
      parameters.springs.push_back({2e4, 2e4 * time, robot.section(i).variable_length() / 2});
    parameters.section_masses.push_back(random.uniform(0.01, 0.04));
  }
  parameters.payload = random.uniform(0.0, 0.02);
  parameters.gravity = 9.81 * random.unit_vector();
  parameters.tendons = three_tendons_a_section(robot, random.uniform(0.008, 0.015));
  parameters.tendon_compliances.assign(parameters.tendons.size(), random.uniform(0.0, 2e-5));
  return parameters;
}

/// The same with servos that hold the lengths of its tendons.
inline ElasticArm random_held_arm(Random& random, int section_count) {
  const ContinuumRobot robot = random_robot(random, section_count);
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  parameters.tendon_compliances.clear();
  for (std::size_t t = 0; t < parameters.tendons.size(); ++t) {
    parameters.tendon_stiffnesses.push_back(random.uniform(100.0, 1000.0));
    parameters.tendon_dampings.push_back(random.uniform(0.0, 10.0));
  }
  return ElasticArm(robot, parameters);
}

/// @param disturbed  ElasticArmParameters::disturbed
inline ElasticArm random_elastic_arm(Random& random, int section_count, bool disturbed = false) {
  const ContinuumRobot robot = random_robot(random, section_count);
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  parameters.disturbed = disturbed;
  return ElasticArm(robot, parameters);
}

/// An arm without tendons in a guide of 0.2 to 0.9 of its length.
inline ElasticArm random_guided_arm(Random& random, int section_count) {
  std::vector<SectionParameters> sections;
  double length = 0.0;
  for (int i = 0; i < section_count; ++i) {
    sections.push_back({.length = random.uniform(0.05, 0.15), .bend_angle_limit = 3.0});
    length += sections.back().length;
  }
  const ContinuumRobot robot(sections);
  ElasticArmParameters parameters = random_elastic_parameters(random, robot);
  parameters.tendons.clear();
  parameters.tendon_compliances.clear();
  parameters.guide_length = random.uniform(0.2, 0.9) * length;
  parameters.disturbed = true;
  return ElasticArm(robot, parameters);
}

/// Tensions of 2 to 10 N, and a feed and a spin of the base.
inline ArmInput random_input(Random& random, const ElasticArm& arm) {
  ArmInput input{Eigen::VectorXd(arm.tendon_count()),
                 Eigen::VectorXd::Zero(arm.coordinate_count()),
                 {random.uniform(0.0, 0.1), random.angle()}};
  for (double& tension : input.tension) tension = random.uniform(2.0, 10.0);
  if (arm.parameters().guide_length > 0.0)
    input.base.feed = random.uniform(0.0, 1.0) * arm.parameters().guide_length;
  return input;
}

/// A state near the rest of the springs: bends of 0.5 rad, a force of 0.5 N, friction of 0.1, and
/// of an arm that disturbed loads of 0.3 rad and an offset of 20 mm.
inline Eigen::VectorXd random_state(Random& random, const ElasticArm& arm) {
  const Eigen::Index n = arm.coordinate_count();
  Eigen::VectorXd x = normal_vector(random, arm.state_size());
  for (Eigen::Index k = 0; k < n; ++k) {
    const bool bends = arm.scale()[k] == 1.0;
    x[k] = arm.rest()[k] + (bends ? 0.5 : 0.03 * arm.scale()[k]) * x[k];
    x[n + k] *= arm.scale()[k];
  }
  x.segment<3>(2 * n) *= 0.5;
  x.segment(2 * n + 3, arm.tendon_count()) *= 0.1;
  x.segment(2 * n + 3 + arm.tendon_count(), arm.load_count()) *= 0.3;
  x.tail(arm.offset_count()) *= 0.02;
  return x;
}

/// Section states of coordinates.
inline std::vector<SectionState> states_of(const ContinuumRobot& robot, const Eigen::VectorXd& q) {
  std::vector<SectionState> states(std::size_t(robot.section_count()));
  from_coordinates(robot, q.head(robot.coordinate_count()), states);
  return states;
}

}  // namespace tendril::test
