#include "tendril/path/shape_fit.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/path/path.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;

namespace {

/// A damped Gauss-Newton iteration run until it rests: far below what any arm can be built to.
constexpr double kRecoveryTolerance = 1e-6;  // [m] and [rad]

/// The backbone of a pose as a curve over arc length; straight below the base.
struct Backbone {
  const ContinuumRobot& robot;
  SectionStates states;
  BaseState base;

  Vector3d operator()(double s) const {
    double start = base.feed;
    for (int i = 0; i < robot.section_count(); ++i) {
      const double length =
          robot.section(i).length() + states[static_cast<std::size_t>(i)].extension;
      if (s <= start + length || i == robot.section_count() - 1)
        return backbone_pose(robot, states, base, i, (s - start) / length).translation();
      start += length;
    }
    return Vector3d::Zero();
  }
};

std::vector<SectionState> straightened(SectionStates states) {
  std::vector<SectionState> start(states.begin(), states.end());
  for (SectionState& state : start) state.theta = 0.0;
  return start;
}

/// Largest distance of the backbone from the curve's points at the same arc lengths.
double body_deviation(const ContinuumRobot& robot, SectionStates states, const BaseState& base,
                      const Path& path) {
  constexpr int kPoints = 20;
  const Backbone backbone{robot, states, base};
  double length = 0.0, worst = 0.0;
  for (int i = 0; i < robot.section_count(); ++i)
    length += robot.section(i).length() + states[static_cast<std::size_t>(i)].extension;
  for (int k = 0; k <= kPoints * robot.section_count(); ++k) {
    const double s = base.feed + length * k / (kPoints * robot.section_count());
    worst = std::max(worst, (backbone(s) - path.position(s)).norm());
  }
  return worst;
}

/// 420 mm straight, 90 degrees of bend with radius 120 mm, 80 mm straight.
Path tube_path() {
  return rounded_path(std::vector<Vector3d>{{0, 0, 0}, {0, 0, 0.54}, {-0.2, 0, 0.54}}, 0.12);
}

struct Deviation {
  double tip = 0.0, body = 0.0;  // [m]
};

/// The worst deviations over an insertion of 330 mm in steps of 0.5 mm, each fit started from the
/// last one.
Deviation insert(FitNorm norm) {
  const ContinuumRobot robot = plain_robot();
  const Path path = tube_path();
  ShapeFit fit(robot, {.iterations = 2, .norm = norm});
  std::vector<SectionState> states = straightened(robot.straight());
  Deviation worst;
  for (double feed = 0.0; feed <= 0.33; feed += 5e-4) {
    const double tip = fit.fit([&](double s) { return path.position(s); }, {.feed = feed}, states);
    REQUIRE(robot.within_limits(states));
    worst.tip = std::max(worst.tip, tip);
    worst.body = std::max(worst.body, body_deviation(robot, states, {.feed = feed}, path));
  }
  return worst;
}

}  // namespace

TEST_CASE("shape fit: a path that is a shape of the arm is recovered", "[planning]") {
  const auto seed = GENERATE(range(0u, 20u));
  const auto norm = GENERATE(FitNorm::Tip, FitNorm::Body);
  CAPTURE(seed, static_cast<int>(norm));
  Random random(seed);
  const ContinuumRobot robot = seed % 2 ? mixed_robot() : plain_robot();
  std::vector<SectionState> desired = random_states(random, robot);
  for (SectionState& state : desired) state.theta *= 0.6;  // a basin that holds the straight start
  const BaseState base{.feed = random.uniform(0.0, 0.3)};
  const Backbone curve{robot, desired, base};

  ShapeFit fit(robot, {.iterations = 200, .norm = norm});
  std::vector<SectionState> found = straightened(desired);
  CHECK(fit.fit(curve, base, found) < kRecoveryTolerance);
  for (std::size_t i = 0; i < desired.size(); ++i) {
    CHECK(found[i].extension == desired[i].extension);
    CHECK((bend_vector(found[i]) - bend_vector(desired[i])).norm() < 1e3 * kRecoveryTolerance);
  }
  const Backbone solution{robot, found, base};
  for (double s = base.feed; s < base.feed + 0.2; s += 0.01)
    CHECK((solution(s) - curve(s)).norm() < kRecoveryTolerance);
}

TEST_CASE("shape fit: the tip keeps to the tube's path, or the body does", "[planning]") {
  const Deviation tip_first = insert(FitNorm::Tip);
  const Deviation body_first = insert(FitNorm::Body);
  CAPTURE(tip_first.tip, tip_first.body, body_first.tip, body_first.body);
  CHECK(tip_first.tip < 0.5e-3);
  CHECK(body_first.body < tip_first.body);
}

TEST_CASE("shape fit: keeps the bend limits where the path is too tight", "[planning]") {
  const auto norm = GENERATE(FitNorm::Tip, FitNorm::Body);
  const ContinuumRobot robot = mixed_robot();
  const double R = 0.01;
  const auto circle = [&](double s) {
    return Vector3d(R - R * std::cos(s / R), 0, R * std::sin(s / R));
  };
  ShapeFit fit(robot, {.iterations = 20, .norm = norm});
  std::vector<SectionState> states = straightened(robot.straight());
  fit.fit(circle, {}, states);
  CHECK(robot.within_limits(states));
}

TEST_CASE("shape fit: a rotated path has the rotated solution", "[planning]") {
  const auto seed = GENERATE(range(0u, 10u));
  const auto norm = GENERATE(FitNorm::Tip, FitNorm::Body);
  CAPTURE(seed);
  Random random(seed);
  const ContinuumRobot robot = plain_robot();
  const double angle = random.angle();
  const Eigen::AngleAxisd turn(angle, Vector3d::UnitZ());
  const Path path = tube_path();
  const BaseState base{.feed = random.uniform(0.15, 0.33)};

  ShapeFit fit(robot, {.iterations = 10, .norm = norm});
  std::vector<SectionState> straight = straightened(robot.straight()), rotated = straight;
  fit.fit([&](double s) { return path.position(s); }, base, straight);
  fit.fit([&](double s) -> Vector3d { return turn * path.position(s); }, base, rotated);
  for (std::size_t i = 0; i < straight.size(); ++i) {
    SectionState expected = straight[i];
    expected.phi += angle;
    // Rounding, amplified by the condition of the fit (about 1e4 at small bends).
    CHECK((bend_vector(rotated[i]) - bend_vector(expected)).norm() < 1e4 * kAlgebraTolerance);
  }
}

TEST_CASE("shape fit: allocates nothing", "[planning]") {
  const auto norm = GENERATE(FitNorm::Tip, FitNorm::Body);
  const ContinuumRobot robot = mixed_robot();
  const Path path = tube_path();
  ShapeFit fit(robot, {.iterations = 3, .norm = norm});
  std::vector<SectionState> states = straightened(robot.straight());
  AllocationCounter counter;
  fit.fit([&](double s) { return path.position(s); }, {.feed = 0.4}, states);
  CHECK(counter.count() == 0);
}
