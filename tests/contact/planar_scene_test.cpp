#include "tendril/contact/planar_scene.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector2d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kDepthTolerance = 2e-7;  // [m]; stated as 1e-7, and the sampling's own

Vector2d random_point(Random& random, double size) {
  return {random.uniform(-size, size), random.uniform(-size, size)};
}

/// A star: corners at growing angles, so that edges never cross; mostly not convex.
Polygon random_polygon(Random& random) {
  const Vector2d center = random_point(random, 0.8);
  const int corners = random.integer(3, 9);
  Polygon polygon;
  for (int i = 0; i < corners; ++i) {
    const double angle = 2.0 * pi * (i + random.uniform(0.1, 0.9)) / corners;
    polygon.corners.push_back(center + random.uniform(0.03, 0.3) *
                                           Vector2d(std::cos(angle), std::sin(angle)));
  }
  if (random.integer(0, 1) == 1) std::reverse(polygon.corners.begin(), polygon.corners.end());
  return polygon;
}

std::vector<PlanarObstacle> random_obstacles(Random& random, int count) {
  std::vector<PlanarObstacle> obstacles;
  for (int i = 0; i < count; ++i) {
    if (random.integer(0, 1) == 0) {
      obstacles.emplace_back(Disc{random_point(random, 0.8), random.uniform(0.0, 0.2)});
    } else {
      obstacles.emplace_back(random_polygon(random));
    }
  }
  return obstacles;
}

PlanarScene scene_of(const std::vector<PlanarObstacle>& obstacles) {
  PlanarScene scene;
  for (const PlanarObstacle& obstacle : obstacles)
    std::visit([&](const auto& shape) { scene.add(shape); }, obstacle);
  return scene;
}

/// Signed distance by the angles under which the edges are seen (winding) and by sampled edges.
double oracle_distance(const PlanarObstacle& obstacle, const Vector2d& p) {
  if (const Disc* disc = std::get_if<Disc>(&obstacle))
    return (p - disc->center).norm() - disc->radius;
  const auto& corners = std::get<Polygon>(obstacle).corners;
  double turn = 0.0, least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Vector2d a = corners[i], b = corners[(i + 1) % corners.size()];
    turn += std::atan2((a - p).x() * (b - p).y() - (a - p).y() * (b - p).x(), (a - p).dot(b - p));
    const double share = std::clamp((p - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
    least = std::min(least, (p - a - share * (b - a)).norm());
  }
  return std::abs(turn) > pi ? -least : least;
}

PlanarArc random_arc(Random& random) {
  return {{random_point(random, 0.8), random.angle()},
          random.integer(0, 3) == 0 ? 0.0 : random.uniform(-8.0, 8.0),
          random.uniform(0.01, 1.0)};
}

/// Least signed distance along the arc by samples, refined around the best of them.
double sampled_clearance(const std::vector<PlanarObstacle>& obstacles, const PlanarArc& arc) {
  const auto distance = [&](double s) {
    double d = std::numeric_limits<double>::infinity();
    for (const auto& obstacle : obstacles)
      d = std::min(d, oracle_distance(obstacle, arc.pose_at(s).position));
    return d;
  };
  constexpr int kSamples = 2000;
  double best = std::numeric_limits<double>::infinity(), at = 0.0;
  for (int i = 0; i <= kSamples; ++i) {
    const double s = arc.length * i / kSamples;
    if (const double d = distance(s); d < best) best = d, at = s;
  }
  for (double step = arc.length / kSamples; step > 1e-10; step /= 2) {
    for (const double s : {at - step, at + step}) {
      if (s < 0.0 || s > arc.length) continue;
      if (const double d = distance(s); d < best) best = d, at = s;
    }
  }
  return best;
}

}  // namespace

TEST_CASE("planar scene: distances and gradients of points", "[planning]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const auto obstacles = random_obstacles(random, random.integer(1, 5));
  const PlanarScene scene = scene_of(obstacles);
  for (int i = 0; i < 20; ++i) {
    const Vector2d p = random_point(random, 1.0);
    double oracle = std::numeric_limits<double>::infinity();
    for (const auto& obstacle : obstacles) oracle = std::min(oracle, oracle_distance(obstacle, p));
    Vector2d gradient;
    const double d = scene.distance(p, &gradient);
    CHECK(std::abs(d - oracle) < kAlgebraTolerance);
    CHECK(scene.distance(p) == d);
    CHECK(std::abs(gradient.norm() - 1.0) < kAlgebraTolerance);
    // Along the gradient the distance grows as fast as the distance traveled (a ridge may come
    // between).
    const double step = 1e-7;
    const double there = scene.distance(p + step * gradient);
    const double here = scene.distance(p - step * gradient);
    if (std::abs((there - d) - (d - here)) < 1e-10)
      CHECK((there - here) == Approx(2 * step).epsilon(1e-4));
  }
}

TEST_CASE("planar scene: the gradient on an outline points out of it", "[planning]") {
  Polygon box = box_polygon(0.0, 1.0, 0.0, 2.0);
  for (int rotated = 0; rotated < 2; ++rotated) {
    PlanarScene scene;
    scene.add(box);
    Vector2d gradient;
    CHECK(scene.distance({1.0, 1.0}, &gradient) == 0.0);
    CHECK(gradient == Vector2d(1.0, 0.0));
    CHECK(scene.distance({0.5, 0.0}, &gradient) == 0.0);
    CHECK(gradient == Vector2d(0.0, -1.0));
    CHECK(scene.distance({0.5, 0.25}, &gradient) == -0.25);
    CHECK(gradient == Vector2d(0.0, -1.0));
    std::reverse(box.corners.begin(), box.corners.end());
  }
  PlanarScene disc;
  disc.add(Disc{{0.0, 0.0}, 0.1});
  Vector2d gradient;
  CHECK(disc.distance({0.0, 0.0}, &gradient) == -0.1);
  CHECK(gradient.norm() == 1.0);
}

TEST_CASE("planar scene: without obstacles everything is far", "[planning]") {
  const PlanarScene scene;
  Vector2d gradient(1.0, 1.0);
  CHECK(std::isinf(scene.distance({0.0, 0.0}, &gradient)));
  CHECK(gradient.isZero());
  const PlanarArc arc{{}, 1.0, 1.0};
  CHECK(std::isinf(scene.clearance(arc, 0.1)));
  CHECK(scene.nearest(arc, 0.1).obstacle == -1);
  CHECK(scene.is_clear(arc, 0.1, 0.0));
  CHECK(scene.blocking_obstacle(arc, 0.1, 0.0) == -1);
}

TEST_CASE("planar scene: the clearance of an arc is that of dense sampling", "[planning]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  Random random(seed);
  const auto obstacles = random_obstacles(random, random.integer(1, 4));
  const PlanarScene scene = scene_of(obstacles);
  const PlanarArc arc = random_arc(random);
  const double r = random.uniform(0.0, 0.05);
  const double sampled = sampled_clearance(obstacles, arc) - r;
  const double clearance = scene.clearance(arc, r);
  CHECK(clearance <= sampled + kDepthTolerance);  // samples may miss the deepest of two valleys
  CHECK(clearance >= sampled - 1e-5);
  if (std::abs(sampled) > 1e-5) {
    CHECK(scene.is_clear(arc, r, 0.0) == (sampled > 0.0));
    CHECK((scene.blocking_obstacle(arc, r, 0.0) == -1) == (sampled > 0.0));
  }
  const ArcContact nearest = scene.nearest(arc, r);
  REQUIRE(nearest.obstacle >= 0);
  const std::vector<PlanarObstacle> alone{obstacles[static_cast<std::size_t>(nearest.obstacle)]};
  CHECK(scene_of(alone).clearance(arc, r) == nearest.clearance);
}

TEST_CASE("planar scene: the order of the obstacles does not matter", "[planning]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  auto obstacles = random_obstacles(random, 5);
  const PlanarScene scene = scene_of(obstacles);
  std::reverse(obstacles.begin(), obstacles.end());
  const PlanarScene reversed = scene_of(obstacles);
  const PlanarArc arc = random_arc(random);
  CHECK(scene.clearance(arc, 0.01) == reversed.clearance(arc, 0.01));
  const int blocking = scene.blocking_obstacle(arc, 0.01, 1e-6);
  const int other = reversed.blocking_obstacle(arc, 0.01, 1e-6);
  CHECK(other == (blocking < 0 ? -1 : 4 - blocking));
  const Vector2d p = random_point(random, 1.0);
  Vector2d a, b;
  CHECK(scene.distance(p, &a) == reversed.distance(p, &b));
  CHECK(a == b);
}

TEST_CASE("planar scene: of the obstacles that an arc runs through the first one blocks it",
          "[planning]") {
  PlanarScene scene;
  scene.add(box_polygon(-0.1, 0.1, 0.6, 0.8));
  scene.add(Disc{{0.02, 0.4}, 0.05});
  scene.add(Disc{{-0.02, 0.2}, 0.06});
  CHECK(scene.blocking_obstacle({{}, 0.0, 1.0}, 0.01, 1e-6) == 2);
  CHECK(scene.blocking_obstacle({{{0, 0.3}, 0.0}, 0.0, 1.0}, 0.01, 1e-6) == 1);
  CHECK(scene.blocking_obstacle({{{0, 0.5}, 0.0}, 0.0, 1.0}, 0.01, 1e-6) == 0);
  CHECK(scene.blocking_obstacle({{{0, 1.0}, pi}, 0.0, 1.0}, 0.01, 1e-6) == 0);  // from above
}

TEST_CASE("planar scene: a body without radius may touch a corner", "[planning]") {
  PlanarScene scene;
  scene.add(box_polygon(0.0, 0.2, 0.3, 0.5));
  for (const double k : {0.0, 1.0, -1.0}) {
    PlanarArc arc{{{0.0, 0.3}, 0.0}, k, 0.1};
    arc.start = PlanarArc{arc.start, k, 1.0}.pose_at(-0.25);
    arc.length = 0.25;
    CHECK(scene.is_clear(arc, 0.0, 1e-6));
    CHECK(std::abs(scene.clearance(arc, 0.0)) < 1e-6);
  }
  CHECK_FALSE(scene.is_clear({{{0.001, 0.0}, 0.0}, 0.0, 1.0}, 0.0, 1e-6));
}

TEST_CASE("planar scene: questions allocate nothing", "[planning]") {
  Random random(1);
  const PlanarScene scene = scene_of(random_obstacles(random, 6));
  const PlanarArc arc = random_arc(random);
  const AllocationCounter counter;
  double sum = 0.0;
  Vector2d gradient;
  for (int i = 0; i < 10; ++i) sum += scene.distance(arc.start.position, &gradient);
  sum += scene.clearance(arc, 0.01) + scene.blocking_obstacle(arc, 0.01, 1e-6);
  const long allocations = counter.count();
  CHECK(allocations == 0);
  CHECK(std::isfinite(sum));
}

TEST_CASE("planar scene: refusals name the field", "[planning]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  PlanarScene scene;
  CHECK_THROWS_WITH(scene.add(Disc{{0, 0}, -1}), "disc: radius = -1 m, must be in [0, 1e9]");
  CHECK_THROWS_WITH(scene.add(Disc{{0, 0}, nan}), "disc: radius = nan m, must be in [0, 1e9]");
  CHECK_THROWS_WITH(scene.add(Disc{{nan, 0}, 1}),
                    "disc: center = (nan, 0) m, must be finite and within 1e9 m");
  CHECK_THROWS_WITH(scene.add(Polygon{}), "polygon: number of corners = 0, must be >= 3");
  CHECK_THROWS_WITH(scene.add(Polygon{{{0, 0}, {1, 0}}}),
                    "polygon: number of corners = 2, must be >= 3");
  CHECK_THROWS_WITH(scene.add(Polygon{{{0, 0}, {1, nan}, {1, 1}}}),
                    "polygon: corner 1: (1, nan) m, must be finite and within 1e9 m");
  CHECK_THROWS_WITH(scene.add(Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}),
                    "polygon: corner 3: (0, 0) m, must lie apart from corner 0");
  CHECK_THROWS_WITH(scene.add(Polygon{{{0, 0}, {1, 1}, {1, 0}, {0, 1}}}),
                    "polygon: edges 0 and 2 cross or touch, must keep apart (edge i runs from "
                    "corner i to the next)");
  CHECK_THROWS_WITH(scene.add(Polygon{{{0, 0}, {1, 1}, {2, 2}}}),
                    "polygon: corner 2: the outline turns back on itself here, must enclose an "
                    "area");
  Polygon fine;
  for (std::size_t i = 0; i <= kMaxCorners; ++i) {
    const double x = static_cast<double>(i);
    fine.corners.emplace_back(x, x * x);
  }
  CHECK_THROWS_WITH(scene.add(fine), "polygon: has 10001 corners, must have at most 10000");
  CHECK(scene.size() == 0);
  CHECK_NOTHROW(
      scene.add(Polygon{{{0, 0}, {1, 0}, {2, 0}, {2, 1}}}));  // a corner on a straight edge
}
