#include "tendril/ik/published/section_polynomial.hpp"

#include <catch2/catch.hpp>
#include <numbers>

#include "tests/support/allocation_counter.hpp"
#include "tests/support/kinematics_oracle.hpp"
#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

/// Bend near the tip: the chord angle stops growing at 253 degrees, where its inverse is a square
/// root.
SectionPolynomial critical_polynomial() {
  return SectionPolynomial(SectionShape(Section({.length = 0.1,
                                                 .bend_angle_limit = 2 * pi,
                                                 .length_weights = {1, 2, 4},
                                                 .angle_weights = {1, 2, 10}})));
}

}  // namespace

TEST_CASE("section polynomial: gives back bend and length", "[ik]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const SectionPolynomial polynomial{SectionShape(section)};
  SectionState state = random_section_state(random, section);
  state.theta = std::min(state.theta, 0.999 * section.invertible_bend_angle());
  const Vector3d p = oracle_section_pose(section, state).translation();
  const SectionIkResult result = polynomial.solve(
      std::hypot(p.x(), p.y()), p.z(), {.position_tolerance = 1e-6, .angle_tolerance = 2e-6});
  CHECK(result.theta == Approx(state.theta).margin(1e-6));
  CHECK(result.extension == Approx(state.extension).margin(1e-7));
  CHECK(result.reached);
  if (polynomial.is_polynomial()) CHECK(result.iterations == 0);
}

TEST_CASE("section polynomial: the reported fit error bounds the error everywhere", "[ik]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const SectionPolynomial polynomial{SectionShape(section)};
  for (int i = 0; i < 50; ++i) {
    const double theta = random.uniform(0.0, section.invertible_bend_angle());
    const double error = polynomial.bend_angle(chord(section, theta).angle) - theta;
    CHECK(std::abs(error) <= 1.1 * polynomial.fit_error() + kAlgebraTolerance);
  }
}

TEST_CASE("section polynomial: fits the published sections closely", "[ik]") {
  const ContinuumRobot robot = table_robot();
  for (int i = 0; i < robot.section_count(); ++i) {
    const SectionPolynomial polynomial{SectionShape(robot.section(i))};
    CHECK(polynomial.is_polynomial());
    CHECK(polynomial.fit_error() < 1e-11);
  }
}

TEST_CASE("section polynomial: one arc is fitted exactly", "[ik]") {
  const SectionPolynomial polynomial{SectionShape(Section({.length = 0.1}))};
  CHECK(polynomial.fit_error() < kAlgebraTolerance);
}

TEST_CASE("section polynomial: continues by Newton steps where the fit is poor", "[ik]") {
  const SectionPolynomial polynomial = critical_polynomial();
  const SectionShape& shape = polynomial.shape();
  CHECK(polynomial.fit_error() > SectionPolynomial::kLargestFitError);
  CHECK_FALSE(polynomial.is_polynomial());
  for (int i = 1; i < 200; ++i) {
    const double theta = shape.invertible_bend_angle() * i / 200;
    CAPTURE(theta);
    const SectionShape::End end = shape.end(theta);
    const SectionIkResult result = polynomial.solve(0.1 * end.x, 0.1 * end.z);
    CHECK(result.reached);
    CHECK(result.theta == Approx(theta).margin(1e-7));
    CHECK(result.iterations > 0);
  }
}

TEST_CASE("section polynomial: targets outside the invertible chord angle get the largest bend",
          "[ik]") {
  const Section section({.length = 0.1,
                         .bend_angle_limit = 2.0,
                         .length_weights = {1, 2, 4},
                         .angle_weights = {3, 2, 1}});
  const SectionPolynomial polynomial{SectionShape(section)};
  for (const auto& [rho, z] : {std::pair{0.05, -0.1}, {0.0, -0.1}}) {
    const SectionIkResult result = polynomial.solve(rho, z);
    CHECK(result.theta == section.invertible_bend_angle());
    CHECK_FALSE(result.reached);
  }
  CHECK(polynomial.solve(0.0, 0.1).theta == 0.0);
  CHECK(polynomial.solve(0.0, 0.1).reached);
  CHECK_FALSE(polynomial.solve(0.0, 0.0).reached);
}

TEST_CASE("section polynomial: solve takes nothing from the heap", "[ik]") {
  const SectionPolynomial polynomial = critical_polynomial();
  AllocationCounter counter;
  const SectionIkResult result = polynomial.solve(0.05, 0.05);
  CHECK(counter.count() == 0);
  CHECK(result.theta > 0.0);
}
