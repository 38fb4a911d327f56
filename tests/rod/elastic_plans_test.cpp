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

TEST_CASE("contact ways: the tip leaves all obstacles as much room as they have", "[planning]") {
  for (const ElasticCase& c : elastic_cases()) {
    CAPTURE(c.name);
    const CorrectedPlans found = corrected_plans(std::vector{plan_of(c)}, kOptions);
    REQUIRE(!found.ways.empty());
    double before = 1.0;
    for (const ElasticPlan& way : found.ways) {
      CHECK(way.passing_clearance > 0.0);
      CHECK(way.passing_clearance <= kOptions.passing_clearance);
      CHECK(way.states.back().corrected());
      CHECK((way.tip_path.back().end().position - c.target).norm() < 1e-9);
      double room = 1.0;
      for (const PlanarArc& arc : way.tip_path)
        room = std::min(room, c.scene.clearance(arc, kRadius));
      CHECK(room > 0.0);
      CHECK(room <= before + 1e-12);  // the one with most room comes first
      before = room;
    }
  }
}

TEST_CASE("contact ways: of several plans each is tried before one is tried again", "[planning]") {
  const std::vector<ElasticCase> cases = elastic_cases();  // the first two: one scene, two plans
  const std::vector<ContactPlan> plans{plan_of(cases[0]), plan_of(cases[1])};
  const CorrectedPlans found = corrected_plans(plans, kOptions);
  REQUIRE(found.ways.size() >= 3);
  CHECK(found.ways[0].plan.contacts.size() == 1);
  CHECK(found.ways[1].plan.contacts.size() == 2);
  CHECK(found.ways.size() <= 4);
  CHECK(found.ways[2].passing_clearance != found.ways[0].passing_clearance);

  CorrectedPlansOptions one = kOptions;
  one.max_candidates = 1;
  CHECK(corrected_plans(plans, one).ways.size() == 1);
  one.max_length = 0.5;  // shorter than any
  CHECK(corrected_plans(plans, one).ways.empty());
}

TEST_CASE("contact ways: a path past contacts is tangent to their discs", "[planning]") {
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
