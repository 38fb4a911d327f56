#include "tendril/rod/guide_clearance.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tendril/rod/elastic_rod.hpp"

namespace {

using namespace tendril;
using Eigen::Vector2d;

constexpr double kClearance = 5e-4, kLength = 0.15;  // [m]
const GuideClearance kGuide{.clearance = kClearance, .length = kLength};

TEST_CASE("guide clearance: moment and stiffness are the derivatives of the energy",
          "[planning][guide]") {
  // Turns of all three regimes, away from the joints where the stiffness jumps.
  for (const double turn : {1e-3, 5e-3, 0.01, 0.03, 0.05, 0.1, 0.2, 0.5, -0.02, -0.15}) {
    CAPTURE(turn);
    const double h = 1e-6;
    const auto before = kGuide.at(turn - h), at = kGuide.at(turn), after = kGuide.at(turn + h);
    CHECK(at.moment == Approx((after.energy - before.energy) / (2.0 * h)).epsilon(1e-6));
    CHECK(at.stiffness == Approx((after.moment - before.moment) / (2.0 * h)).epsilon(1e-6));
    CHECK(at.stiffness > 0.0);
    CHECK(kGuide.at(-turn).moment == -at.moment);
    CHECK(kGuide.at(-turn).energy == at.energy);
  }
}

TEST_CASE("guide clearance: energy and moment are continuous where contacts are made",
          "[planning][guide]") {
  double last_energy = 0.0, last_moment = 0.0;
  for (int i = 1; i <= 20000; ++i) {
    const auto at = kGuide.at(1e-5 * i);
    // Within what the largest stiffness there (200 1/(m rad)) and moment (30 1/m) allow.
    CHECK(at.moment - last_moment > 0.0);
    CHECK(at.moment - last_moment < 1e-5 * 400.0);
    CHECK(at.energy - last_energy < 1e-5 * 40.0);
    last_energy = at.energy;
    last_moment = at.moment;
  }
}

TEST_CASE(
    "guide clearance: in a long guide the exit angle is the root of three times clearance and "
    "moment",
    "[planning][guide]") {
  // Beam between two walls: it leaves one with slope 0 and a moment that rises from 0, and rises by
  // twice the clearance until the exit.
  for (const double turn : {0.05, 0.1, 0.2}) {
    const double moment = GuideClearance{.clearance = kClearance, .length = 5.0}.at(turn).moment;
    CHECK(std::sqrt(3.0 * kClearance * moment) == Approx(turn).epsilon(1e-3));
  }
}

TEST_CASE("guide clearance: without clearance the body does not rotate", "[planning][guide]") {
  CHECK(GuideClearance{.clearance = 0.0}.at(0.0).moment == 0.0);
  ElasticRod rod({}, {}, {});
  CHECK(rod.solve(4.0, 0.3).exit.heading == 0.0);
}

TEST_CASE("guide clearance: heading and moment at the exit are those of a body between two walls",
          "[planning][guide]") {
  // The same body, its passive part among two boxes: contacts are found, not assumed. Difference:
  // large turns against beam theory, elements.
  constexpr double kTolerance = 0.03;
  constexpr double kOut = 0.4, kElement = 2.5e-3;
  const double inner = 0.01 + kClearance;
  const Disc disc{{0.02, 0.15}, 0.01};
  PlanarScene open, walled;
  open.add(disc);
  walled.add(disc);
  walled.add(box_polygon(inner, inner + 0.05, -kLength - 0.05, 0.0));
  walled.add(box_polygon(-inner - 0.05, -inner, -kLength - 0.05, 0.0));
  ElasticRod guided(open, {}, {.element_length = kElement, .guide_clearance = kClearance});
  ElasticRod between(walled, {.position = {0.0, -kLength}}, {.element_length = kElement});
  guided.set_shape({});
  between.set_shape({});
  for (const double curvature : {1.0, 2.0, 3.0}) {
    CAPTURE(curvature);
    const CurvaturePiece pieces[] = {{kLength, 0.0}, {kOut, curvature}};
    const RodSolution a = guided.solve(curvature, kOut);
    const RodSolution b = between.solve(pieces, kLength + kOut);
    REQUIRE(a.converged());
    REQUIRE(b.converged());
    const double heading = between.pose_at(kLength).heading;
    const double inside = between.curvature_at(kLength - 0.5 * kElement);
    const double outside = between.curvature_at(kLength + 0.5 * kElement) - curvature;
    CHECK(heading < -0.03);
    // The moment goes with the square of the heading.
    CHECK(kGuide.at(heading).moment == Approx(0.5 * (inside + outside)).epsilon(2.0 * kTolerance));
    // The exit moves by the clearance to one side, which the model leaves out; at the cylinder that
    // counts.
    const double sideways = kClearance / (0.5 * curvature * 0.15 * 0.15);
    CHECK(a.exit.heading == Approx(heading).epsilon(kTolerance + sideways));
    CHECK(a.exit.heading == guided.exit_angle());
    CHECK(a.base_moment / guided.options().bending_stiffness ==
          Approx(-kGuide.at(guided.exit_angle()).moment).epsilon(1e-6));
  }
}

TEST_CASE(
    "guide clearance: a free body leaves the guide straight, a mirrored one rotates in the other "
    "direction",
    "[planning][guide]") {
  ElasticRod free({}, {}, {.guide_clearance = kClearance});
  CHECK(std::abs(free.solve(6.0, 0.3).exit.heading) < 1e-9);
  PlanarScene right, left;
  right.add(Disc{{0.02, 0.15}, 0.01});
  left.add(Disc{{-0.02, 0.15}, 0.01});
  ElasticRod a(right, {}, {.guide_clearance = kClearance}),
      b(left, {}, {.guide_clearance = kClearance});
  a.set_shape({});
  b.set_shape({});
  const double turn = a.solve(3.0, 0.4).exit.heading;
  CHECK(turn < -0.03);
  CHECK(b.solve(-3.0, 0.4).exit.heading == Approx(-turn).epsilon(1e-9));
}

}  // namespace
