#include "tendril/kinematics/bend_functions.hpp"

#include <catch2/catch.hpp>
#include <numbers>

#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kRounding = 1e-14;

void check_against_closed_forms(const Section& section) {
  const BendFunctions functions(section);
  for (int k = 0; k <= 200; ++k) {
    const double theta = section.bend_angle_limit() * k / 200.0;
    CAPTURE(theta);
    const BendValues values = functions.at(theta * theta);
    const PlanarPoint end = section.end_point(theta);
    CHECK(values.x * theta == Approx(end.x).margin(kRounding));
    CHECK(values.z == Approx(end.z).margin(kRounding));
    // By the chain rule, dt/dtheta = 2 theta.
    CHECK(values.x + 2.0 * theta * theta * values.dx == Approx(end.dx).margin(kRounding));
    CHECK(2.0 * theta * values.dz == Approx(end.dz).margin(kRounding));
    CHECK(values.sine * theta == Approx(std::sin(theta)).margin(kRounding));
    CHECK(1.0 - values.versine * theta * theta == Approx(std::cos(theta)).margin(kRounding));
    CHECK(theta * (1.0 - values.residue * theta * theta) ==
          Approx(std::sin(theta)).margin(kRounding));
  }
}

}  // namespace

TEST_CASE("bend functions: one arc, exact to rounding at every limit", "[kinematics]") {
  const double limit = GENERATE(1e-3, 0.1, 0.5, 1.0, 2.0, std::numbers::pi, 2 * std::numbers::pi);
  CAPTURE(limit);
  check_against_closed_forms(Section({.length = 0.1, .bend_angle_limit = limit}));
}

TEST_CASE("bend functions: sub-sections, exact to rounding", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  Random random(seed);
  SectionParameters parameters = random_section_parameters(random);
  if (seed % 4 == 0) parameters.bend_angle_limit = 2.0 * std::numbers::pi;
  check_against_closed_forms(Section(parameters));
}

TEST_CASE("bend functions: smaller limits need fewer terms", "[kinematics]") {
  const BendFunctions narrow(Section({.length = 0.1, .bend_angle_limit = 0.1}));
  const BendFunctions wide(Section({.length = 0.1, .bend_angle_limit = 2 * std::numbers::pi}));
  CHECK(narrow.degree() < 6);
  CHECK(narrow.degree() < wide.degree());
  CHECK(wide.degree() < 20);
}
