#include "tendril/rod/elastic_replanner.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "elastic_cases.hpp"
#include "tendril/model_error.hpp"
#include "tendril/rod/insertion.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/random_memory.hpp"
#include "tests/support/wrap_cases.hpp"

namespace {

using namespace tendril;
using namespace tendril::test;
using Eigen::Matrix2d;
using Eigen::Vector2d;

constexpr double kClearance = 5e-4;
const ElasticRodOptions kRod{.element_length = 0.01, .guide_clearance = kClearance};

/// A replanner and its memory, the body at the end of the case's plan.
struct Loop {
  explicit Loop(const ElasticCase& c, const PlanarScene& scene, const CorrectedState& from)
      : replanner(scene, {}, c.contacts, kRod), memory(replanner.memory_size()) {
    replanner.reset(from, memory);
  }
  Replan step(const Vector2d& target) { return replanner.step(memory, target, memory); }
  /// Steps until it is at the target, at most `most`.
  Replan run(const Vector2d& target, int most) {
    Replan result = step(target);
    for (int i = 1; i < most && result.status != ReplanStatus::AtTarget; ++i) result = step(target);
    return result;
  }

  ElasticReplanner replanner;
  std::vector<double> memory;
};

CorrectedState corrected_end(const ElasticCase& c) {
  ElasticCorrection correction(c.scene, {}, kRod, {.path_step = 0.012});
  return correction.solve(c.plan(), c.contacts);
}

Vector2d random_shift(Random& random, double size) {
  const double angle = random.uniform(0.0, 2.0 * std::numbers::pi);
  return size * Vector2d(std::cos(angle), std::sin(angle));
}

PlanarObstacle moved(PlanarObstacle obstacle, const Vector2d& shift) {
  if (Disc* disc = std::get_if<Disc>(&obstacle)) {
    disc->center += shift;
  } else {
    for (Vector2d& corner : std::get<Polygon>(obstacle).corners) corner += shift;
  }
  return obstacle;
}

TEST_CASE("elastic replanner: the tip comes to the target around an obstacle that has moved",
          "[planning][replanner]") {
  constexpr int kMaxSteps = 25;  // at most 13 were measured over 200 seeds
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      const CorrectedState end = corrected_end(c);
      REQUIRE(end.corrected());
      Random random(7);
      for (int seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        const int obstacle = seed % c.scene.size();
        const Vector2d shift = random_shift(random, 3e-3);
        const Vector2d target = c.target + random_shift(random, random.uniform(0.0, 0.03));
        Loop loop(c, c.scene, end);
        loop.replanner.set_obstacle_shift(obstacle, shift, loop.memory);
        const Replan result = loop.run(target, kMaxSteps);
        REQUIRE(result.status == ReplanStatus::AtTarget);

        // A scene built with the obstacle there has the same equilibrium, free of overlap.
        PlanarScene scene;
        for (int i = 0; i < c.scene.size(); ++i)
          std::visit([&](const auto& shape) { scene.add(shape); },
                     i == obstacle ? moved(c.scene.obstacle(i), shift) : c.scene.obstacle(i));
        Loop built(c, scene, end);
        const Replan same = built.run(target, kMaxSteps);
        CHECK(same.status == ReplanStatus::AtTarget);
        CHECK(same.curvature == Approx(result.curvature).epsilon(1e-6));
        CHECK(same.length == Approx(result.length).epsilon(1e-6));
        CHECK(same.contact_force == Approx(result.contact_force).epsilon(1e-4).margin(1e-6));
        ElasticRod rod(scene, {}, kRod);
        rod.resume(built.replanner.rod().shape());
        const RodSolution alone = rod.solve(result.curvature, result.length);
        REQUIRE(alone.converged());
        CHECK((alone.tip.position - target).norm() < 2e-5);
        CHECK(sampled_clearance(rod) > -1e-5);
        // Contacts move with their obstacle.
        for (std::size_t i = 0; i < c.contacts.size(); ++i) {
          CHECK(result.contacts[i].gap > -1e-5);
          if (result.contacts[i].loaded) CHECK(std::abs(result.contacts[i].gap) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("elastic replanner: a step is a function of its memory and arguments",
          "[planning][replanner]") {
  const ElasticCase c = elastic_cases()[4];
  const CorrectedState end = corrected_end(c);
  Loop loop(c, c.scene, end);
  loop.replanner.set_obstacle_shift(1, {0.002, -0.001}, loop.memory);
  const Vector2d target = c.target + Vector2d(0.01, 0.015);
  loop.step(target);
  const std::vector<double> saved = loop.memory;
  std::vector<double> first(saved.size()), second(saved.size());
  const double curvature = loop.replanner.step(saved, target, first).curvature;
  // Elsewhere for a while, other obstacles, then back; and another replanner.
  loop.replanner.set_obstacle_shift(0, {-0.003, 0.0}, loop.memory);
  loop.run(c.target - Vector2d(0.02, 0.0), 10);
  CHECK(loop.replanner.step(saved, target, second).curvature == curvature);
  CHECK(first == second);
  Loop other(c, c.scene, end);
  std::vector<double> in_place = saved;
  CHECK(other.replanner.step(in_place, target, in_place).curvature == curvature);
  CHECK(in_place == first);
}

TEST_CASE("elastic replanner: work is bounded and nothing is allocated", "[planning][replanner]") {
  const ElasticCase c = elastic_cases()[3];
  Loop loop(c, c.scene, corrected_end(c));
  Random random(3);
  AllocationCounter counter;
  long settling = 0;
  for (int i = 0; i < 60; ++i) {
    // Too much at once for one step's work now and then.
    if (i % 6 == 0)
      loop.replanner.set_obstacle_shift(i / 6 % c.scene.size(), random_shift(random, 6e-3),
                                        loop.memory);
    const Replan result = loop.step(c.target + random_shift(random, 0.02));
    CHECK(result.evaluations <= loop.replanner.options().max_evaluations);
    CHECK(result.status != ReplanStatus::InvalidInput);
    settling += result.status == ReplanStatus::Settling ? 1 : 0;
  }
  CHECK(counter.count() == 0);
  CHECK(settling > 0);
}

TEST_CASE("elastic replanner: a step advances the tip by no more than asked",
          "[planning][replanner]") {
  constexpr double kSecondOrder = 1.1;  // the step is Newton's
  const ElasticCase c = elastic_cases()[0];
  Loop loop(c, c.scene, corrected_end(c));
  const Vector2d target = c.target + Vector2d(-0.03, -0.03);
  Vector2d tip = loop.step(c.target).tip.position;
  double error = (target - tip).norm();
  for (int i = 0; i < 4; ++i) {
    const Replan result = loop.step(target);
    REQUIRE(result.status == ReplanStatus::Moving);
    CHECK((result.tip.position - tip).norm() < kSecondOrder * loop.replanner.options().max_advance);
    CHECK(result.tip_error < error);
    tip = result.tip.position;
    error = result.tip_error;
  }
}

TEST_CASE("elastic replanner: the tip's rates equal differences", "[planning][replanner]") {
  constexpr double kStep = 1e-4;
  for (const ElasticCase& c : elastic_cases()) {
    DYNAMIC_SECTION(c.name) {
      Loop loop(c, c.scene, corrected_end(c));
      const Replan at = loop.step(c.target);
      REQUIRE(at.status == ReplanStatus::AtTarget);
      Matrix2d differences;
      for (int i = 0; i < 2; ++i) {
        Vector2d tips[2];
        for (const int side : {0, 1}) {
          const double change = side == 0 ? -kStep : kStep;
          std::vector<double> there(loop.memory.size());
          const Replan result =
              loop.replanner.settle(loop.memory, at.curvature + (i == 0 ? change : 0.0),
                                    at.length + (i == 1 ? change : 0.0), there);
          REQUIRE(result.status == ReplanStatus::AtTarget);
          tips[side] = result.tip.position;
        }
        differences.col(i) = (tips[1] - tips[0]) / (2.0 * kStep);
      }
      CHECK((at.jacobian - differences).norm() < 1e-4 * differences.norm());
    }
  }
}

TEST_CASE("elastic replanner: settling along the commands follows the planned feed",
          "[planning][replanner]") {
  const ElasticCase c = elastic_cases()[0];
  ElasticCorrection correction(c.scene, {}, kRod, {.path_step = 0.012});
  const auto states = correction.follow(c.plan(), c.contacts);
  REQUIRE(states.back().corrected());
  ElasticReplanner replanner(c.scene, {}, c.contacts, kRod);
  std::vector<double> memory(replanner.memory_size());
  replanner.reset(states[0].curvatures[0], states[0].length, memory);
  for (const CorrectedState& state : states) {
    Replan result;
    for (int i = 0; i < 10 && result.status != ReplanStatus::AtTarget; ++i)
      result = replanner.settle(memory, state.curvatures[0], state.length, memory);
    REQUIRE(result.status == ReplanStatus::AtTarget);
    CHECK((result.tip.position - state.tip.position).norm() < 1e-5);
    CHECK(result.contact_force == Approx(state.contact_force).epsilon(1e-3).margin(1e-4));
  }
}

TEST_CASE("elastic replanner: a planner's solution becomes contacts, actuation and commands",
          "[planning][replanner]") {
  const std::vector<ElasticCase> elastic = elastic_cases();
  const std::vector<WrapCase> wraps = wrap_cases();
  std::size_t next = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const WrapCase& c = wraps[i];
    const PlanarScene scene = c.scene();
    const auto points = c.contact_points();
    ContactPlanner planner;
    const ContactPlannerResult& result = planner.plan(scene, points, {}, c.target);
    for (const ContactSolution& solution : result.solutions) {
      CAPTURE(c.name, next);
      const ElasticCase& same = elastic[next++];
      const std::vector<PlanarArc> arcs = planned_arcs(solution.steps);
      const std::vector<PlannedContact> contacts =
          planned_contacts(solution.steps, points, kRod.body_radius);
      REQUIRE(contacts.size() == same.contacts.size());
      for (std::size_t k = 0; k < contacts.size(); ++k) {
        CHECK(contacts[k].center == same.contacts[k].center);
        CHECK(contacts[k].radius == Approx(same.contacts[k].radius));
        CHECK(contacts[k].side == same.contacts[k].side);
        CHECK(
            std::abs(scene.obstacle_distance(contact_obstacle(scene, contacts[k], kRod.body_radius),
                                             contacts[k].center) +
                     contacts[k].radius - kRod.body_radius) < 1e-12);
      }
      ElasticCorrection correction(scene, {}, kRod, {.path_step = 0.012});
      const std::vector<CorrectedState> states = correction.follow(arcs, contacts);
      REQUIRE(!states.empty());
      REQUIRE(states.back().corrected());
      const std::vector<InsertionRow> rows =
          elastic_insertion(arcs, states, {.body_radius = kRod.body_radius});
      CHECK(rows.back().length == Approx(states.back().length));
      CHECK(rows.back().curvature == Approx(states.back().curvatures[0]));
    }
  }
  CHECK(next == elastic.size());
}

TEST_CASE("elastic replanner: bad input is named and changes nothing", "[planning][replanner]") {
  const ElasticCase c = elastic_cases()[2];
  CHECK_THROWS_WITH(ElasticReplanner(c.scene, {}, {}, {}, {.max_advance = 0.0}),
                    "elastic replanner options: max_advance = 0 m, must be > 0");
  CHECK_THROWS_WITH(ElasticReplanner(c.scene, {}, {}, {}, {.max_evaluations = 3}),
                    "elastic replanner options: max_evaluations = 3, must be >= 4");
  CHECK_THROWS_WITH(ElasticReplanner(c.scene, {}, {}, {.guide_clearance = -1.0}),
                    "elastic rod options: guide_clearance = -1 m, must be >= 0");
  const ContactStep invalid{.arc = {{}, 1.0, 0.1}, .contact = 3, .side = 1};
  CHECK_THROWS_WITH(planned_contacts(std::span(&invalid, 1), {}, 0.01),
                    "planned contacts: contact 3 is not among the contact points");

  ElasticReplanner replanner(c.scene, {}, c.contacts, kRod);
  std::vector<double> memory(replanner.memory_size(), 0.0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(replanner.step(memory, c.target, memory).status == ReplanStatus::InvalidInput);
  replanner.reset(1.0, 5.0, memory);  // longer than the rod may be
  CHECK(replanner.step(memory, c.target, memory).status == ReplanStatus::InvalidInput);
  replanner.reset(CorrectedState{}, memory);
  CHECK(replanner.step(memory, c.target, memory).status == ReplanStatus::InvalidInput);
  replanner.reset(1.0, 0.2, memory);
  const std::vector<double> before = memory;
  replanner.set_obstacle_shift(0, {nan, 0.0}, memory);
  replanner.set_obstacle_shift(9, {0.001, 0.0}, memory);
  CHECK(replanner.step(memory, {nan, 0.0}, memory).status == ReplanStatus::InvalidInput);
  CHECK(replanner.settle(memory, nan, 0.2, memory).status == ReplanStatus::InvalidInput);
  CHECK(replanner.settle(memory, 1.0, 0.0, memory).status == ReplanStatus::InvalidInput);
  CHECK(memory == before);
  // A target out of reach is never reported as reached, and the body remains within its limits.
  Replan result;
  for (int i = 0; i < 200; ++i) result = replanner.step(memory, {5.0, 5.0}, memory);
  CHECK(result.status != ReplanStatus::AtTarget);
  CHECK(result.length <= kRod.max_length);
  CHECK(result.tip_error > 1.0);
}

TEST_CASE("elastic replanner: its memory is what the layout says", "[planning][replanner]") {
  const ElasticCase c = elastic_cases()[1];
  Loop loop(c, c.scene, corrected_end(c));
  const MemoryLayout& layout = loop.replanner.layout();
  CHECK(layout.is_valid(loop.memory));
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    loop.replanner.set_obstacle_shift(i % c.scene.size(), random_shift(random, 6e-3), loop.memory);
    loop.step(c.target + random_shift(random, 0.02));
    CHECK(layout.is_valid(loop.memory));
  }
  layout.reset(loop.memory);
  CHECK(loop.step(c.target).status == ReplanStatus::InvalidInput);
}

TEST_CASE("elastic replanner: whatever its memory holds, a step ends and remains inside it",
          "[planning][replanner]") {
  const ElasticCase c = elastic_cases()[1];
  const CorrectedState end = corrected_end(c);
  Loop loop(c, c.scene, end);
  const std::vector<double> intact = loop.memory;
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    loop.memory = intact;
    damage(random, loop.memory, seed % 3 == 0 ? 1.0 : (seed % 3 == 1 ? 0.1 : 0.01));
    for (int i = 0; i < 2; ++i) {
      const Replan result =
          i == 0 ? loop.step(c.target) : loop.replanner.settle(loop.memory, 1.0, 0.3, loop.memory);
      CHECK(result.evaluations <= loop.replanner.options().max_evaluations);
      accepted += result.status == ReplanStatus::InvalidInput ? 0 : 1;
    }
    (void)loop.replanner.obstacle_shift(c.scene.size() - 1, loop.memory);
  }
  CHECK(accepted > 50);  // finite numbers of any size, in any place
  loop.memory = intact;
  loop.replanner.reset(end, loop.memory);
  CHECK(loop.replanner.layout().is_valid(loop.memory));
}

}  // namespace
