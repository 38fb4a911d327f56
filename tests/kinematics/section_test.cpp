#include "tendril/kinematics/section.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/kinematics/sinc.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

Section weighted(std::vector<double> W, std::vector<double> w, double limit = pi) {
  return Section(
      {.length = 1.0, .bend_angle_limit = limit, .length_weights = W, .angle_weights = w});
}

/// The planar shape by integrating the tangent angle along the arc length with Simpson's rule.
Eigen::Vector2d integrated_point(const Section& section, double theta, double fraction) {
  constexpr int kIntervals = 64;
  Eigen::Vector2d p = Eigen::Vector2d::Zero();
  double base = 0.0, angle = 0.0;
  for (std::size_t j = 0; j < section.length_weights().size(); ++j) {
    const double W = section.length_weights()[j];
    const double curvature = section.angle_weights()[j] * theta / W;
    const double L = std::clamp(fraction - base, 0.0, W);
    const double h = L / kIntervals;
    for (int k = 0; k <= kIntervals; ++k) {
      const double weight = (k == 0 || k == kIntervals) ? 1.0 : (k % 2 == 1 ? 4.0 : 2.0);
      const double a = angle + curvature * h * k;
      p += weight * h / 3.0 * Eigen::Vector2d(std::sin(a), std::cos(a));
    }
    base += W;
    angle += section.angle_weights()[j] * theta;
  }
  return p;
}
constexpr double kSimpsonTolerance = 1e-6;  // (b - a) h^4 / 180 times the fourth power of curvature

}  // namespace

TEST_CASE("section: published shapes", "[kinematics]") {
  struct Case {
    std::vector<double> W, w;
    double theta_deg, x, z, alpha_deg, k, rate;
  };
  const auto c = GENERATE(values<Case>({
      {{1, 2, 4}, {3, 2, 1}, 30, 0.379962086, 0.916076329, 22.527266, 1.331720, 0.752731},
      {{1, 2, 4}, {3, 2, 1}, 90, 0.862817138, 0.344221039, 68.250464, 1.318672, 0.775360},
      {{1, 2, 4}, {3, 2, 1}, 180, 0.473442426, -0.591146931, 141.309185, 1.273803, 0.858424},
      {{1, 2, 4}, {1, 2, 3}, 90, 0.674290707, 0.598948838, 48.386435, 1.860025, 0.541696},
      {{1, 2, 4}, {1, 2, 3}, 180, 0.636619772, -0.090945682, 98.130102, 1.834300, 0.570000},
      {{4, 2, 1}, {3, 1, 1}, 90, 0.643974174, 0.641945485, 45.090391, 1.995991, 0.503149},
      {{4, 2, 1}, {3, 1, 1}, 180, 0.667618380, -0.010516146, 90.902433, 1.980145, 0.518269},
      {{1, 2, 4}, {1, 2, 10}, 90, 0.519015484, 0.724465854, 35.618237, 2.526795, 0.384304},
      {{1, 2, 4}, {1, 2, 10}, 180, 0.562117805, 0.235201755, 67.294554, 2.674808, 0.299612},
  }));
  CAPTURE(c.W, c.w, c.theta_deg);
  const Section section = weighted(c.W, c.w);
  const double theta = c.theta_deg * kDegree;
  const PlanarPoint end = section.end_point(theta);
  const Chord ch = chord(section, theta);
  CHECK(end.x == Approx(c.x).margin(kPrintedTolerance));
  CHECK(end.z == Approx(c.z).margin(kPrintedTolerance));
  CHECK(ch.angle / kDegree == Approx(c.alpha_deg).margin(1e-6));
  CHECK(theta / ch.angle == Approx(c.k).margin(1e-6));
  CHECK(ch.angle_rate == Approx(c.rate).margin(1e-6));
  CHECK(ch.ratio == Approx(std::hypot(c.x, c.z)).margin(kPrintedTolerance));
}

TEST_CASE("section: published small-bend limits of the chord angle", "[kinematics]") {
  CHECK(weighted({1, 2, 4}, {3, 2, 1}).small_bend_chord_ratio() == Approx(0.75).margin(1e-9));
  CHECK(weighted({1, 2, 4}, {1, 2, 3}).small_bend_chord_ratio() ==
        Approx(0.535714286).margin(kPrintedTolerance));
  CHECK(weighted({4, 2, 1}, {3, 1, 1}).small_bend_chord_ratio() == Approx(0.5).margin(1e-9));
  CHECK(weighted({1, 2, 4}, {1, 2, 10}).small_bend_chord_ratio() ==
        Approx(0.401098901).margin(kPrintedTolerance));
}

TEST_CASE("section: the small-bend limit is the limit of the chord angle and its rate",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const double kappa0 = section.small_bend_chord_ratio();
  CHECK(chord(section, 1e-5).angle / 1e-5 == Approx(kappa0).margin(1e-9));
  CHECK(chord(section, 0.0).angle_rate == Approx(kappa0).margin(kAlgebraTolerance));
  CHECK(section.end_point(0.0).dx == Approx(kappa0).margin(kAlgebraTolerance));
}

TEST_CASE("section: the critical bend ends the invertible interval", "[kinematics]") {
  const Section section = weighted({1, 2, 4}, {1, 2, 10}, 2 * pi);
  CHECK(section.invertible_bend_angle() / kDegree == Approx(253.3108).margin(1e-4));
  CHECK(section.invertible_chord_angle() / kDegree == Approx(80.9071).margin(1e-4));
}

TEST_CASE("section: the invertible interval also ends where the chord angle reaches pi",
          "[kinematics]") {
  // Bend at the base: the chord angle runs ahead of half the bend angle.
  const Section section = weighted({1, 4}, {4, 1}, 2 * pi);
  CHECK(section.invertible_bend_angle() > pi);
  CHECK(section.invertible_bend_angle() < 2 * pi);
  CHECK(section.invertible_chord_angle() == Approx(pi).margin(1e-9));
}

TEST_CASE("section: published sections have no critical bend below 180 degrees", "[kinematics]") {
  CHECK(weighted({1, 2, 4}, {3, 2, 1}).invertible_bend_angle() == pi);
  CHECK(weighted({1, 2, 4}, {1, 2, 3}).invertible_bend_angle() == pi);
  CHECK(weighted({4, 2, 1}, {3, 1, 1}).invertible_bend_angle() == pi);
}

TEST_CASE("section: a full circle of one arc is invertible to its end", "[kinematics]") {
  const Section circle({.length = 1.0, .bend_angle_limit = 2 * pi});
  CHECK(circle.invertible_bend_angle() == 2 * pi);
  CHECK(circle.invertible_chord_angle() == pi);
}

TEST_CASE("section: the chord angle grows all over the invertible interval", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  SectionParameters parameters = random_section_parameters(random);
  parameters.bend_angle_limit = 2 * pi;
  const Section section(parameters);
  double previous = 0.0;
  bool grows = true;
  for (int k = 1; k < 400; ++k) {
    const double alpha = chord(section, section.invertible_bend_angle() * k / 400).angle;
    grows = grows && alpha > previous;
    previous = alpha;
  }
  CHECK(grows);
  CHECK(previous <= section.invertible_chord_angle());
}

TEST_CASE("section: the closed form equals the product of the sub-section matrices",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  SectionState state = random_section_state(random, section);
  for (const double theta : {state.theta, 0.0, 1e-9, 1e-5, 1e-3, -0.7}) {
    CAPTURE(theta);
    state.theta = theta;
    CHECK(distance(section_end_pose(section, state), oracle_section_pose(section, state)) < 1e-13);
  }
}

TEST_CASE("section: the shape is the integral of its tangent", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const double theta = random.uniform(0.0, pi);
  for (const double fraction : {0.0, 0.2, 0.5, 0.9, 1.0}) {
    CAPTURE(fraction);
    const PlanarPoint point = section.point_at(theta, fraction);
    const Eigen::Vector2d oracle = integrated_point(section, theta, fraction);
    CHECK(point.x == Approx(oracle.x()).margin(kSimpsonTolerance));
    CHECK(point.z == Approx(oracle.y()).margin(kSimpsonTolerance));
  }
}

TEST_CASE("section: shape derivatives equal central differences", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const double fraction = random.uniform(0.0, 1.0);
  const double h = kDifferenceStep;
  for (const double theta : {random.uniform(0.0, pi), 0.0, 0.03, -1.0}) {
    CAPTURE(theta);
    const PlanarPoint end = section.end_point(theta), inner = section.point_at(theta, fraction);
    const PlanarPoint after = section.end_point(theta + h), before = section.end_point(theta - h);
    const PlanarPoint inner_after = section.point_at(theta + h, fraction);
    const PlanarPoint inner_before = section.point_at(theta - h, fraction);
    CHECK(end.dx == Approx((after.x - before.x) / (2 * h)).margin(kDifferenceTolerance));
    CHECK(end.dz == Approx((after.z - before.z) / (2 * h)).margin(kDifferenceTolerance));
    CHECK(inner.dx ==
          Approx((inner_after.x - inner_before.x) / (2 * h)).margin(kDifferenceTolerance));
    CHECK(inner.dz ==
          Approx((inner_after.z - inner_before.z) / (2 * h)).margin(kDifferenceTolerance));
  }
}

TEST_CASE("sinc: series and closed form meet at the switch", "[kinematics]") {
  const double below = std::nextafter(kSincSeriesLimit, 0.0), above = kSincSeriesLimit;
  const auto at = [](double y) { return sinc(y, std::sin(y), std::cos(y)); };
  CHECK(at(below).value == Approx(at(above).value).margin(1e-15));
  CHECK(at(below).derivative == Approx(at(above).derivative).margin(1e-13));
  CHECK(at(0.0).value == 1.0);
  CHECK(at(0.0).derivative == 0.0);
}

TEST_CASE("section: two halves compose to the whole", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const double length = random.uniform(0.05, 0.2);
  const Section whole({.length = length}), half({.length = length / 2});
  const SectionState state{random.uniform(0.0, pi), random.angle(), 0.0};
  const SectionState half_state{state.theta / 2, state.phi, 0.0};
  const Isometry3d X_half = section_end_pose(half, half_state);
  CHECK(distance(X_half * X_half, section_end_pose(whole, state)) < kAlgebraTolerance);
}

TEST_CASE("section: equal sub-sections make one arc", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const int count = random.integer(2, 9);
  const Section one({.length = 0.1});
  const Section many({.length = 0.1,
                      .length_weights = std::vector<double>(std::size_t(count), 1.0),
                      .angle_weights = std::vector<double>(std::size_t(count), 1.0)});
  const SectionState state{random.uniform(0.0, pi), random.angle(), 0.0};
  CHECK(distance(section_end_pose(one, state), section_end_pose(many, state)) < kAlgebraTolerance);
  CHECK(many.small_bend_chord_ratio() == Approx(0.5).margin(kAlgebraTolerance));
  CHECK(many.invertible_bend_angle() == one.invertible_bend_angle());
}

TEST_CASE("section: only ratios of weights matter", "[kinematics]") {
  const Section small = weighted({1, 2, 4}, {1, 2, 10});
  const Section large = weighted({10, 20, 40}, {0.5, 1, 5});
  CHECK(small.end_point(1.0).x == Approx(large.end_point(1.0).x).margin(kAlgebraTolerance));
  double sum_W = 0.0, sum_w = 0.0;
  for (const double W : large.length_weights()) sum_W += W;
  for (const double w : large.angle_weights()) sum_w += w;
  CHECK(sum_W == Approx(1.0).margin(kAlgebraTolerance));
  CHECK(sum_w == Approx(1.0).margin(kAlgebraTolerance));
}

TEST_CASE("section: a point inside runs from the base to the end along the backbone",
          "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const SectionState state = random_section_state(random, section);
  CHECK(distance(section_pose_at(section, state, 0.0), Isometry3d::Identity()) < kAlgebraTolerance);
  CHECK(distance(section_pose_at(section, state, 1.0), section_end_pose(section, state)) <
        kAlgebraTolerance);

  // The distance between neighbors is the arc length between them (up to the sagitta), and z is
  // the tangent.
  constexpr int kSteps = 2000;
  const double step = (section.length() + state.extension) / kSteps;
  double largest_gap = 0.0, largest_turn = 0.0;
  for (int k = 0; k < kSteps; ++k) {
    const Isometry3d a = section_pose_at(section, state, double(k) / kSteps);
    const Isometry3d b = section_pose_at(section, state, double(k + 1) / kSteps);
    const Vector3d d = b.translation() - a.translation();
    largest_gap = std::max(largest_gap, std::abs(d.norm() - step) / step);
    const Vector3d middle = section_pose_at(section, state, (k + 0.5) / kSteps).linear().col(2);
    largest_turn = std::max(largest_turn, (d / d.norm() - middle).norm());
  }
  CHECK(largest_gap < 1e-3);
  CHECK(largest_turn < 0.02);  // a step across a joint of sub-sections averages two curvatures
}

TEST_CASE("section: the bend limit shrinks with the variable length", "[kinematics]") {
  const Section fixed({.length = 0.1, .bend_angle_limit = 1.5});
  CHECK(fixed.bend_angle_limit_at(0.0) == 1.5);
  CHECK(fixed.coordinate_count() == 2);
  const Section variable({.length = 0.1, .variable_length = 0.05, .bend_angle_limit = 1.5});
  CHECK(variable.bend_angle_limit_at(0.0) == 0.0);
  CHECK(variable.bend_angle_limit_at(0.02) == Approx(0.6));
  CHECK(variable.bend_angle_limit_at(0.05) == 1.5);
  CHECK(variable.coordinate_count() == 3);
}

TEST_CASE("section: bend vector and state are inverse to each other", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 20u));
  Random random(seed);
  const SectionState state{random.uniform(0.01, 3.0), random.angle(), 0.02};
  const Eigen::Vector2d uv = bend_vector(state);
  const SectionState back = state_from_bend_vector(uv.x(), uv.y(), 0.02);
  CHECK(back.theta == Approx(state.theta));
  CHECK(back.phi == Approx(state.phi));
  CHECK(back.extension == 0.02);
}

TEST_CASE("section: a straight section keeps the bend direction it is given", "[kinematics]") {
  CHECK(state_from_bend_vector(0.0, 0.0, 0.01, 0.7).phi == 0.7);
  CHECK(state_from_bend_vector(0.0, 1e-3, 0.01, 0.7).phi == Approx(pi / 2));
}

TEST_CASE("section: refused parameters are named with value and what is allowed", "[kinematics]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    SectionParameters parameters;
    std::string message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {{.length = nan}, "section 2: length = nan m, must be finite and >= 0"},
      {{.length = -0.1}, "section 2: length = -0.1 m, must be finite and >= 0"},
      {{.length = infinity}, "section 2: length = inf m, must be finite and >= 0"},
      {{.length = 0.1, .variable_length = -1},
       "section 2: variable_length = -1 m, must be finite and >= 0"},
      {{.length = 0.1, .variable_length = nan},
       "section 2: variable_length = nan m, must be finite and >= 0"},
      {{}, "section 2: length + variable_length = 0 m, must be finite and > 0"},
      {{.length = 0.1, .bend_angle_limit = -0.4},
       "section 2: bend_angle_limit = -0.4 rad, must be in (0, 2 pi]"},
      {{.length = 0.1, .bend_angle_limit = 0},
       "section 2: bend_angle_limit = 0 rad, must be in (0, 2 pi]"},
      {{.length = 0.1, .bend_angle_limit = 6.3},
       "section 2: bend_angle_limit = 6.3 rad, must be in (0, 2 pi]"},
      {{.length = 0.1, .bend_angle_limit = nan},
       "section 2: bend_angle_limit = nan rad, must be in (0, 2 pi]"},
      {{.length = 0.1, .length_weights = {1, 2}, .angle_weights = {1}},
       "section 2: angle_weights has 1 values, must have as many as length_weights, which has 2"},
      {{.length = 0.1, .length_weights = {1, 2}},
       "section 2: angle_weights has 1 values, must have as many as length_weights, which has 2"},
      {{.length = 0.1, .length_weights = {1, 0}, .angle_weights = {1, 1}},
       "section 2: length_weights[1] = 0, must be finite and > 0"},
      {{.length = 0.1, .length_weights = {nan, 1}, .angle_weights = {1, 1}},
       "section 2: length_weights[0] = nan, must be finite and > 0"},
      {{.length = 0.1, .length_weights = {1, 1}, .angle_weights = {1, -1}},
       "section 2: angle_weights[1] = -1, must be finite and >= 0"},
      {{.length = 0.1, .length_weights = {1, 1}, .angle_weights = {0, 0}},
       "section 2: sum of angle_weights = 0, must be finite and > 0"},
  }));
  DYNAMIC_SECTION(c.message) {
    CHECK_THROWS_AS(Section(c.parameters, 2), ModelError);
    CHECK_THROWS_WITH(Section(c.parameters, 2), c.message);
  }
}
