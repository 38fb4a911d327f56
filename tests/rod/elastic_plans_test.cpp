#include "tendril/rod/elastic_plans.hpp"

#include <catch2/catch.hpp>

#include "tests/rod/elastic_cases.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kRadius = 0.01;  // [m]

ContactPlan plan_of(const ElasticCase& c) {
  return {.base = {},
          .body_radius = kRadius,
          .arcs = c.plan(),
          .contacts = c.contacts,
          .scene = c.scene};
}

const CorrectedPlansOptions kOptions{.rod = {.guide_clearance = 5e-4}};

}  // namespace

TEST_CASE("elastic plans: the tip leaves all obstacles as much room as they have", "[planning]") {
  for (const ElasticCase& c : elastic_cases()) {
    CAPTURE(c.name);
    const CorrectedPlans found = corrected_plans(std::vector{plan_of(c)}, kOptions);
    REQUIRE(!found.plans.empty());
    double before = 1.0;
    for (const ElasticPlan& plan : found.plans) {
      CHECK(plan.passing_clearance > 0.0);
      CHECK(plan.passing_clearance <= kOptions.passing_clearance);
      CHECK(plan.states.back().corrected());
      CHECK((plan.tip_path.back().end().position - c.target).norm() < 1e-9);
      double room = 1.0;
      for (const PlanarArc& arc : plan.tip_path)
        room = std::min(room, c.scene.clearance(arc, kRadius));
      CHECK(room > 0.0);
      CHECK(room <= before + 1e-12);  // the one with most room comes first
      before = room;
    }
  }
}

TEST_CASE("elastic plans: of several plans each is tried before one is tried again", "[planning]") {
  const std::vector<ElasticCase> cases = elastic_cases();  // the first two: one scene, two plans
  const std::vector<ContactPlan> plans{plan_of(cases[0]), plan_of(cases[1])};
  const CorrectedPlans found = corrected_plans(plans, kOptions);
  REQUIRE(found.plans.size() >= 3);
  CHECK(found.plans[0].plan.contacts.size() == 1);
  CHECK(found.plans[1].plan.contacts.size() == 2);
  CHECK(found.plans.size() <= 4);
  CHECK(found.plans[2].passing_clearance != found.plans[0].passing_clearance);

  CorrectedPlansOptions one = kOptions;
  one.max_candidates = 1;
  CHECK(corrected_plans(plans, one).plans.size() == 1);
  one.max_length = 0.5;  // shorter than any
  CHECK(corrected_plans(plans, one).plans.empty());
}

TEST_CASE("elastic plans: a path past contacts is tangent to their discs", "[planning]") {
  for (const ElasticCase& c : elastic_cases()) {
    for (const double clearance : {0.0, 0.002, 0.01}) {
      const std::vector<PlanarArc> path = passing_path({}, c.contacts, c.target, clearance);
      REQUIRE(path.size() == c.contacts.size() + 1);
      for (std::size_t i = 0; i < c.contacts.size(); ++i) {
        const PlannedContact& contact = c.contacts[i];
        CHECK((path[i].end().position - contact.center).norm() ==
              Approx(contact.radius + clearance).margin(1e-9));
        CHECK(path[i].distance(contact.center) == Approx(contact.radius + clearance).margin(1e-9));
      }
    }
  }
}
