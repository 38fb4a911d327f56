#include "tendril/kinematics/tangent_links.hpp"

#include <catch2/catch.hpp>
#include <numbers>

#include "tests/support/random.hpp"
#include "tests/support/reference_robots.hpp"
#include "tests/support/tolerances.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

TangentLinks links_at(const Section& section, double theta, double length) {
  return tangent_links(section, theta, length, section.end_point(theta));
}

}  // namespace

TEST_CASE("tangent links: both meet where the end tangents intersect", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const double S = section.max_length();
  const double theta = random.uniform(0.001, kLargestLinkBend);
  const PlanarPoint end = section.end_point(theta);
  const TangentLinks links = links_at(section, theta, S);
  // From the base up, then along the last tangent, ends at the section's end.
  CHECK(links.second * std::sin(theta) == Approx(S * end.x).margin(kAlgebraTolerance));
  CHECK(links.first + links.second * std::cos(theta) ==
        Approx(S * end.z).margin(kAlgebraTolerance));
}

TEST_CASE("tangent links: published limits of a straight section", "[kinematics]") {
  const ContinuumRobot robot = mixed_robot();
  const TangentLinks links = links_at(robot.section(0), 0.0, 0.070);
  CHECK(links.first / kMillimeter == Approx(51.247188).margin(1e-6));
  CHECK(links.second / kMillimeter == Approx(18.752812).margin(1e-6));
}

TEST_CASE("tangent links: small bends tend to the limit", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Section section(random_section_parameters(random));
  const TangentLinks limit = links_at(section, 0.0, 0.1);
  for (const double theta : {1e-13, 1.1e-12, 1e-9, 1e-6}) {
    const TangentLinks links = links_at(section, theta, 0.1);
    CHECK(links.first == Approx(limit.first).margin(1e-12));
    CHECK(links.second == Approx(limit.second).margin(1e-12));
  }
}

TEST_CASE("tangent links: stay finite and positive at and above 180 degrees", "[kinematics]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  SectionParameters parameters = random_section_parameters(random);
  parameters.bend_angle_limit = 2 * std::numbers::pi;
  const Section section(parameters);
  const double last = 0.999 * section.invertible_bend_angle();
  for (const double theta : {3.0 + 1e-9, std::numbers::pi, 3.3, last}) {
    if (theta > last) continue;
    CAPTURE(theta);
    const TangentLinks links = links_at(section, theta, 0.1);
    CHECK(std::isfinite(links.first));
    CHECK(std::isfinite(links.second));
    CHECK(links.first > 0.0);
    CHECK(links.second > 0.0);
  }
}

TEST_CASE("tangent links: the cap at 3 rad joins on without a jump", "[kinematics]") {
  const Section section = table_robot().section(1);
  const TangentLinks below = links_at(section, kLargestLinkBend, 0.07);
  const TangentLinks above = links_at(section, kLargestLinkBend + 1e-9, 0.07);
  CHECK(above.first == Approx(below.first).epsilon(1e-7));
  CHECK(above.second == Approx(below.second).epsilon(1e-7));
}
