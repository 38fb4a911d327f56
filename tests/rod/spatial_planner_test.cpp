#include "tendril/rod/spatial_planner.hpp"

#include <catch2/catch.hpp>

#include "tendril/model_error.hpp"
#include "tests/support/contact_queries.hpp"

using namespace tendril;
using Eigen::Vector3d;

namespace {

constexpr double kTipTolerance = 1.01e-4;  // that of the planner, and rounding [m]
constexpr double kImbalance = 1e-4;        // moments over EI, by differences [1/m]

const SpatialBody kBody{.sections = {{.length = 0.6}}};

}  // namespace

TEST_CASE("spatial planner: poses of a plan are balanced, do not overlap and follow each other",
          "[planning]") {
  constexpr int kQueries = 36, kAtLeast = 34;  // measured: docs/results/benchmarks.md
  int reached = 0;
  for (int i = 0; i < kQueries; ++i) {
    CAPTURE(i);
    const test::ContactQuery query =
        test::contact_query(static_cast<std::uint64_t>(500 + i), i % 3 + 1, i % 2 == 1);
    SpatialPlanner planner(query.body, query.obstacles);
    const SpatialPlan plan = planner.plan(query.target);
    CHECK(plan.equilibria <= SpatialPlannerOptions().max_equilibria + 1);
    if (!plan.reached()) continue;
    ++reached;
    const test::PlanErrors errors = test::plan_errors(query, plan, planner.rod());
    CHECK(errors.tip <= kTipTolerance);
    CHECK(errors.penetration <= 0.0);
    CHECK(errors.imbalance <= kImbalance);
    CHECK(errors.limits <= 1e-9);
    CHECK(errors.motion <= 3.0 * SpatialPlannerOptions().path_step + 1e-9);
  }
  CHECK(reached >= kAtLeast);
}

TEST_CASE("spatial planner: the same query has the same plan, bit for bit", "[planning]") {
  const test::ContactQuery query = test::contact_query(7, 1, true);
  SpatialPlanner planner(query.body, query.obstacles);
  const SpatialPlan first = planner.plan(query.target), again = planner.plan(query.target);
  REQUIRE(first.poses.size() == again.poses.size());
  for (std::size_t i = 0; i < first.poses.size(); ++i)
    CHECK(first.poses[i].actuation == again.poses[i].actuation);
}

TEST_CASE("spatial planner: a target that no plan can reach is named", "[planning]") {
  const Obstacles ball({sphere_at({0.0, 0.1, 0.3}, 0.05)});
  SpatialPlanner planner(kBody, ball);
  CHECK(planner.plan({0.0, 0.0, 0.7}).status == SpatialPlannerStatus::OutOfReach);
  CHECK(planner.plan({0.0, 0.12, 0.3}).status == SpatialPlannerStatus::TargetInObstacle);
  SpatialPlanner inside(kBody, Obstacles({sphere_at({0.0, 0.0, 0.03}, 0.02)}));
  CHECK(inside.plan({0.1, 0.0, 0.3}).status == SpatialPlannerStatus::StartInObstacle);
  CHECK(inside.plan({0.1, 0.0, 0.3}).poses.empty());
  SpatialPlanner small(kBody, ball, {.max_equilibria = 2});
  const SpatialPlan nearest = small.plan({0.1, 0.0, 0.3});
  CHECK(nearest.status == SpatialPlannerStatus::NotReached);
  CHECK(!nearest.poses.empty());
}

TEST_CASE("spatial planner: options outside their ranges are refused by name", "[planning]") {
  CHECK_THROWS_WITH(SpatialPlanner(kBody, {}, {.path_step = 0.0}),
                    Catch::Contains("path_step = 0 m, must be > 0"));
  CHECK_THROWS_AS(SpatialPlanner(kBody, {}, {.max_equilibria = 0}), ModelError);
}
