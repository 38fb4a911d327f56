#include "tendril/contact/contact_planner.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/wrap_cases.hpp"

using Eigen::Vector2d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kCurvatureTolerance = 1e-3;  // [1/m], of the reference values' digits
constexpr double kLengthTolerance = 1e-4;     // [m]
constexpr double kTouchDistance = 1e-6;       // [m], the planner's own tolerance
constexpr double kSpacing = 1e-4;             // [m], of samples along a body

struct Solution {
  std::vector<ContactStep> steps;
  double length, min_clearance;
};

std::vector<Solution> copy(const ContactPlannerResult& result) {
  std::vector<Solution> solutions;
  for (const ContactSolution& s : result.solutions)
    solutions.push_back({{s.steps.begin(), s.steps.end()}, s.length, s.min_clearance});
  return solutions;
}

bool identical(const std::vector<Solution>& a, const std::vector<Solution>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& p, const auto& q) {
    return p.length == q.length && p.min_clearance == q.min_clearance &&
           std::equal(p.steps.begin(), p.steps.end(), q.steps.begin(), q.steps.end(),
                      [](const ContactStep& s, const ContactStep& t) {
                        return s.contact == t.contact && s.side == t.side &&
                               s.arc.curvature == t.arc.curvature && s.arc.length == t.arc.length;
                      });
  });
}

/// Least distance of a body to the scene by samples of its centerline.
double sampled_clearance(const PlanarScene& scene, std::span<const ContactStep> steps,
                         double radius) {
  double least = std::numeric_limits<double>::infinity();
  for (const ContactStep& step : steps) {
    const int count = static_cast<int>(std::ceil(step.arc.length / kSpacing));
    for (int i = 0; i <= count; ++i)
      least =
          std::min(least, scene.distance(step.arc.pose_at(step.arc.length * i / count).position));
  }
  return least - radius;
}

/// Checks what every solution must be, whatever the scene.
void check_laws(const Solution& solution, const PlanarScene& scene,
                std::span<const ContactPoint> contacts, const PlanarPose& base,
                const Vector2d& target, const ContactPlannerOptions& options) {
  PlanarPose pose = base;
  double length = 0.0;
  REQUIRE_FALSE(solution.steps.empty());
  for (std::size_t i = 0; i < solution.steps.size(); ++i) {
    const ContactStep& step = solution.steps[i];
    CHECK((step.arc.start.position - pose.position).norm() < 1e-12);
    CHECK(step.arc.start.heading == Approx(pose.heading).margin(1e-12));
    CHECK(std::abs(step.arc.curvature) <= options.max_curvature * (1 + 1e-9));
    CHECK(std::abs(step.arc.bend()) <= options.max_bend * (1 + 1e-9));
    pose = step.arc.end();
    length += step.arc.length;
    if (i + 1 == solution.steps.size()) {
      CHECK(step.contact == kTargetContact);
      CHECK((pose.position - target).norm() < 1e-9);
      continue;
    }
    // The arc ends where it is nearest to the contact, and touches it on the side it says.
    const Disc& disc = contacts[static_cast<std::size_t>(step.contact)].disc;
    const Vector2d local = pose.to_local(disc.center);
    CHECK(local.x() * step.side == Approx(disc.radius + options.body_radius).margin(1e-9));
    CHECK(std::abs(local.y()) < 1e-9);
    const std::size_t last = options.rule == ContactRule::Local ? i + 2 : solution.steps.size();
    for (std::size_t m = i + 1; m < last; ++m)
      if (solution.steps[m].section == step.section)
        CHECK(step.side * (solution.steps[m].arc.curvature - step.arc.curvature) >= -1e-9);
    const bool forward = step.side * step.arc.curvature >= 0;
    CHECK(step.type == (forward ? ContactType::ForwardLimiting : ContactType::BackwardLimiting));
  }
  CHECK(length == Approx(solution.length));
  CHECK(length <= options.max_length * (1 + 1e-9));
  CHECK(sampled_clearance(scene, solution.steps, options.body_radius) >= -kTouchDistance);
  CHECK(solution.min_clearance >= -kTouchDistance);
  CHECK(solution.steps.back().section < options.section_count);
}

struct Random2d : Random {
  using Random::Random;
  Vector2d point(double x, double z_low, double z_high) {
    return {uniform(-x, x), uniform(z_low, z_high)};
  }
};

struct Problem {
  std::vector<PlanarObstacle> obstacles;
  std::vector<ContactPoint> contacts;
  Vector2d target;

  [[nodiscard]] PlanarScene scene() const {
    PlanarScene scene;
    for (const auto& o : obstacles) std::visit([&](const auto& shape) { scene.add(shape); }, o);
    return scene;
  }
};

Problem random_problem(unsigned seed) {
  Random2d random(seed);
  Problem problem;
  for (int i = random.integer(2, 4); i > 0; --i) {
    const Vector2d p = random.point(0.35, 0.15, 0.7);
    if (random.integer(0, 2) == 0) {
      problem.obstacles.emplace_back(Disc{p, random.uniform(0.02, 0.08)});
    } else {
      const double w = random.uniform(0.02, 0.1), h = random.uniform(0.02, 0.1);
      problem.obstacles.emplace_back(box_polygon(p.x() - w, p.x() + w, p.y() - h, p.y() + h));
    }
    for (const ContactPoint& c : contact_points_of(problem.obstacles.back()))
      problem.contacts.push_back(c);
  }
  problem.target = random.point(0.4, 0.4, 0.9);
  return problem;
}

}  // namespace

TEST_CASE("contact planner: the worked cases have the solutions of the reference", "[planning]") {
  for (const WrapCase& c : wrap_cases()) {
    DYNAMIC_SECTION(c.name) {
      const PlanarScene scene = c.scene();
      const auto contacts = c.contact_points();
      for (const ContactRule rule : {ContactRule::Persistent, ContactRule::Local}) {
        const ContactPlannerOptions options{.rule = rule};
        ContactPlanner planner(options);
        const ContactPlannerResult& result = planner.plan(scene, contacts, {}, c.target);
        const auto& desired = rule == ContactRule::Local ? c.local : c.persistent;
        const auto& lengths = rule == ContactRule::Local ? c.local_lengths : c.persistent_lengths;
        CHECK(result.status == ContactPlannerStatus::Solved);
        const auto solutions = copy(result);
        REQUIRE(solutions.size() == desired.size());
        for (std::size_t i = 0; i < solutions.size(); ++i) {
          REQUIRE(solutions[i].steps.size() == desired[i].size());
          for (std::size_t j = 0; j < desired[i].size(); ++j) {
            const ContactStep& step = solutions[i].steps[j];
            CHECK(step.contact == desired[i][j].contact);
            CHECK(step.side == desired[i][j].side);
            CHECK(std::abs(step.arc.curvature - desired[i][j].curvature) < kCurvatureTolerance);
            CHECK(std::abs(step.arc.length - desired[i][j].length) < kLengthTolerance);
          }
          CHECK(std::abs(solutions[i].length - lengths[i]) < kLengthTolerance);
          check_laws(solutions[i], scene, contacts, {}, c.target, options);
        }
        // Unsolvable without contact.
        CHECK(ContactPlanner(options).plan(scene, {}, {}, c.target).status ==
              ContactPlannerStatus::NoSolution);
      }
    }
  }
}

TEST_CASE("contact planner: the counts do not hang on the body's radius or its largest curvature",
          "[planning]") {
  for (const WrapCase& c : wrap_cases()) {
    if (c.name == "case 4") continue;  // built to tell the rules apart, not to be robust
    DYNAMIC_SECTION(c.name) {
      for (const double radius : {0.0, 1e-6, 0.008, 0.009, 0.011})
        CHECK(ContactPlanner({.body_radius = radius})
                  .plan(c.scene(), c.contact_points(), {}, c.target)
                  .solutions.size() == c.persistent.size());
      for (const double k : {0.97, 1.03})
        CHECK(ContactPlanner({.max_curvature = 15.0 * k})
                  .plan(c.scene(), c.contact_points(), {}, c.target)
                  .solutions.size() == c.persistent.size());
    }
  }
}

TEST_CASE("contact planner: laws of every solution, in random scenes", "[planning]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  const Problem problem = random_problem(seed);
  const PlanarScene scene = problem.scene();
  std::size_t persistent = 0;
  for (const ContactRule rule : {ContactRule::Persistent, ContactRule::Local}) {
    const ContactPlannerOptions options{.rule = rule};
    ContactPlanner planner(options);
    const ContactPlannerResult& result = planner.plan(scene, problem.contacts, {}, problem.target);
    const auto solutions = copy(result);
    for (const Solution& solution : solutions)
      check_laws(solution, scene, problem.contacts, {}, problem.target, options);
    for (std::size_t i = 1; i < solutions.size(); ++i) {
      CHECK(solutions[i - 1].steps.size() <= solutions[i].steps.size());
      if (solutions[i - 1].steps.size() == solutions[i].steps.size())
        CHECK(solutions[i - 1].length <= solutions[i].length + 1e-9);
    }
    if (rule == ContactRule::Persistent) persistent = solutions.size();
    if (rule == ContactRule::Local) CHECK(solutions.size() >= persistent);
    // Every refused arc has its reason, and the counts add up.
    long refused = 0;
    for (const long count : result.refusal_counts) refused += count;
    if (result.status == ContactPlannerStatus::Solved ||
        result.status == ContactPlannerStatus::NoSolution)
      CHECK(static_cast<long>(result.refused.size()) == std::min(refused, 2000L));
    for (const RefusedArc& arc : result.refused) {
      CHECK((arc.reason == ContactRefusal::Obstacle) == (arc.obstacle >= 0));
      if (arc.reason == ContactRefusal::Obstacle)
        CHECK(scene.clearance(arc.arc, options.body_radius) < -options.tolerance);
      if (arc.reason == ContactRefusal::Curvature) CHECK(std::abs(arc.arc.curvature) > 15.0);
      if (arc.reason == ContactRefusal::Bend) CHECK(std::abs(arc.arc.bend()) > pi);
      const auto chain = planner.chain_steps(arc.chain);
      if (!chain.empty())
        CHECK((chain.back().arc.end().position - arc.arc.start.position).norm() < 1e-12);
    }
  }
}

TEST_CASE("contact planner: a mirrored scene has the mirrored solutions", "[planning]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  const Problem problem = random_problem(seed);
  Problem mirrored = problem;
  mirrored.target.x() *= -1;
  for (auto& obstacle : mirrored.obstacles) {
    if (Disc* disc = std::get_if<Disc>(&obstacle)) disc->center.x() *= -1;
    if (Polygon* polygon = std::get_if<Polygon>(&obstacle))
      for (Vector2d& corner : polygon->corners) corner.x() *= -1;
  }
  for (ContactPoint& contact : mirrored.contacts) contact.disc.center.x() *= -1;
  ContactPlanner planner, other;
  const auto a = copy(planner.plan(problem.scene(), problem.contacts, {}, problem.target));
  const auto b = copy(other.plan(mirrored.scene(), mirrored.contacts, {}, mirrored.target));
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].length == Approx(b[i].length));
    for (std::size_t j = 0; j < a[i].steps.size(); ++j) {
      CHECK(a[i].steps[j].contact == b[i].steps[j].contact);
      CHECK(a[i].steps[j].side == -b[i].steps[j].side);
      CHECK(a[i].steps[j].arc.curvature == Approx(-b[i].steps[j].arc.curvature).margin(1e-9));
    }
  }
}

TEST_CASE("contact planner: the order of obstacles and contacts does not matter", "[planning]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  const Problem problem = random_problem(seed);
  Problem rotated = problem;
  std::reverse(rotated.obstacles.begin(), rotated.obstacles.end());
  std::reverse(rotated.contacts.begin(), rotated.contacts.end());
  const int last = static_cast<int>(problem.contacts.size()) - 1;
  for (const int budget : {200'000, 40}) {  // a search that is cut short too
    ContactPlanner planner({.max_arcs = budget}), other({.max_arcs = budget});
    const ContactPlannerResult& result =
        planner.plan(problem.scene(), problem.contacts, {}, problem.target);
    const auto a = copy(result);
    const ContactPlannerResult& turned_result =
        other.plan(rotated.scene(), rotated.contacts, {}, rotated.target);
    auto b = copy(turned_result);
    for (Solution& solution : b)
      for (ContactStep& step : solution.steps)
        if (step.contact >= 0) step.contact = last - step.contact;
    CHECK(identical(a, b));
    CHECK(result.status == turned_result.status);
    CHECK(result.refusal_counts == turned_result.refusal_counts);
    REQUIRE(result.refused.size() == turned_result.refused.size());
    const int obstacles = static_cast<int>(problem.obstacles.size());
    for (std::size_t i = 0; i < result.refused.size(); ++i)
      if (result.refused[i].obstacle >= 0)
        CHECK(result.refused[i].obstacle == obstacles - 1 - turned_result.refused[i].obstacle);
  }
}

TEST_CASE("contact planner: repeated plans are the same bits and allocate nothing", "[planning]") {
  const auto cases = wrap_cases();
  ContactPlanner planner;
  const PlanarScene scene = cases[0].scene(), between = cases[1].scene();
  const auto contacts = cases[0].contact_points(), fewer = cases[1].contact_points();
  const auto first = copy(planner.plan(scene, contacts, {}, cases[0].target));
  planner.plan(between, fewer, {}, cases[1].target);
  const AllocationCounter counter;
  const ContactPlannerResult& result = planner.plan(scene, contacts, {}, cases[0].target);
  const long allocations = counter.count();
  CHECK(allocations == 0);
  CHECK(identical(first, copy(result)));
}

TEST_CASE("contact planner: a rotated and moved world has the same solution", "[planning]") {
  const auto cases = wrap_cases();
  const WrapCase& c = cases[2];
  const PlanarPose base{{1.0, -2.0}, 0.7};
  PlanarScene scene;
  for (const auto& b : c.boxes) {
    Polygon box = box_polygon(b[0], b[1], b[2], b[3]);
    for (Vector2d& corner : box.corners) corner = base.to_world(corner);
    scene.add(box);
  }
  for (const Disc& disc : c.discs) scene.add(Disc{base.to_world(disc.center), disc.radius});
  auto contacts = c.contact_points();
  for (ContactPoint& contact : contacts) contact.disc.center = base.to_world(contact.disc.center);
  ContactPlanner planner;
  const ContactPlannerResult& result = planner.plan(scene, contacts, base, base.to_world(c.target));
  REQUIRE(result.solutions.size() == 1);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(std::abs(result.solutions[0].steps[i].arc.curvature - c.persistent[0][i].curvature) <
          kCurvatureTolerance);
    CHECK(std::abs(result.solutions[0].steps[i].arc.length - c.persistent[0][i].length) <
          kLengthTolerance);
  }
}

TEST_CASE("contact planner: base or target in an obstacle is said", "[planning]") {
  for (const WrapCase& c : wrap_cases()) {
    DYNAMIC_SECTION(c.name) {
      const auto& b = c.boxes[0];
      const Vector2d inside(0.5 * (b[0] + b[1]), 0.5 * (b[2] + b[3]));
      ContactPlanner planner;
      const ContactPlannerResult& target = planner.plan(c.scene(), c.contact_points(), {}, inside);
      CHECK(target.status == ContactPlannerStatus::TargetInObstacle);
      CHECK(target.solutions.empty());
      const ContactPlannerResult& base =
          planner.plan(c.scene(), c.contact_points(), {inside}, c.target);
      CHECK(base.status == ContactPlannerStatus::BaseInObstacle);
      CHECK(base.solutions.empty());
    }
  }
  PlanarScene scene;  // touching is free
  scene.add(Disc{{0.1, 0.0}, 0.09});
  scene.add(Disc{{-0.1, 0.5}, 0.09});
  CHECK(ContactPlanner().plan(scene, {}, {}, {0.0, 0.5}).status == ContactPlannerStatus::Solved);
}

TEST_CASE("contact planner: a free path is a solution without contacts, unless contact is required",
          "[planning]") {
  const PlanarScene empty;
  const std::vector<ContactPoint> disc{{.disc = {{0.05, 0.2}, 0.02}}};
  ContactPlanner planner;
  const ContactPlannerResult& free = planner.plan(empty, {}, {}, {0.1, 0.4});
  REQUIRE(free.solutions.size() == 1);
  CHECK(free.solutions[0].steps.size() == 1);
  CHECK(std::isinf(free.solutions[0].min_clearance));
  CHECK(free.deepest.empty());
  CHECK(planner.plan(empty, disc, {}, {0.1, 0.4}).solutions[0].steps.size() == 1);
  ContactPlanner braced({.min_contacts = 1});
  for (const ContactSolution& solution : braced.plan(empty, disc, {}, {0.1, 0.4}).solutions)
    CHECK(solution.steps.size() == 2);
  CHECK(braced.plan(empty, {}, {}, {0.1, 0.4}).status == ContactPlannerStatus::NoSolution);
}

TEST_CASE("contact planner: targets and contacts straight ahead and behind", "[planning]") {
  const PlanarScene empty;
  ContactPlanner planner;
  const ContactPlannerResult& ahead = planner.plan(empty, {}, {}, {0.0, 0.5});
  REQUIRE(ahead.solutions.size() == 1);
  CHECK(ahead.solutions[0].steps[0].arc.curvature == 0.0);
  const ContactPlannerResult& behind = planner.plan(empty, {}, {}, {0.2, -0.1});
  CHECK(behind.status == ContactPlannerStatus::NoSolution);
  REQUIRE(behind.refused.size() == 1);
  CHECK(behind.refused[0].reason == ContactRefusal::Bend);
  ContactPlanner curling({.max_bend = 2.0 * pi});
  CHECK(curling.plan(empty, {}, {}, {0.2, -0.1}).status == ContactPlannerStatus::Solved);
  CHECK(curling.plan(empty, {}, {}, {0.0, -0.1}).refused[0].reason == ContactRefusal::NoArc);
  CHECK(curling.plan(empty, {}, {}, {0.0, 0.0}).refused[0].reason == ContactRefusal::NoArc);
  // A contact on the base axis, radius 0 and a body without radius: a straight arc.
  const std::vector<ContactPoint> point{{.disc = {{0.0, 0.2}, 0.0}}};
  ContactPlanner line({.body_radius = 0.0, .min_contacts = 1});
  for (const ContactSolution& solution : line.plan(empty, point, {}, {0.1, 0.4}).solutions)
    CHECK(solution.steps[0].arc.curvature == 0.0);
  // Around the base: skipped.
  const std::vector<ContactPoint> around{{.disc = {{0.01, 0.0}, 0.05}}};
  CHECK(planner.plan(empty, around, {}, {0.1, 0.4}).refusal_counts[0] == 2);
}

TEST_CASE("contact planner: a contact listed twice counts once", "[planning]") {
  const auto cases = wrap_cases();
  for (const WrapCase& c : cases) {
    auto contacts = c.contact_points();
    const std::size_t count = contacts.size();
    for (std::size_t i = 0; i < count; ++i) {
      contacts.push_back(contacts[i]);
      contacts.back().disc.center.x() += 0.9e-9 * (i % 2 == 0 ? 1 : -1);
    }
    ContactPlanner planner;
    const auto once = copy(planner.plan(c.scene(), c.contact_points(), {}, c.target));
    const auto twice = copy(planner.plan(c.scene(), contacts, {}, c.target));
    REQUIRE(once.size() == twice.size());
    for (std::size_t i = 0; i < once.size(); ++i)
      for (std::size_t j = 0; j < once[i].steps.size(); ++j)
        CHECK(once[i].steps[j].contact == twice[i].steps[j].contact);
  }
}

TEST_CASE("contact planner: both solutions of a mirror scene are there, in a fixed order",
          "[planning]") {
  PlanarScene scene;
  scene.add(box_polygon(-0.1, 0.1, 0.3, 0.4));
  const auto contacts = contact_points_of(scene.obstacle(0));
  REQUIRE(contacts.size() == 4);
  ContactPlanner planner;
  const auto solutions = copy(planner.plan(scene, contacts, {}, {0.0, 0.6}));
  REQUIRE(solutions.size() >= 2);
  CHECK(solutions.size() % 2 == 0);
  CHECK(solutions[0].length == Approx(solutions[1].length).epsilon(1e-12));
  CHECK(solutions[0].steps[0].contact < solutions[1].steps[0].contact);
}

TEST_CASE("contact planner: separate sections are free of the rule between them", "[planning]") {
  const auto seed = GENERATE(range(0u, 30u));
  CAPTURE(seed);
  const Problem problem = random_problem(seed);
  const PlanarScene scene = problem.scene();
  std::size_t fewer = 0;
  for (const int sections : {1, 2, 3}) {
    const ContactPlannerOptions options{.section_count = sections};
    ContactPlanner planner(options);
    const auto solutions = copy(planner.plan(scene, problem.contacts, {}, problem.target));
    CHECK(solutions.size() >= fewer);  // what fewer sections can do, more can
    fewer = solutions.size();
    for (const Solution& solution : solutions) {
      check_laws(solution, scene, problem.contacts, {}, problem.target, options);
      for (std::size_t i = 1; i < solution.steps.size(); ++i) {
        const int step = solution.steps[i].section - solution.steps[i - 1].section;
        CHECK((step == 0 || step == 1));
      }
    }
  }
}

TEST_CASE("contact planner: with two sections the persistent rule lets case 4's second path pass",
          "[planning]") {
  const auto cases = wrap_cases();
  const WrapCase& c = cases[3];
  ContactPlanner planner({.section_count = 2});
  const auto solutions = copy(planner.plan(c.scene(), c.contact_points(), {}, c.target));
  CHECK(std::any_of(solutions.begin(), solutions.end(), [](const Solution& s) {
    return s.steps.size() == 3 && s.steps[0].contact == 0 && s.steps[1].contact == 7 &&
           s.steps[2].section == 1;
  }));
}

TEST_CASE("contact planner: contact may be desired at a place on the surface", "[planning]") {
  const auto cases = wrap_cases();
  const WrapCase& c = cases[2];
  auto contacts = c.contact_points();
  ContactPlanner planner;
  const ContactPlannerResult& free = planner.plan(c.scene(), contacts, {}, c.target);
  const PlanarPose end = free.solutions[0].steps[0].arc.end();
  const Vector2d touch = end.position + 0.01 * -1.0 * end.lateral();  // the disc is on side -1
  contacts[4].desired = touch + Vector2d(0.004, 0.0);
  contacts[4].slack = 0.005;
  CHECK(planner.plan(c.scene(), contacts, {}, c.target).solutions.size() == 1);
  contacts[4].slack = 0.003;
  const ContactPlannerResult& refused = planner.plan(c.scene(), contacts, {}, c.target);
  CHECK(refused.solutions.empty());
  CHECK(refused.refusal_counts[static_cast<std::size_t>(ContactRefusal::Slack)] > 0);
}

TEST_CASE("contact planner: the budget ends a search as Partial", "[planning]") {
  const auto cases = wrap_cases();
  const WrapCase& c = cases[0];
  ContactPlanner short_of_arcs({.max_arcs = 30});
  const ContactPlannerResult& arcs =
      short_of_arcs.plan(c.scene(), c.contact_points(), {}, c.target);
  CHECK(arcs.status == ContactPlannerStatus::Partial);
  CHECK(arcs.arcs_tried <= 31);
  ContactPlanner short_of_chains({.max_chains = 2});
  CHECK(short_of_chains.plan(c.scene(), c.contact_points(), {}, c.target).status ==
        ContactPlannerStatus::Partial);
  ContactPlanner short_of_solutions({.max_solutions = 1});
  const ContactPlannerResult& one =
      short_of_solutions.plan(c.scene(), c.contact_points(), {}, c.target);
  CHECK(one.status == ContactPlannerStatus::Partial);
  CHECK(one.solutions.size() == 1);
  CHECK(one.solutions[0].length == Approx(0.8786).margin(kLengthTolerance));

  Random2d random(1);
  std::vector<ContactPoint> many;
  for (int i = 0; i < 10'000; ++i) many.push_back({.disc = {random.point(0.5, 0.0, 1.0), 0.0}});
  ContactPlanner planner({.max_arcs = 50'000});
  const ContactPlannerResult& partial = planner.plan(c.scene(), many, {}, c.target);
  CHECK(partial.status == ContactPlannerStatus::Partial);
  CHECK(partial.arcs_tried <= 50'001);
}

TEST_CASE(
    "contact planner: the pruned search has the solutions of the exhaustive one in the worked "
    "cases",
    "[planning]") {
  for (const WrapCase& c : wrap_cases()) {
    for (const ContactRule rule : {ContactRule::Persistent, ContactRule::Local}) {
      CAPTURE(c.name, to_string(rule));
      ContactPlanner exhaustive({.rule = rule});
      ContactPlanner pruned({.rule = rule, .search = ContactSearch::Pruned});
      const auto all = copy(exhaustive.plan(c.scene(), c.contact_points(), {}, c.target));
      const ContactPlannerResult& result = pruned.plan(c.scene(), c.contact_points(), {}, c.target);
      CHECK(result.status == ContactPlannerStatus::Solved);
      const auto same = copy(result);
      REQUIRE(same.size() == all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(same[i].length == all[i].length);
        REQUIRE(same[i].steps.size() == all[i].steps.size());
        for (std::size_t k = 0; k < all[i].steps.size(); ++k) {
          CHECK(same[i].steps[k].contact == all[i].steps[k].contact);
          CHECK(same[i].steps[k].side == all[i].steps[k].side);
        }
      }
    }
  }
}

TEST_CASE("contact planner: what the pruned search finds is found by the exhaustive one too",
          "[planning]") {
  // And it loses no target that can be reached, and its shortest path is as short up to the angle
  // that dominance allows.
  constexpr double kLonger = 1.02;
  int solved = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_problem(seed);
    const PlanarScene scene = problem.scene();
    ContactPlanner exhaustive, pruned({.search = ContactSearch::Pruned});
    const auto all = copy(exhaustive.plan(scene, problem.contacts, {}, problem.target));
    const auto some = copy(pruned.plan(scene, problem.contacts, {}, problem.target));
    CHECK(some.size() <= all.size());
    CHECK(some.empty() == all.empty());
    for (const Solution& solution : some) {
      check_laws(solution, scene, problem.contacts, {}, problem.target, {});
      CHECK(std::any_of(all.begin(), all.end(), [&](const Solution& s) {
        if (s.steps.size() != solution.steps.size()) return false;
        for (std::size_t k = 0; k < s.steps.size(); ++k)
          if (s.steps[k].contact != solution.steps[k].contact ||
              s.steps[k].side != solution.steps[k].side)
            return false;
        return true;
      }));
    }
    if (some.empty()) continue;
    ++solved;
    const auto shortest = [](const std::vector<Solution>& list) {
      double least = list[0].length;
      for (const Solution& s : list) least = std::min(least, s.length);
      return least;
    };
    CHECK(shortest(some) <= kLonger * shortest(all));
  }
  CHECK(solved > 20);
}

TEST_CASE(
    "contact planner: the pruned search finds paths among ten thousand points within its budget",
    "[planning]") {
  const WrapCase c = wrap_cases()[0];
  Random2d random(1);
  std::vector<ContactPoint> many = c.contact_points();
  while (many.size() < 10'000) many.push_back({.disc = {random.point(0.5, 0.0, 1.0), 0.0}});
  const ContactPlannerOptions options{.search = ContactSearch::Pruned, .max_refusals = 0};
  ContactPlanner planner(options), again(options);
  const ContactPlannerResult& result = planner.plan(c.scene(), many, {}, c.target);
  CHECK(result.status == ContactPlannerStatus::Partial);
  CHECK(result.arcs_tried <= options.max_arcs);
  REQUIRE_FALSE(result.solutions.empty());
  const auto solutions = copy(result);
  const auto same = copy(again.plan(c.scene(), many, {}, c.target));
  REQUIRE(same.size() == solutions.size());
  for (std::size_t i = 0; i < same.size(); ++i) CHECK(same[i].length == solutions[i].length);
}

TEST_CASE("contact planner: overlapping obstacles are their union", "[planning]") {
  const auto cases = wrap_cases();
  for (const WrapCase& c : cases) {
    CAPTURE(c.name);
    PlanarScene once = c.scene(), twice = c.scene();
    for (int i = 0; i < once.size(); ++i)
      std::visit([&](const auto& shape) { twice.add(shape); }, once.obstacle(i));
    for (const auto& b : c.boxes) {  // halves that overlap make the same box
      const double middle = 0.5 * (b[0] + b[1]), over = 0.1 * (b[1] - b[0]);
      twice.add(box_polygon(b[0], middle + over, b[2], b[3]));
      twice.add(box_polygon(middle - over, b[1], b[2], b[3]));
    }
    ContactPlanner planner;
    const auto solutions = copy(planner.plan(once, c.contact_points(), {}, c.target));
    const auto same = copy(planner.plan(twice, c.contact_points(), {}, c.target));
    REQUIRE(same.size() == solutions.size());
    for (std::size_t i = 0; i < same.size(); ++i)
      CHECK(same[i].length == Approx(solutions[i].length).epsilon(1e-12));
  }
}

TEST_CASE(
    "contact planner: contact points inside obstacles or each other give no path and no error",
    "[planning]") {
  const auto cases = wrap_cases();
  const WrapCase& c = cases[0];
  ContactPlanner planner;
  const auto solutions = copy(planner.plan(c.scene(), c.contact_points(), {}, c.target));
  auto contacts = c.contact_points();
  contacts.push_back({.disc = {{-0.07, 0.42}, 0.0}});   // in a box
  contacts.push_back({.disc = {{-0.07, 0.42}, 0.03}});  // a disc in a box, about the point before
  contacts.push_back({.disc = {{0.0, 0.0}, 0.0}});      // at the base
  const ContactPlannerResult& result = planner.plan(c.scene(), contacts, {}, c.target);
  CHECK(result.status == ContactPlannerStatus::Solved);
  REQUIRE(result.solutions.size() == solutions.size());
  for (const ContactSolution& solution : result.solutions)
    for (const ContactStep& step : solution.steps) CHECK(step.contact < 8);
  CHECK(result.refusal_counts[static_cast<std::size_t>(ContactRefusal::InsideContact)] > 0);
  CHECK(result.refusal_counts[static_cast<std::size_t>(ContactRefusal::Obstacle)] > 0);
}

TEST_CASE("contact planner: without a solution the deepest chain and the reasons are there",
          "[planning]") {
  const auto cases = wrap_cases();
  WrapCase c = cases[0];
  c.target = {0.35, 0.90};
  ContactPlanner planner({.max_length = 0.7});
  const ContactPlannerResult& result = planner.plan(c.scene(), c.contact_points(), {}, c.target);
  CHECK(result.status == ContactPlannerStatus::NoSolution);
  CHECK_FALSE(result.deepest.empty());
  CHECK_FALSE(result.refused.empty());
}

TEST_CASE("contact planner: only convex corners are contact points of a polygon", "[planning]") {
  const Polygon angle{{{0, 0}, {2, 0}, {2, 2}, {1, 2}, {1, 1}, {0, 1}}};
  auto corners = contact_points_of(angle);
  CHECK(corners.size() == 5);
  for (const ContactPoint& p : corners) CHECK(p.disc.center != Vector2d(1, 1));
  Polygon reversed = angle;
  std::reverse(reversed.corners.begin(), reversed.corners.end());
  CHECK(contact_points_of(reversed).size() == 5);
  CHECK(contact_points_of(Disc{{1, 2}, 3}).at(0).disc.radius == 3);
}

TEST_CASE("contact planner: refusals name field, value and what is allowed", "[planning]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(ContactPlanner({.body_radius = -1}),
                    "contact planner options: body_radius = -1 m, must be in [0, 1e9]");
  CHECK_THROWS_WITH(ContactPlanner({.max_curvature = 0}),
                    "contact planner options: max_curvature = 0 1/m, must be in (0, 1e9]");
  CHECK_THROWS_WITH(ContactPlanner({.max_bend = 7}),
                    "contact planner options: max_bend = 7 rad, must be in (0, 2 pi]");
  CHECK_THROWS_WITH(ContactPlanner({.max_length = nan}),
                    "contact planner options: max_length = nan m, must be in (0, 1e9]");
  CHECK_THROWS_WITH(ContactPlanner({.tolerance = 0}),
                    "contact planner options: tolerance = 0 m, must be in (0, 0.001]");
  CHECK_THROWS_WITH(ContactPlanner({.section_count = 0}),
                    "contact planner options: section_count = 0, must be >= 1");
  CHECK_THROWS_WITH(ContactPlanner({.max_arcs = 0}),
                    "contact planner options: max_arcs = 0, must be >= 1");
  ContactPlanner planner;
  const PlanarScene empty;
  CHECK_THROWS_WITH(planner.plan(empty, {}, {}, {nan, 0.0}),
                    "contact planner: target = (nan, 0) m, must be finite and within 1e9 m");
  CHECK_THROWS_WITH(planner.plan(empty, {}, {{nan, 0.0}, 0.0}, {0.0, 1.0}),
                    "contact planner: base = (nan, 0) m, must be finite and within 1e9 m");
  CHECK_THROWS_WITH(planner.plan(empty, {}, {{0.0, 0.0}, nan}, {0.0, 1.0}),
                    "contact planner: base: heading = nan rad, must be in [-1e9, 1e9]");
  const std::vector<ContactPoint> bad{{.disc = {{0, 0}, 0}}, {.disc = {{0, 0}, -1}}};
  CHECK_THROWS_WITH(planner.plan(empty, bad, {}, {0.0, 1.0}),
                    "contact planner: contact 1: radius = -1 m, must be in [0, 1e9]");
}
