#include "tendril/contact/contact_problem.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numbers>
#include <string>

#include "tendril/model_error.hpp"
#include "tests/support/wrap_cases.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kGuide = 1.2;  // [m]

/// Boxes and cylinders of a planar case, as a scene has them around an arm with a guide.
std::vector<Solid> solids_of(const WrapCase& c) {
  std::vector<Solid> solids;
  for (const auto& b : c.boxes) {
    Solid solid{.name = "box " + std::to_string(solids.size()),
                .kind = Solid::Kind::Box,
                .size = {0.5 * (b[1] - b[0]), 0.03, 0.5 * (b[3] - b[2])}};
    solid.X_BO.translation() = Vector3d(0.5 * (b[0] + b[1]), 0.0, kGuide + 0.5 * (b[2] + b[3]));
    solids.push_back(solid);
  }
  for (const Disc& disc : c.discs) {
    Solid solid{.name = "post", .kind = Solid::Kind::Cylinder, .size = {disc.radius, 0.03, 0.0}};
    solid.X_BO.linear() =
        Eigen::AngleAxisd(std::numbers::pi / 2, Vector3d::UnitX()).toRotationMatrix();
    solid.X_BO.translation() = Vector3d(disc.center.x(), 0.0, kGuide + disc.center.y());
    solids.push_back(solid);
  }
  return solids;
}

std::string refusal(const std::vector<Solid>& solids, const Vector3d& target) {
  try {
    static_cast<void>(
        contact_problem(solids, target, {.guide_length = kGuide, .max_length = 1.5}, 3));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("contact problem: the geoms of a scene give the plans of a file that lists them",
          "[planning]") {
  for (const WrapCase& c : wrap_cases()) {
    if (c.name == "case 4") continue;  // its two rules differ
    CAPTURE(c.name);
    const ContactProblem problem =
        contact_problem(solids_of(c), {c.target.x(), 0.0, kGuide + c.target.y()},
                        {.guide_length = kGuide, .max_length = 1.5}, 3);
    const std::vector<ContactPlan> plans = contact_plans(problem, 100);
    for (const auto& steps : c.persistent) {
      const bool found = std::any_of(plans.begin(), plans.end(), [&](const ContactPlan& plan) {
        return std::equal(plan.arcs.begin(), plan.arcs.end(), steps.begin(), steps.end(),
                          [](const PlanarArc& arc, const WrapCaseStep& step) {
                            return std::abs(arc.curvature - step.curvature) < 1e-3 &&
                                   std::abs(arc.length - step.length) < 1e-4;
                          });
      });
      CHECK(found);
    }
    for (const ContactPlan& plan : plans) {
      CHECK(plan.contacts.size() + 1 == plan.arcs.size());
      CHECK((plan.target() - c.target).norm() < 1e-9);
      for (const PlanarArc& arc : plan.arcs) CHECK(plan.scene.clearance(arc, 0.01) > -2e-6);
    }
  }
}

TEST_CASE("contact problem: no more contacts than are allowed", "[planning]") {
  const WrapCase c = wrap_cases().front();
  for (const int most : {0, 1, 2}) {
    const ContactProblem problem =
        contact_problem(solids_of(c), {c.target.x(), 0.0, kGuide + c.target.y()},
                        {.guide_length = kGuide, .max_length = 1.5}, most);
    for (const ContactPlan& plan : contact_plans(problem, 100))
      CHECK(static_cast<int>(plan.contacts.size()) <= most);
  }
}

TEST_CASE("contact problem: what is refused, and how it is said", "[planning]") {
  Solid box{.name = "geom crate", .kind = Solid::Kind::Box, .size = {0.05, 0.05, 0.05}};
  box.X_BO.translation() = Vector3d(0.2, 0.0, kGuide + 0.3);
  CHECK(refusal({box}, {0.0, 0.0, kGuide + 0.5}) == "accepted");
  CHECK_THAT(refusal({box}, {0.0, 0.02, kGuide + 0.5}),
             Catch::Contains("target: lies 0.02 m off the plane in which the arm moves"));
  CHECK_THAT(refusal({box}, {1.2, 0.0, kGuide + 1.6}),
             Catch::Contains("target: is 2 m from the guide's end: the arm reaches 1.5 m"));
  CHECK_THAT(refusal({box}, {0.2, 0.0, kGuide + 0.3}),
             Catch::Contains("target: is inside geom crate"));
  CHECK_THAT(refusal({box}, {0.255, 0.0, kGuide + 0.3}),
             Catch::Contains("target: is inside geom crate"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refusal({box}, {nan, 0.0, 0.0}) != "accepted");
  CHECK(refusal({box}, {0.0, nan, 0.0}) != "accepted");
  box.X_BO.translation() = Vector3d(0.02, 0.0, 0.4);
  CHECK(refusal({box}, {0.0, 0.0, kGuide + 0.5}) == "geom crate: overlaps the arm where it starts");
}

TEST_CASE("contact problem: hundreds of solids take a bounded search", "[planning]") {
  std::vector<Solid> solids;
  for (int i = 0; i < 400; ++i) {
    Solid solid{.name = "ball", .kind = Solid::Kind::Sphere, .size = {0.02, 0.0, 0.0}};
    const double angle = 2.399963 * i, radius = 0.15 + 0.002 * i;
    solid.X_BO.translation() =
        Vector3d(radius * std::cos(angle), 0.0, 0.35 + radius * std::sin(angle));
    if (std::abs(solid.X_BO.translation().x()) > 0.05) solids.push_back(solid);
  }
  const ContactProblem problem = contact_problem(solids, {0.0, 0.0, 0.6}, {.max_length = 1.5}, 3);
  ContactPlanner planner(problem.options);
  const auto& found = planner.plan(problem.scene, problem.contacts, problem.base, problem.target);
  CHECK(found.arcs_tried <= problem.options.max_arcs);
  CHECK(!contact_plans(problem, 8).empty());
}
