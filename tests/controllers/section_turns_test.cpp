#include "controllers/arm/section_turns.hpp"

#include <catch2/catch.hpp>
#include <numbers>
#include <vector>

#include "tendril/kinematics/turning.hpp"
#include "tests/support/turning_robots.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

SectionTurns turns_of(const ContinuumRobot& robot) {
  std::vector<TurningSection> sections;
  for (int i = 0; i < robot.section_count(); ++i)
    sections.push_back(
        {.bend = robot.coordinate_index(i), .servo = robot.section(i).turns() ? i : -1});
  return SectionTurns(sections);
}

Eigen::VectorXd coordinates(const ContinuumRobot& robot, SectionStates states) {
  Eigen::VectorXd q = Eigen::VectorXd::Zero(robot.coordinate_count());
  for (int i = 0; i < robot.section_count(); ++i)
    q.segment<2>(robot.coordinate_index(i)) = bend_vector(states[static_cast<std::size_t>(i)]);
  return q;
}

}  // namespace

TEST_CASE("section turns: commands are the own angles of the states, measured back",
          "[controllers]") {
  const auto seed = GENERATE(range(0u, 20u));
  Random random(seed);
  const ContinuumRobot robot = random_turning_robot(random, 4);
  const SectionTurns section_turns = turns_of(robot);
  std::vector<SectionState> own = random_states(random, robot);
  for (SectionState& state : own) state.theta = std::max(state.theta, 0.1);
  std::vector<SectionState> states = own;
  to_untwisted(robot, states);

  const Eigen::VectorXd desired = coordinates(robot, states);
  Eigen::VectorXd rate(desired.size());
  for (Eigen::Index k = 0; k < rate.size(); ++k) rate[k] = random.uniform(-1.0, 1.0);
  Eigen::VectorXd q = desired, q_rate = rate;
  std::vector<double> turns(section_turns.count()), rates(section_turns.count());
  section_turns.twist(q, q_rate, turns, rates);

  std::vector<JointState> joints(turns.size());
  std::size_t turn = 0;
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionState& state = own[static_cast<std::size_t>(i)];
    const Eigen::Vector2d hinges = q.segment<2>(robot.coordinate_index(i));
    if (!robot.section(i).turns()) {
      CHECK((hinges - bend_vector(state)).norm() < 1e-12);
      continue;
    }
    CHECK(hinges.x() == Approx(state.theta));
    CHECK(hinges.y() == 0.0);
    CHECK(std::abs(std::remainder(turns[turn] - state.phi, 2.0 * std::numbers::pi)) < 1e-12);
    joints[turn].position = turns[turn];
    joints[turn].velocity = rates[turn];
    ++turn;
  }
  TurnedFrames frames(section_turns.bends());
  section_turns.measure(joints, frames);
  frames.untwist(q, q_rate);
  CHECK((q - desired).norm() < 1e-12);
  CHECK((q_rate - rate).norm() < 1e-9);
}

TEST_CASE("section turns: the turn is the nearest one, and stays where the section is straight",
          "[controllers]") {
  const ContinuumRobot robot({{.length = 0.1, .rotation = SectionRotation::Turning}});
  const SectionTurns section_turns = turns_of(robot);
  Eigen::VectorXd rate = Eigen::VectorXd::Zero(2);
  std::vector<double> turn{0.0}, turn_rate{0.0};
  double last = 0.0;
  for (int k = 0; k <= 60; ++k) {  // 1.5 turns
    const double direction = 0.05 * std::numbers::pi * k;
    Eigen::VectorXd q = 0.5 * Eigen::Vector2d(std::cos(direction), std::sin(direction));
    section_turns.twist(q, rate, turn, turn_rate);
    CHECK(turn[0] == Approx(direction).margin(1e-12));
    CHECK(std::abs(turn[0] - last) < 0.2);
    last = turn[0];
  }
  Eigen::VectorXd straight = Eigen::VectorXd::Zero(2);
  section_turns.twist(straight, rate, turn, turn_rate);
  CHECK(turn[0] == last);
}

TEST_CASE("section turns: power is the same in both coordinates", "[controllers]") {
  Random random(3);
  const ContinuumRobot robot = random_turning_robot(random, 3);
  const SectionTurns section_turns = turns_of(robot);
  std::vector<JointState> joints(section_turns.count());
  for (JointState& joint : joints) joint.position = random.angle();  // at rest
  Eigen::VectorXd q = Eigen::VectorXd::Zero(robot.coordinate_count()), rate = q, moment = q;
  for (int i = 0; i < robot.section_count(); ++i) {
    for (int axis = 0; axis < 2; ++axis) {
      rate[robot.coordinate_index(i) + axis] = random.uniform(-1.0, 1.0);
      moment[robot.coordinate_index(i) + axis] = random.uniform(-1.0, 1.0);
    }
  }
  const double power = moment.dot(rate);
  TurnedFrames frames(section_turns.bends());
  section_turns.measure(joints, frames);
  frames.untwist(q, rate);
  frames.untwist_moments(moment);
  CHECK(moment.dot(rate) == Approx(power));
}
