#include "tendril/contact/grasp.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"

using Eigen::Vector2d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kRadius = 0.01;         // [m], of the body
constexpr double kTouchDistance = 1e-6;  // [m]
constexpr double kDegree = pi / 180.0;

const ContactPlannerOptions kOptions{.body_radius = kRadius, .max_curvature = 20.0};

PlanarScene post_scene() {
  PlanarScene scene;
  scene.add(Disc{{0.12, 0.30}, 0.05});
  return scene;
}

std::vector<Vector2d> centerline(std::span<const ContactStep> steps, double spacing) {
  std::vector<Vector2d> points;
  for (const ContactStep& step : steps) {
    const int count = static_cast<int>(std::ceil(step.arc.length / spacing));
    for (int i = 0; i < count; ++i)
      points.push_back(step.arc.pose_at(step.arc.length * i / count).position);
  }
  points.push_back(steps.back().arc.end().position);
  return points;
}

/// Nearest that any later point comes to one that it had been 2 r away from.
double sampled_self_distance(const std::vector<Vector2d>& points, double radius) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i) {
    bool away = false;
    for (std::size_t j = i; j-- > 0;) {
      const double d = (points[i] - points[j]).norm();
      away = away || d >= 2.0 * radius;
      if (away) least = std::min(least, d);
    }
  }
  return least;
}

}  // namespace

TEST_CASE("grasp: the worked case of a disc", "[planning]") {
  const PlanarScene scene = post_scene();
  GraspPlanner planner(kOptions);
  const GraspResult& result =
      planner.plan(scene, {}, {}, {.object = 0, .wrap_angle = 270 * kDegree});
  CHECK(result.status == ContactPlannerStatus::Solved);
  REQUIRE(result.solutions.size() == 2);
  struct Row {
    int side;
    double curvature, length;
  };
  for (const Row& row : {Row{1, 1.1905, 0.3316}, Row{-1, 3.5714, 0.3026}}) {
    const auto found =
        std::find_if(result.solutions.begin(), result.solutions.end(),
                     [&](const GraspSolution& s) { return s.steps[0].side == row.side; });
    REQUIRE(found != result.solutions.end());
    REQUIRE(found->steps.size() == 2);
    CHECK(found->approach_steps == 1);
    CHECK(std::abs(found->steps[0].arc.curvature - row.curvature) < 1e-4);
    CHECK(std::abs(found->steps[0].arc.length - row.length) < 1e-4);
    CHECK(found->steps[0].contact == kObjectContact);
    CHECK(found->steps[1].contact == kWrapped);
    CHECK(found->steps[1].arc.curvature == Approx(row.side * 16.6667).epsilon(1e-5));
    CHECK(found->steps[1].arc.length == Approx(0.2827).epsilon(1e-3));
    CHECK(found->wrap_angle == 270 * kDegree);
    CHECK(found->end == GraspEnd::Complete);
    CHECK(found->min_clearance >= -kTouchDistance);
    for (const Vector2d& p : centerline(found->steps, 1e-4))
      CHECK(scene.distance(p) >= kRadius - kTouchDistance);
  }
  CHECK(result.solutions[0].length < result.solutions[1].length);
  CHECK(planner.plan(scene, {}, {}, {.wrap_angle = 3.0, .side = BodySide::Negative})
            .solutions.size() == 1);
}

TEST_CASE("grasp: a wrap of the largest angle has room, a larger one has not", "[planning]") {
  const PlanarScene scene = post_scene();
  GraspPlanner planner(kOptions);
  for (const BodySide side : {BodySide::Positive, BodySide::Negative}) {
    const GraspResult& result =
        planner.plan(scene, {}, {}, {.wrap_angle = 350 * kDegree, .side = side});
    CHECK(result.status == ContactPlannerStatus::NoSolution);
    CHECK(result.refusal_counts[static_cast<std::size_t>(ContactRefusal::SelfContact)] == 1);
    const double largest = result.largest_wrap_angle;
    CHECK(largest > 280 * kDegree);
    CHECK(largest < 340 * kDegree);
    const GraspResult& fits =
        planner.plan(scene, {}, {}, {.wrap_angle = largest - 1e-6, .side = side});
    REQUIRE(fits.solutions.size() == 1);
    const auto points = centerline(fits.solutions[0].steps, 2e-4);
    CHECK(sampled_self_distance(points, kRadius) > 2 * kRadius - 1e-5);
    CHECK(planner.plan(scene, {}, {}, {.wrap_angle = largest + 1e-3, .side = side})
              .solutions.empty());
  }
}

TEST_CASE("grasp: a straight approach leaves room up to where the tip meets it", "[planning]") {
  // The tip at angle W around the circle of radius c is c (1 - cos W) from the line of approach.
  PlanarScene scene;
  scene.add(Disc{{0.06, 0.4}, 0.05});
  GraspPlanner planner(kOptions);
  const GraspResult& result =
      planner.plan(scene, {}, {}, {.wrap_angle = 359 * kDegree, .side = BodySide::Positive});
  CHECK(result.largest_wrap_angle ==
        Approx(2 * pi - std::acos(1.0 - 2 * kRadius / 0.06)).epsilon(1e-5));
}

TEST_CASE("grasp: a short body tells how far it got", "[planning]") {
  const PlanarScene scene = post_scene();
  ContactPlannerOptions options = kOptions;
  options.max_length = 0.45;
  GraspPlanner planner(options);
  const GraspResult& result = planner.plan(scene, {}, {}, {.wrap_angle = 4.0});
  REQUIRE(result.solutions.size() == 2);
  for (const GraspSolution& solution : result.solutions) {
    CHECK(solution.end == GraspEnd::LengthLimit);
    CHECK(solution.length == Approx(0.45));
    CHECK(solution.wrap_angle == Approx((0.45 - solution.steps[0].arc.length) / 0.06));
  }
}

TEST_CASE("grasp: limits and the rule refuse", "[planning]") {
  const PlanarScene scene = post_scene();
  GraspPlanner stiff({.body_radius = kRadius, .max_curvature = 15.0});
  const GraspResult& result = stiff.plan(scene, {}, {}, {.wrap_angle = 3.0});
  CHECK(result.status == ContactPlannerStatus::NoSolution);
  CHECK(result.refusal_counts[static_cast<std::size_t>(ContactRefusal::Curvature)] == 2);
  // A disc that must be approached with more curvature than its own wrap: not with one actuation.
  PlanarScene close;
  close.add(Disc{{0.13, 0.02}, 0.055});
  GraspPlanner one({.body_radius = kRadius, .max_curvature = 20.0});
  GraspPlanner two({.body_radius = kRadius, .max_curvature = 20.0, .section_count = 2});
  const GraspGoal goal{.wrap_angle = 2.0, .side = BodySide::Positive};
  const auto count = [&](GraspPlanner& planner) {
    return planner.plan(close, {}, {}, goal).solutions.size();
  };
  CHECK(count(one) <= count(two));
}

TEST_CASE("grasp: reaches the object through contacts", "[planning]") {
  PlanarScene scene = post_scene();
  scene.add(box_polygon(-0.08, 0.08, 0.12, 0.15));  // across the direct paths
  const auto contacts = contact_points_of(scene.obstacle(1));
  GraspPlanner planner(kOptions);
  const GraspResult& direct = planner.plan(scene, {}, {}, {.wrap_angle = 3.0});
  CHECK(direct.solutions.empty());
  const GraspResult& result = planner.plan(scene, contacts, {}, {.wrap_angle = 3.0});
  REQUIRE_FALSE(result.solutions.empty());
  for (const GraspSolution& solution : result.solutions) {
    CHECK(solution.approach_steps >= 2);
    CHECK(solution.steps[0].contact >= 0);
    CHECK(solution.min_clearance >= -kTouchDistance);
    CHECK(sampled_self_distance(centerline(solution.steps, 1e-3), kRadius) > 0.0);
    for (const Vector2d& p : centerline(solution.steps, 1e-4))
      CHECK(scene.distance(p) >= kRadius - kTouchDistance);
    // The rule, between all arcs.
    for (std::size_t i = 0; i < solution.steps.size(); ++i)
      for (std::size_t m = i + 1; m < solution.steps.size(); ++m)
        CHECK(solution.steps[i].side *
                  (solution.steps[m].arc.curvature - solution.steps[i].arc.curvature) >=
              -1e-9);
  }
}

TEST_CASE("grasp: goes around a polygon from corner to corner", "[planning]") {
  for (const bool reversed : {false, true}) {
    PlanarScene scene;
    Polygon box = box_polygon(0.08, 0.18, 0.25, 0.35);
    if (reversed) std::reverse(box.corners.begin(), box.corners.end());
    scene.add(box);
    ContactPlannerOptions options = kOptions;
    options.max_curvature = 60.0;
    options.section_count = 6;  // free spans bend now more, now less
    GraspPlanner planner(options);
    const GraspResult& result = planner.plan(scene, {}, {}, {.wrap_angle = 200 * kDegree});
    REQUIRE_FALSE(result.solutions.empty());
    for (const GraspSolution& solution : result.solutions) {
      CHECK(solution.wrap_angle == 200 * kDegree);
      CHECK(solution.min_clearance >= -kTouchDistance);
      double rotated = 0.0;
      const int side = solution.steps.back().side;
      for (std::size_t i = static_cast<std::size_t>(solution.approach_steps);
           i < solution.steps.size(); ++i) {
        CHECK(side * solution.steps[i].arc.curvature > 0.0);
        rotated += side * solution.steps[i].arc.bend();
      }
      CHECK(rotated == Approx(200 * kDegree));
      for (const Vector2d& p : centerline(solution.steps, 1e-4))
        CHECK(scene.distance(p) >= kRadius - kTouchDistance);
    }
  }
}

TEST_CASE("grasp: a base in an obstacle is said, bad goals are refused", "[planning]") {
  PlanarScene scene = post_scene();
  scene.add(Polygon{{{1, 0}, {3, 0}, {3, 2}, {2, 1}, {1, 2}}});
  GraspPlanner planner(kOptions);
  CHECK(planner.plan(scene, {}, {{0.12, 0.3}, 0.0}, {.wrap_angle = 3.0}).status ==
        ContactPlannerStatus::BaseInObstacle);
  CHECK_THROWS_WITH(planner.plan(scene, {}, {}, {.object = 2, .wrap_angle = 3.0}),
                    "grasp: object = 2, must be the index of an obstacle, below 2");
  CHECK_THROWS_WITH(planner.plan(scene, {}, {}, {.object = 1, .wrap_angle = 3.0}),
                    "grasp: object = 1, must be a disc or a convex polygon");
  CHECK_THROWS_WITH(planner.plan(scene, {}, {}, {.wrap_angle = 0.0}),
                    "grasp: wrap_angle = 0 rad, must be in (0, 2 pi)");
  CHECK_THROWS_WITH(
      planner.plan(scene, {}, {}, {.wrap_angle = std::numeric_limits<double>::quiet_NaN()}),
      "grasp: wrap_angle = nan rad, must be in (0, 2 pi)");
  CHECK_THROWS_WITH(GraspPlanner({.max_bend = 0}),
                    "grasp options: max_bend = 0 rad, must be in (0, 2 pi]");
}

TEST_CASE("grasp: repeated plans are the same bits", "[planning]") {
  PlanarScene scene = post_scene();
  scene.add(box_polygon(-0.08, 0.08, 0.12, 0.15));
  const auto contacts = contact_points_of(scene.obstacle(1));
  GraspPlanner planner(kOptions), fresh(kOptions);
  const auto curvatures = [&](GraspPlanner& p) {
    std::vector<double> all;
    for (const GraspSolution& s : p.plan(scene, contacts, {}, {.wrap_angle = 3.0}).solutions)
      for (const ContactStep& step : s.steps)
        all.insert(all.end(), {step.arc.curvature, step.arc.length});
    return all;
  };
  const auto first = curvatures(planner);
  CHECK(first == curvatures(planner));
  CHECK(first == curvatures(fresh));
}
