#include "tendril/rod/spatial_rod.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "tendril/kinematics/section.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/contact_queries.hpp"

using namespace tendril;
using Eigen::Vector3d;

namespace {

constexpr double kAlgebraTolerance = 1e-9;     // rounding of some hundred products
constexpr double kDifferenceTolerance = 0.02;  // of rates: the residual of a solution

SpatialBody one_section(double length) {
  return {.sections = {{.length = length, .max_curvature = 12.0}}, .start_length = length};
}

SpatialActuation bent(double curvature, double direction, double length) {
  SpatialActuation actuation(3);
  actuation << curvature * std::cos(direction), curvature * std::sin(direction), length;
  return actuation;
}

}  // namespace

TEST_CASE("spatial rod: a free body lies in the arcs of its sections", "[planning]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  test::Random random(seed);
  const double l1 = random.uniform(0.1, 0.4), l2 = random.uniform(0.1, 0.4);
  SpatialBody body{.sections = {{.length = l1}, {.length = l2}}, .start_length = l1 + l2};
  body.elements = 100;
  SpatialRod rod(body, {});
  SpatialActuation actuation = rod.reset();
  Eigen::Isometry3d tip = Eigen::Isometry3d::Identity();
  for (int k = 0; k < 2; ++k) {
    const double u = random.uniform(0.0, 8.0), phi = random.angle(), length = k == 0 ? l1 : l2;
    actuation.segment<2>(2 * k) << u * std::cos(phi), u * std::sin(phi);
    tip = tip * section_end_pose(Section({.length = length, .bend_angle_limit = 6.28}),
                                 {.theta = u * length, .phi = phi});
  }
  const SpatialEquilibrium found = rod.solve(actuation);
  CHECK(found.converged);
  CHECK((found.tip - tip.translation()).norm() < 1e-3);  // the arc that both sections share

  SpatialRod whole(one_section(l1), {});
  (void)whole.reset();
  const double phi = random.angle();
  const Vector3d end = section_end_pose(Section({.length = l1, .bend_angle_limit = 6.28}),
                                        {.theta = 5.0 * l1, .phi = phi})
                           .translation();
  CHECK((whole.solve(bent(5.0, phi, l1)).tip - end).norm() < kAlgebraTolerance);
}

TEST_CASE("spatial rod: a propped body presses by the formula of small bends", "[planning]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  test::Random random(seed);
  const double s = random.uniform(0.15, 0.35), phi = random.angle(), k = 0.1;
  const Vector3d side(std::cos(phi), std::sin(phi), 0.0), across(-side.y(), side.x(), 0.0);
  SpatialBody body = one_section(0.4);
  body.elements = 200;
  body.contact_layer = 1e-5;
  constexpr double kRod = 0.02;  // radius of a rod across the body [m]
  const Vector3d middle = (kRod + body.radius) * side + s * Vector3d::UnitZ();
  SpatialRod rod(body,
                 Obstacles({capsule_between(middle - 0.3 * across, middle + 0.3 * across, kRod)}));
  (void)rod.reset();
  REQUIRE(rod.solve(bent(k, phi, 0.4)).converged);
  double force = 0.0;
  for (const SpatialContact& contact : rod.contacts()) force += contact.force;
  const double EI = body.sections.front().bending_stiffness;
  CHECK(force == Approx(3.0 * EI * k / (2.0 * s)).epsilon(0.03));  // one arc of the body
}

TEST_CASE("spatial rod: the rates of the tip of a free body are central differences",
          "[planning]") {
  int compared = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const int sections = static_cast<int>(seed % 3) + 1;
    const test::ContactQuery query = test::contact_query(seed, sections, seed % 2 == 1);
    SpatialRod rod(query.body, query.obstacles);
    test::Random random(seed);
    (void)rod.reset();
    const auto actuation = test::random_drive(random, rod);
    if (!actuation || !rod.solve(*actuation).converged) continue;
    const Eigen::VectorXd shape = rod.shape();
    const Eigen::MatrixXd rates = rod.tip_rates();
    const int last = rod.actuation_size() - 1;
    if (!rod.contacts().empty()) continue;
    ++compared;
    const int columns = sections == 3 ? last : last + 1;  // a clamped body is at its full length
    for (int c = 0; c < columns; ++c) {
      const double step = 1e-4;  // below it a change is within the residual of a solution
      std::array<Vector3d, 2> tips;
      bool same = true;
      for (const int sign : {0, 1}) {
        SpatialActuation moved = *actuation;
        moved[c] += (2 * sign - 1) * step;
        rod.set_shape(shape);
        same = same && rod.solve(moved).converged && rod.contacts().empty();
        tips[static_cast<std::size_t>(sign)] = rod.nodes().back();
      }
      if (!same) continue;
      const Vector3d difference = (tips[1] - tips[0]) / (2.0 * step);
      CHECK((rates.col(c) - difference).norm() < kDifferenceTolerance);
    }
  }
  CHECK(compared > 5);
}

TEST_CASE("spatial rod: a body outside its ranges is refused by name", "[planning]") {
  SpatialBody body = one_section(0.4);
  body.elements = 1;
  CHECK_THROWS_WITH(SpatialRod(body, {}), Catch::Contains("elements = 1, must be >= 2"));
  body = one_section(0.4);
  body.start_length = 0.5;
  CHECK_THROWS_WITH(SpatialRod(body, {}), Catch::Contains("start_length = 0.5"));
  body = one_section(-0.4);
  CHECK_THROWS_AS(SpatialRod(body, {}), ModelError);
}
