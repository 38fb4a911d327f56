#include "tendril/rod/elastic_rod.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/rod/elastic_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector2d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

/// Largest overlap of contacts: ten times the gap tolerance, for what lies between elements.
constexpr double kOverlap = 1e-7;

/// A straight rod next to a thin disc that holds its side at `s1`.
ElasticRod propped_rod(double s1, double element_length = 0.01, double bending_stiffness = 0.05) {
  PlanarScene scene;
  scene.add(Disc{{-0.0101, s1}, 1e-4});
  ElasticRod rod(scene, {},
                 {.bending_stiffness = bending_stiffness, .element_length = element_length});
  rod.set_shape({});
  return rod;
}

RodSolution relaxed_plan(ElasticRod& rod, const ElasticCase& c) {
  const std::vector<PlanarArc> plan = c.plan();
  rod.set_shape(plan);
  return rod.solve(plan.back().curvature, plan_length(plan));
}

/// Mean position of the element from `begin` to `end`, by Simpson's rule.
Vector2d centroid(const ElasticRod& rod, double begin, double end) {
  Vector2d sum = Vector2d::Zero();
  constexpr int kPanels = 8;
  for (int i = 0; i <= kPanels; ++i) {
    const double weight = i == 0 || i == kPanels ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0);
    // Inside the element, so that the last sample does not belong to the next one.
    const double s = begin + (end - begin) * (i == kPanels ? 1.0 - 1e-12 : i / double(kPanels));
    sum += weight / (3.0 * kPanels) * rod.pose_at(s).position;
  }
  return sum;
}

double moment(const Vector2d& force, const Vector2d& arm) {
  return force.x() * arm.y() - force.y() * arm.x();
}

}  // namespace

TEST_CASE("elastic rod: a free rod takes the arc of its actuation", "[planning][rod]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const PlanarPose base{{random.uniform(-1, 1), random.uniform(-1, 1)}, random.angle()};
  ElasticRod rod(PlanarScene{}, base);
  const double curvature = random.uniform(-15, 15), length = random.uniform(0.003, 1.5);
  const RodSolution solution = rod.solve(curvature, length);
  REQUIRE(solution.converged());
  const PlanarPose end = PlanarArc{base, curvature, length}.end();
  CHECK((solution.tip.position - end.position).norm() < kAlgebraTolerance);
  CHECK(solution.tip.heading == Approx(end.heading).margin(kAlgebraTolerance));
  CHECK(solution.energy == Approx(0.0).margin(kAlgebraTolerance));
  CHECK(solution.contacts.empty());
}

TEST_CASE("elastic rod: a free rod of pieces is their chain of arcs", "[planning][rod]") {
  // Joints on element ends, where the pieces are resolved exactly.
  ElasticRod rod(PlanarScene{}, {});
  const std::vector<CurvaturePiece> pieces{{0.10, 4.0}, {0.25, -3.0}, {0.05, 0.0}, {9.0, 7.0}};
  const RodSolution solution = rod.solve(pieces, 0.613);
  PlanarPose pose;
  double begin = 0.0;
  for (const CurvaturePiece& piece : pieces) {
    const double length = std::min(piece.length, 0.613 - begin);
    pose = PlanarArc{pose, piece.curvature, length}.end();
    begin += length;
  }
  CHECK((solution.tip.position - pose.position).norm() < kAlgebraTolerance);
}

TEST_CASE("elastic rod: one prop carries the force and turns the rod as beam theory says",
          "[planning][rod]") {
  // F = 3 EI dk / (2 s1), heading dk s1 / 4, for small angles.
  const double s1 = GENERATE(0.1, 0.2, 0.3);
  constexpr double kCurvature = 1.0, kStiffness = 0.05;
  ElasticRod rod = propped_rod(s1);
  const RodSolution solution = rod.solve(-kCurvature, 0.5);
  REQUIRE(solution.converged());
  REQUIRE(solution.contacts.size() == 1);
  CHECK(solution.contacts[0].force == Approx(1.5 * kStiffness * kCurvature / s1).epsilon(0.03));
  CHECK(-rod.pose_at(s1).heading == Approx(kCurvature * s1 / 4.0).epsilon(0.03));
  CHECK(solution.contacts[0].arc_length == Approx(s1).margin(2e-3));
  CHECK(solution.contacts[0].side == BodySide::Negative);
}

TEST_CASE("elastic rod: at very small bends beam theory is met closely", "[planning][rod]") {
  // Against the discretization only: (h/s1)^2 is 1e-3.
  ElasticRod rod = propped_rod(0.3);
  const RodSolution solution = rod.solve(-0.01, 0.5);
  REQUIRE(solution.contacts.size() == 1);
  CHECK(solution.contacts[0].force == Approx(1.5 * 0.05 * 0.01 / 0.3).epsilon(2e-3));
  CHECK(-rod.pose_at(0.3).heading == Approx(0.01 * 0.3 / 4.0).epsilon(2e-3));
}

TEST_CASE("elastic rod: a rod pushed on end buckles at Euler's load", "[planning][rod]") {
  // Clamped, the tip free to slide on the wall and to turn: pi^2 EI / (4 L^2). After buckling by
  // the shortening d the load grows by about d / (2 L).
  constexpr double kLength = 0.5, kShortening = 0.01;
  PlanarScene scene;
  scene.add(box_polygon(-1.0, 1.0, kLength - kShortening + 0.01, 0.7));
  ElasticRod rod(scene, {});
  rod.set_shape({});
  const RodSolution solution = rod.solve(0.0, kLength);
  REQUIRE(solution.converged());
  const double critical = pi * pi * 0.05 / (4.0 * kLength * kLength);
  CHECK(solution.contact_force() ==
        Approx(critical * (1.0 + 0.5 * kShortening / kLength)).epsilon(0.01));
  CHECK(std::abs(solution.tip.position.x()) > 0.03);
  CHECK(solution.base_force.y() == Approx(solution.contact_force()).epsilon(1e-9));
}

TEST_CASE("elastic rod: the gradient of the potential equals central differences",
          "[planning][rod]") {
  // In shapes that press into obstacles by up to some mm: forces of any size.
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  PlanarScene scene;
  scene.add(Disc{{0.05, 0.2}, 0.03});
  scene.add(box_polygon(-0.2, -0.005, 0.3, 0.4));
  ElasticRod rod(scene, {}, {.element_length = 0.02});
  REQUIRE(rod.solve(1.0, 0.5).status != RodStatus::InvalidInput);
  std::vector<double> shape(rod.curvatures().begin(), rod.curvatures().end());
  for (double& curvature : shape) curvature = random.uniform(-2.0, 3.0);
  std::vector<double> gradient(shape.size()), unused(shape.size());
  CHECK(rod.potential(shape, gradient) > 0.0);
  double largest = 0.0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t j = 0; j < shape.size(); ++j) {
    std::vector<double> ahead = shape, behind = shape;
    ahead[j] += kDifferenceStep;
    behind[j] -= kDifferenceStep;
    const double difference =
        (rod.potential(ahead, unused) - rod.potential(behind, unused)) / (2.0 * kDifferenceStep);
    // A nearest point that changes to another feature within the step costs a little.
    CHECK(gradient[j] == Approx(difference).margin(1e-5 * largest));
  }
}

TEST_CASE("elastic rod: the potential is continuous where an element bends around a corner",
          "[planning][rod]") {
  // The rod leaves the edge of the box, comes back to its corner and passes it: elements that rise
  // from the edge before they fall to the corner have more than one nearest point.
  PlanarScene scene;
  scene.add(box_polygon(0.0, 0.2, -0.1, 0.1));
  const double offset = GENERATE(0.0, 0.003, 0.006, 0.009);
  CAPTURE(offset);
  constexpr double kLength = 0.12, kHeading = 0.2, kStep = 1e-4;
  ElasticRod rod(scene, {{-0.0095, 0.02 + offset}, -kHeading}, {.element_length = 0.04});
  REQUIRE(rod.solve(1.0, kLength).status != RodStatus::InvalidInput);
  rod.set_multipliers({});
  std::vector<double> shape(rod.curvatures().size()), gradient(shape.size());
  double touched = 0.0;
  for (double curvature = 2.0; curvature < 5.5; curvature += kStep) {
    CAPTURE(curvature);
    shape.assign(shape.size(), curvature);
    const double here = rod.potential(shape, gradient);
    double rate = 0.0, largest = 0.0;
    for (const double g : gradient) {
      rate += g;
      largest += std::abs(g);
    }
    shape.assign(shape.size(), curvature + kStep);
    const double change = rod.potential(shape, gradient) - here;
    touched = std::max(touched, largest);
    CHECK(std::abs(change - rate * kStep) <= 1e-2 * kStep * (1.0 + largest));
  }
  CHECK(touched > 1.0);
}

TEST_CASE("elastic rod: a contact slides over the joints of elements in a few steps",
          "[planning][rod]") {
  PlanarScene scene;
  scene.add(box_polygon(0.05, 0.2, 0.25, 0.4));
  const ElasticRodOptions options{.element_length = 0.007};
  ElasticRod rod(scene, {}, options);
  const double length = GENERATE(0.45, 0.5);
  constexpr double kStep = 2e-5, kMoved = 0.02;
  REQUIRE(rod.solve(4.0, length).converged());
  const double first = rod.solve(4.0, length).contacts[0].arc_length;
  for (double moved = kStep; moved <= kMoved; moved += kStep) {
    CAPTURE(length, moved);
    rod.set_obstacle_shift(0, {0.0, -moved});
    const RodSolution solution = rod.solve(4.0, length);
    REQUIRE(solution.converged());
    CHECK(solution.evaluations <= 20);
  }
  const double last = rod.solve(4.0, length).contacts[0].arc_length;
  CHECK(std::abs(last - first) > 2.0 * options.element_length);
}

TEST_CASE("elastic rod: forces and moments balance", "[planning][rod]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      ElasticRod rod(c.scene, {});
      const RodSolution solution = relaxed_plan(rod, c);
      REQUIRE(solution.converged());
      REQUIRE(!solution.contacts.empty());
      Vector2d sum = solution.base_force;
      for (const RodContact& contact : solution.contacts) sum += contact.force * contact.direction;
      CHECK(sum.norm() < 1e-9 * solution.contact_force());

      // The internal moment in the middle of an element is that of the forces past it.
      const double actuation = c.plan().back().curvature,
                   stiffness = rod.options().bending_stiffness;
      const double h = rod.options().element_length;
      for (int j = 0; j + 1 < rod.element_count(); ++j) {
        const double begin = j * h, end = begin + h;
        bool loaded = false;
        double desired = 0.0;
        for (const RodContact& contact : solution.contacts) {
          if (contact.arc_length < begin - 1e-3 * h) continue;
          loaded = loaded || contact.arc_length <= end + 1e-3 * h;
          desired += contact.force *
                     moment(contact.direction, contact.position - centroid(rod, begin, end));
        }
        if (loaded) continue;
        const double internal = stiffness * (rod.curvature_at(begin + 0.5 * h) - actuation);
        CHECK(internal == Approx(desired).margin(1e-6 * solution.contact_force()));
      }
      // About the base: the clamp's moment.
      double about_base = solution.base_moment;
      for (const RodContact& contact : solution.contacts)
        about_base += contact.force * moment(contact.direction, contact.position);
      CHECK(about_base == Approx(0.0).margin(1e-9));
    }
  }
}

TEST_CASE("elastic rod: the first integral of the elastica holds at the clamp", "[planning][rod]") {
  // n.t + M kappa - (EI/2)(kappa - k)^2 is constant along a rod of constant actuation k,
  // frictionless contacts do not change it, and at the free tip it is 0.
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      ElasticRod rod(c.scene, {});
      const RodSolution solution = relaxed_plan(rod, c);
      REQUIRE(solution.converged());
      const double k = c.plan().back().curvature, stiffness = rod.options().bending_stiffness;
      const double kappa = 1.5 * rod.curvature_at(0.0025) - 0.5 * rod.curvature_at(0.0075);
      const double tension = -solution.base_force.y();  // the base tangent is +z
      const double bending = 0.5 * stiffness * (kappa * kappa - k * k);
      double at_tip = 0.0;
      for (const RodContact& contact : solution.contacts)
        if (contact.arc_length > rod.length() - 1e-6)
          at_tip += contact.force * contact.direction.dot(solution.tip.tangent());
      CHECK(tension + bending == Approx(at_tip).margin(0.01 * solution.contact_force()));
    }
  }
}

TEST_CASE("elastic rod: uncorrected plans miss as far as in contact physics", "[planning][rod]") {
  // The links in the physics are rigid and as long as the elements: 2 mm.
  constexpr double kMargin = 2e-3;
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      ElasticRod rod(c.scene, {});
      const RodSolution solution = relaxed_plan(rod, c);
      REQUIRE(solution.converged());
      CHECK((solution.tip.position - c.target).norm() == Approx(c.plain_tip_error).margin(kMargin));
      CHECK(sampled_clearance(rod) > -kOverlap);
      CHECK(solution.penetration < kOverlap);
      CHECK(rod.stability() > 0.9);
      CHECK(rod.stability() < 1.05);
    }
  }
}

TEST_CASE("elastic rod: the error falls with the square of the element length", "[planning][rod]") {
  // The hardest bend, and one with two contacts.
  const std::vector<ElasticCase> cases = elastic_cases();
  for (const ElasticCase& c : {cases[0], cases[3]}) {
    DYNAMIC_SECTION(c.name) {
      std::vector<Vector2d> tips;
      std::vector<double> forces;
      for (const double h : {0.02, 0.01, 0.005, 0.0025}) {
        ElasticRod rod(c.scene, {}, {.element_length = h});
        const RodSolution solution = relaxed_plan(rod, c);
        REQUIRE(solution.converged());
        tips.push_back(solution.tip.position);
        forces.push_back(solution.contact_force());
      }
      // At 10 mm; measured at most 1.1 mm of a tip that moved by 230 mm, and 0.2 %.
      CHECK((tips[1] - tips[3]).norm() < 1.5e-3);
      CHECK(forces[1] == Approx(forces[3]).epsilon(0.01));
      // Second order is 4 a halving; where the contact lies in its element adds to and fro.
      CHECK((tips[2] - tips[3]).norm() < (tips[0] - tips[3]).norm() / 8.0 + 2e-5);
    }
  }
}

TEST_CASE("elastic rod: the shape does not depend on the stiffness, the forces scale with it",
          "[planning][rod]") {
  const ElasticCase c = elastic_cases()[1];
  ElasticRod soft(c.scene, {}, {.bending_stiffness = 0.05});
  ElasticRod stiff(c.scene, {}, {.bending_stiffness = 5.0});
  const RodSolution a = relaxed_plan(soft, c), b = relaxed_plan(stiff, c);
  CHECK((a.tip.position - b.tip.position).norm() < kAlgebraTolerance);
  CHECK(100.0 * a.contact_force() == Approx(b.contact_force()).epsilon(1e-12));
  CHECK(100.0 * a.energy == Approx(b.energy).epsilon(1e-12));
}

TEST_CASE("elastic rod: a mirrored problem has the mirrored solution", "[planning][rod]") {
  PlanarScene left, right;
  left.add(Disc{{-0.05, 0.2}, 0.035});
  right.add(Disc{{0.05, 0.2}, 0.035});
  ElasticRod a(left, {}), b(right, {});
  a.set_shape({});
  b.set_shape({});
  const RodSolution in_left = a.solve(-4.0, 0.6), in_right = b.solve(4.0, 0.6);
  REQUIRE(in_left.converged());
  REQUIRE(in_left.contacts.size() == 1);
  REQUIRE(in_right.contacts.size() == 1);
  CHECK(in_left.tip.position.x() == Approx(-in_right.tip.position.x()).margin(1e-9));
  CHECK(in_left.tip.position.y() == Approx(in_right.tip.position.y()).margin(1e-9));
  CHECK(in_left.contacts[0].force == Approx(in_right.contacts[0].force).epsilon(1e-7));
  CHECK(in_left.contacts[0].side == BodySide::Negative);
  CHECK(in_right.contacts[0].side == BodySide::Positive);
}

TEST_CASE("elastic rod: a body may be in contact with a disc along an arc", "[planning][rod]") {
  // A tight arc of 180 deg around a disc, actuated to a smaller radius than the disc allows.
  constexpr double kRadius = 0.05, kBody = 0.01, kRim = kRadius + kBody;
  PlanarScene scene;
  scene.add(Disc{{kRim, 0.2}, kRadius});
  ElasticRod rod(scene, {}, {.body_radius = kBody});
  const std::vector<PlanarArc> plan{{{}, 0.0, 0.2}, {{{0.0, 0.2}, 0.0}, 1.0 / kRim, pi * kRim}};
  rod.set_shape(plan);
  const std::vector<CurvaturePiece> actuation{{0.2, 0.0}, {1.0, 1.3 / kRim}};
  const RodSolution solution = rod.solve(actuation, plan_length(plan));
  REQUIRE(solution.converged());
  CHECK(solution.contacts.size() >= 3);
  CHECK(sampled_clearance(rod) > -kOverlap);
  Vector2d sum = solution.base_force;
  for (const RodContact& contact : solution.contacts) {
    sum += contact.force * contact.direction;
    CHECK((contact.position - Vector2d(kRim, 0.2)).norm() == Approx(kRim).margin(kOverlap));
  }
  CHECK(sum.norm() < 1e-9);
}

TEST_CASE("elastic rod: rates of tip and force equal differences", "[planning][rod]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      constexpr double kStep = 1e-4;  // [1/m]
      const double length = plan_length(c.plan()), k = c.plan().back().curvature;
      ElasticRod rod(c.scene, {});
      REQUIRE(relaxed_plan(rod, c).converged());
      rod.differentiate(0.0, length);
      const Vector2d tip_rate = rod.position_rate(length);
      const double force_rate = rod.force_rate(0);
      const RodSolution ahead = rod.solve(k + kStep, length);
      const Vector2d tip_ahead = ahead.tip.position;
      const double force_ahead = ahead.contacts[0].force;
      const RodSolution behind = rod.solve(k - kStep, length);
      const Vector2d tip_difference = (tip_ahead - behind.tip.position) / (2.0 * kStep);
      CHECK((tip_rate - tip_difference).norm() < 2e-3 * tip_rate.norm());
      CHECK(force_rate ==
            Approx((force_ahead - behind.contacts[0].force) / (2.0 * kStep)).epsilon(5e-3));
    }
  }
}

TEST_CASE("elastic rod: nothing changes near the base when free length is fed", "[planning][rod]") {
  const ElasticCase c = elastic_cases()[0];
  ElasticRod rod(c.scene, {});
  rod.set_shape(c.plan());
  const RodSolution before = rod.solve(-2.4, 0.60);
  REQUIRE(before.converged());
  const double force = before.contact_force(), heading = rod.pose_at(0.3).heading;
  const RodSolution after = rod.solve(-2.4, 0.6237);
  REQUIRE(after.converged());
  CHECK(after.contact_force() == Approx(force).epsilon(1e-6));
  CHECK(rod.pose_at(0.3).heading == Approx(heading).margin(1e-6));
}

TEST_CASE("elastic rod: the same problem gives the same bits, and no solve allocates",
          "[planning][rod]") {
  const ElasticCase c = elastic_cases()[2];
  ElasticRod rod(c.scene, {}), again(c.scene, {});
  const std::vector<PlanarArc> plan = c.plan();
  rod.set_shape(plan);
  again.set_shape(plan);
  const AllocationCounter counter;
  const RodSolution a = rod.solve(plan.back().curvature, plan_length(plan));
  CHECK(counter.count() == 0);
  const RodSolution b = again.solve(plan.back().curvature, plan_length(plan));
  CHECK(a.tip.position == b.tip.position);
  CHECK(a.iterations == b.iterations);
}

TEST_CASE("elastic rod: what has no equilibrium is said, in bounded work", "[planning][rod]") {
  // A base inside an obstacle, deep and at its middle; curvatures above what numbers hold.
  PlanarScene scene;
  scene.add(Disc{{0.0, 0.0}, 0.05});
  scene.add(box_polygon(-0.02, 0.03, -0.01, 0.02));
  for (const double clearance : {0.0, 5e-4}) {
    ElasticRod rod(scene, {}, {.max_evaluations = 500, .guide_clearance = clearance});
    for (const double curvature : {0.0, 3.0, -1e4, 1e160, 1e308}) {
      CAPTURE(clearance, curvature);
      const RodSolution solution = rod.solve(curvature, 0.3);
      CHECK_FALSE(solution.converged());
      CHECK(solution.evaluations <= 500);
      rod.set_shape({});
    }
  }
}

TEST_CASE("elastic rod: bad input is named", "[planning][rod]") {
  const PlanarScene scene;
  CHECK_THROWS_WITH(ElasticRod(scene, {}, {.bending_stiffness = 0.0}),
                    "elastic rod options: bending_stiffness = 0 N m^2, must be > 0");
  CHECK_THROWS_WITH(ElasticRod(scene, {}, {.body_radius = -1.0}),
                    "elastic rod options: body_radius = -1 m, must be >= 0");
  CHECK_THROWS_AS(ElasticRod(scene, {}, {.element_length = 1e-6}), ModelError);
  CHECK_THROWS_AS(ElasticRod(scene, {}, {.max_iterations = 0}), ModelError);
  CHECK_THROWS_AS(ElasticRod(scene, {{0.0, std::nan("")}, 0.0}), ModelError);
  ElasticRod rod(scene, {});
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(rod.solve(nan, 0.5).status == RodStatus::InvalidInput);
  CHECK(rod.solve(1.0, nan).status == RodStatus::InvalidInput);
  CHECK(rod.solve(1.0, 0.0).status == RodStatus::InvalidInput);
  CHECK(rod.solve(1.0, 1.6).status == RodStatus::InvalidInput);
  CHECK(rod.solve(std::span<const CurvaturePiece>{}, 0.5).status == RodStatus::InvalidInput);
  CHECK(rod.solve(1.0, 0.5).converged());
}
