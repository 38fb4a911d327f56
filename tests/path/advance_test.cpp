#include "tendril/path/advance.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace tendril;

namespace {

constexpr double kExact = 1e-12;  // [m, rad]

/// A telescopic, a fixed and a section of variable length.
ContinuumRobot mixed(double feed_limit) {
  return ContinuumRobot({{.variable_length = 0.2, .bend_angle_limit = 2.0},
                         {.length = 0.05, .bend_angle_limit = 1.0},
                         {.length = 0.1, .variable_length = 0.1, .bend_angle_limit = 2.0}},
                        {.feed_limit = feed_limit});
}

double total_length(const ContinuumRobot& robot, SectionStates states) {
  double length = 0.0;
  for (int i = 0; i < robot.section_count(); ++i)
    length += robot.section(i).length() + states[static_cast<std::size_t>(i)].extension;
  return length;
}

}  // namespace

TEST_CASE("advance: moves the end of the arm by as much, one joint after the other", "[planning]") {
  const double feed_limit = GENERATE(0.0, 0.3);
  const auto growth = GENERATE(Growth::None, Growth::FromBase, Growth::FromTip);
  const ContinuumRobot robot = mixed(feed_limit);
  const Advance advance(robot, growth);
  CHECK(advance.limit() ==
        Approx(feed_limit + (growth == Growth::None ? 0.0 : 0.1 + 0.2 * (1 - kShortestTelescope)))
            .margin(kExact));
  std::vector<SectionState> states(robot.straight().begin(), robot.straight().end());
  constexpr int kSteps = 97;
  const int first = growth == Growth::FromTip ? 2 : 0, second = 2 - first;
  for (int k = 0; k <= kSteps; ++k) {
    const double advanced = advance.limit() * k / kSteps;
    const BaseState base = advance.apply(advanced, states);
    CHECK(base.feed + total_length(robot, states) ==
          Approx(advance.start_length() + advanced).margin(kExact));
    Eigen::VectorXd q = Eigen::VectorXd::Zero(robot.coordinate_count());
    for (int i : {0, 2})
      q[robot.coordinate_index(i) + 2] = states[static_cast<std::size_t>(i)].extension;
    CHECK(advance.measured(base, q) == Approx(advanced).margin(kExact));
    const auto at = [&](int i) { return states[static_cast<std::size_t>(i)].extension; };
    if (growth != Growth::None) {  // nothing moves before what comes first has moved wholly
      if (base.feed < feed_limit) CHECK(at(first) == robot.section(first).retracted());
      if (at(first) < robot.section(first).variable_length() - kExact)
        CHECK(at(second) == robot.section(second).retracted());
    }
  }
}

TEST_CASE("advance: bends stay inside the limit of the length", "[planning]") {
  const ContinuumRobot robot = mixed(0.0);
  const Advance advance(robot, Growth::FromBase);
  std::vector<SectionState> states(3, {.theta = 0.9, .phi = 0.3, .extension = 0.05});
  (void)advance.apply(0.05, states);
  CHECK(robot.within_limits(states));
  CHECK(states[0].theta == Approx(2.0 * states[0].extension / 0.2));
  CHECK(states[1].theta == 0.9);
  CHECK(states[2].theta == 0.0);
}
