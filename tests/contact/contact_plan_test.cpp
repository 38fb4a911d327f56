#include "tendril/contact/contact_plan.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "tendril/model_error.hpp"
#include "tests/rod/elastic_cases.hpp"

using namespace tendril;

namespace {

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_contact_plan(text, "path.plan"));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

const std::string kGood = "base 0 0 0\nbody_radius 0.01\narc 1 0.2\n";

}  // namespace

TEST_CASE("wrap plan: what is written is read back to the same bits", "[planning]") {
  for (const test::ElasticCase& c : test::elastic_cases()) {
    CAPTURE(c.name);
    const ContactPlan plan{.base = {},
                           .body_radius = 0.01,
                           .arcs = c.plan(),
                           .contacts = c.contacts,
                           .scene = c.scene};
    const ContactPlan read = parse_contact_plan(contact_plan_text(plan), c.name);
    CHECK(read.body_radius == plan.body_radius);
    REQUIRE(read.arcs.size() == plan.arcs.size());
    for (std::size_t i = 0; i < plan.arcs.size(); ++i) {
      CHECK(read.arcs[i].curvature == plan.arcs[i].curvature);
      CHECK(read.arcs[i].length == plan.arcs[i].length);
      CHECK(read.arcs[i].start.position == plan.arcs[i].start.position);
      CHECK(read.arcs[i].start.heading == plan.arcs[i].start.heading);
    }
    REQUIRE(read.contacts.size() == plan.contacts.size());
    for (std::size_t i = 0; i < plan.contacts.size(); ++i) {
      CHECK(read.contacts[i].center == plan.contacts[i].center);
      CHECK(read.contacts[i].radius == plan.contacts[i].radius);
      CHECK(read.contacts[i].side == plan.contacts[i].side);
    }
    REQUIRE(read.scene.size() == plan.scene.size());
    for (int i = 0; i < plan.scene.size(); ++i)
      for (const Eigen::Vector2d& p : {Eigen::Vector2d(0.1, 0.3), Eigen::Vector2d(-0.4, 0.55)})
        CHECK(read.scene.obstacle_distance(i, p) == plan.scene.obstacle_distance(i, p));
    CHECK((read.target() - c.target).norm() < 1e-12);
  }
}

TEST_CASE("wrap plan: comments and empty lines are passed over", "[planning]") {
  const ContactPlan plan =
      parse_contact_plan("# a path\n\n" + kGood + "arc -2 0.1  # to the target\n", "w");
  REQUIRE(plan.arcs.size() == 2);
  CHECK(plan.arcs[1].curvature == -2.0);
  CHECK(plan.arcs[1].start.position == plan.arcs[0].end().position);
}

TEST_CASE("wrap plan: what is refused, and how it is said", "[planning]") {
  CHECK(refusal(kGood) == "accepted");
  struct Case {
    std::string text, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"", "path.plan: no line begins with arc"},
      {kGood + "wall 1 2\n", "path.plan: line 4: wall: unknown word: must be base, "},
      {kGood + "arc 1\n", "path.plan: line 4: arc: 1 numbers: must be CURVATURE LENGTH"},
      {kGood + "arc 1 0\n", "path.plan: line 4: arc: length = 0: must be positive"},
      {kGood + "arc 1 x\n", "path.plan: line 4: arc: x: must be a finite number"},
      {kGood + "arc nan 1\n", "path.plan: line 4: arc: nan: must be a finite number"},
      {kGood + "disc 0 0 -1\n", "path.plan: line 4: disc: "},
      {kGood + "polygon 0 0 1\n", "path.plan: line 4: polygon: an odd count"},
      {kGood + "polygon 0 0 1 1\n", "path.plan: line 4: polygon: "},
      {kGood + "arc 1 1\ncontact 0 0 0.01 2\n",
       "path.plan: line 5: contact: side = 2: must be 1 or -1"},
      {kGood + "arc 1 1\ncontact 0 0 -1 1\n", "path.plan: line 5: contact: radius = -1: must be"},
      {kGood + "contact 0 0 0.01 1\n",
       "path.plan: 1 contacts and 1 arcs: there must be an arc to each"},
      {"body_radius -1\narc 1 1\n", "path.plan: line 1: body_radius: -1: must be at least 0"},
  }));
  CAPTURE(c.text);
  CHECK_THAT(refusal(c.text), Catch::StartsWith(c.message));
}
