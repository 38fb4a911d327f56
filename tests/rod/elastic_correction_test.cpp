#include "tendril/rod/elastic_correction.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "tendril/model_error.hpp"
#include "tests/rod/elastic_cases.hpp"

using Eigen::Vector2d;
using namespace tendril;
using namespace tendril::test;

namespace {

/// Errors of the reference, whose contacts are springs at nodes 5.6 mm apart: the first arc of case
/// 1, which is short and strongly bent, is off by some mm.
constexpr double kCurvatureMargin = 0.03;  // [1/m]
constexpr double kLengthMargin = 0.005;    // [m]

/// Options where the size of the elements does not matter.
const ElasticRodOptions kCoarse{.element_length = 0.01};

}  // namespace

TEST_CASE("elastic correction: the corrected plans agree with reference and physics",
          "[planning][correction]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      ElasticCorrection correction(c.scene, {});
      const CorrectedState state = correction.solve(c.plan(), c.contacts);
      REQUIRE(state.corrected());
      CHECK(state.tip_error <= correction.options().position_tolerance);
      CHECK(state.curvatures[0] == Approx(c.curvature).margin(kCurvatureMargin));
      CHECK(state.length == Approx(c.length).margin(kLengthMargin));
      CHECK(state.contact_force == Approx(c.contact_force).epsilon(0.05));
      CHECK(state.stability > 0.0);
      CHECK(sampled_clearance(correction.rod()) > -1e-7);

      // A body of elements a quarter as long, with the same commands, ends where it should.
      ElasticRod fine(c.scene, {}, {.element_length = 0.0025});
      std::vector<PlanarArc> shape;
      correction.rod().visit_elements([&](const PlanarArc& arc) { shape.push_back(arc); });
      fine.set_shape(shape);
      const RodSolution solution = fine.solve(state.curvatures[0], state.length);
      REQUIRE(solution.converged());
      CHECK((solution.tip.position - c.target).norm() < 5e-4);
    }
  }
}

TEST_CASE("elastic correction: the tip follows the plan and contacts keep their side",
          "[planning][correction]") {
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      const std::vector<PlanarArc> plan = c.plan();
      ElasticCorrection correction(c.scene, {}, kCoarse);
      const std::vector<CorrectedState> states = correction.follow(plan, c.contacts);
      REQUIRE(!states.empty());
      CHECK(states.front().path_length == Approx(plan[0].length));
      CHECK(states.front().curvatures[0] == Approx(plan[0].curvature));
      CHECK(states.front().length == Approx(plan[0].length));
      CHECK(states.back().path_length == Approx(plan_length(plan)));
      for (std::size_t i = 0; i < states.size(); ++i) {
        CAPTURE(i);
        const CorrectedState& state = states[i];
        REQUIRE(state.corrected());
        double begin = 0.0;
        std::size_t arc = 0;
        while (arc + 1 < plan.size() && begin + plan[arc].length < state.path_length)
          begin += plan[arc++].length;
        CHECK((state.tip.position - plan[arc].pose_at(state.path_length - begin).position).norm() <=
              correction.options().position_tolerance);
        if (i > 0) {
          CHECK(state.path_length - states[i - 1].path_length <=
                4.0 * correction.options().path_step + 1e-12);
          // Feeding never goes back.
          CHECK(state.length > states[i - 1].length);
        }
        // Open or loaded, a contact that was passed is never overlapped nor lost from sight.
        REQUIRE(state.contacts.size() == arc);
        double loaded = 0.0;
        for (const ContactState& contact : state.contacts) {
          CHECK(contact.gap > -1e-5);
          CHECK(contact.gap < 0.1);
          CHECK((contact.force > 0.0) == contact.loaded);
          loaded += contact.force;
        }
        CHECK(loaded <= state.contact_force * (1.0 + 1e-9));
      }
      // The body passes on the planned side of every contact at the end.
      for (std::size_t i = 0; i < c.contacts.size(); ++i) {
        const PlanarPose at = correction.rod().pose_at(states.back().contacts[i].arc_length);
        CHECK(at.to_local(c.contacts[i].center).x() * sign_of(c.contacts[i].side) > 0.0);
      }
    }
  }
}

TEST_CASE("elastic correction: feeding at rest with the plan's stages ends at the target",
          "[planning][correction]") {
  // Stage curvatures, the last one ramped over 50 mm to the corrected value.
  constexpr double kStep = 6e-3, kRamp = 0.05;
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      const std::vector<PlanarArc> plan = c.plan();
      ElasticCorrection correction(c.scene, {}, kCoarse);
      const CorrectedState end = correction.solve(plan, c.contacts);
      REQUIRE(end.corrected());
      const double last = plan_length(plan) - plan.back().length;
      ElasticRod rod(c.scene, {}, kCoarse);
      RodSolution solution;
      for (double length = kStep; length < end.length + kStep; length += kStep) {
        const double fed = std::min(length, end.length);
        double begin = 0.0;
        std::size_t arc = 0;
        while (arc + 2 < plan.size() && begin + plan[arc].length < fed) begin += plan[arc++].length;
        const double share = std::clamp((fed - last) / kRamp, 0.0, 1.0);
        solution = rod.solve(
            std::lerp(plan[arc].curvature, end.curvatures[0], plan.size() > 1 ? share : 1.0), fed);
        REQUIRE(solution.converged());
      }
      CHECK((solution.tip.position - c.target).norm() < 1e-3);
    }
  }
}

TEST_CASE("elastic correction: more sections hold contacts with a desired force",
          "[planning][correction]") {
  // One section opens the first contact of case 2 at the end; two sections press on it.
  const ElasticCase c = elastic_cases()[3];
  const std::vector<PlanarArc> plan = c.plan();
  constexpr double kForce = 0.6;  // [N]
  ElasticCorrection correction(
      c.scene, {}, {},
      {.least_contact_force = kForce, .section_ends = {plan[0].length + 0.5 * plan[1].length}});
  ElasticCorrection plain(c.scene, {}, kCoarse);
  const CorrectedState open = plain.solve(plan, c.contacts);
  REQUIRE(open.corrected());
  CHECK(open.contacts[0].force < kForce);
  const CorrectedState pressed = correction.solve(plan, std::span(c.contacts).first(1));
  REQUIRE(pressed.corrected());
  CHECK(pressed.contacts[0].force >= kForce);
  CHECK(pressed.tip_error <= correction.options().position_tolerance);
}

TEST_CASE("elastic correction: bad input is named", "[planning][correction]") {
  const PlanarScene scene;
  CHECK_THROWS_WITH(ElasticCorrection(scene, {}, {}, {.path_step = 0.0}),
                    "elastic correction options: path_step = 0 m, must be > 0");
  CHECK_THROWS_AS(ElasticCorrection(scene, {}, {}, {.section_ends = {0.2, 0.2}}), ModelError);
  CHECK_THROWS_AS(ElasticCorrection(scene, {}, {}, {.least_contact_force = -1.0}), ModelError);
  CHECK_THROWS_AS(ElasticCorrection(scene, {}, {.bending_stiffness = -1.0}), ModelError);
  ElasticCorrection correction(scene, {});
  CHECK(correction.follow({}, {}).empty());
  CHECK(correction.solve({}, {}).status == CorrectionStatus::InvalidInput);
  const std::vector<PlanarArc> too_long{{{}, 1.0, 3.0}};
  CHECK(correction.follow(too_long, {}).empty());
  const std::vector<PlanarArc> not_finite{{{}, std::numeric_limits<double>::quiet_NaN(), 0.3}};
  CHECK(correction.follow(not_finite, {}).empty());
  const std::vector<PlanarArc> free{{{}, 2.0, 0.3}};
  const CorrectedState state = correction.solve(free, {});
  CHECK(state.corrected());
  CHECK(state.curvatures[0] == Approx(2.0));
}
