#include "tendril/avoidance/ground_map.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <queue>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Isometry3d;
using Eigen::Matrix2Xd;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

constexpr double kCell = 0.02;
constexpr double kGrid = 0.71 * kCell + 1e-9;  // half of a cell's diagonal

/// Posts and walls in 3 m x 2 m, and the ground.
std::vector<Obstacle> random_scene(Random& random, int count) {
  std::vector<Obstacle> all{half_space_at(Vector3d(0, 0, -0.025), Vector3d::UnitZ())};
  for (int i = 0; i < count; ++i) {
    Isometry3d X = Isometry3d::Identity();
    X.translation() << random.uniform(0.0, 3.0), random.uniform(0.0, 2.0), 0.0;
    X.rotate(Eigen::AngleAxisd(random.uniform(-3.1, 3.1), Vector3d::UnitZ()));
    if (i % 2 == 0)
      all.push_back({cylinder(0.2, random.uniform(0.03, 0.2)), X});
    else
      all.push_back({box({random.uniform(0.1, 0.5), 0.02, 0.2}), X});
  }
  return all;
}

GroundMap map_of(const Obstacles& obstacles) {
  return GroundMap(obstacles, {.low = {0.0, 0.0}, .high = {3.0, 2.0}, .cell = kCell});
}

/// Tells whether cells that are open join two points.
bool joined(const GroundMap& map, const Vector2d& from, const Vector2d& to, double radius) {
  const auto cell = [&](const Vector2d& p) {
    const Vector2d q = map.cell_of(p);
    return std::pair<int, int>(static_cast<int>(std::lround(q.x())),
                               static_cast<int>(std::lround(q.y())));
  };
  const auto open = [&](int c, int r) {
    return c >= 0 && r >= 0 && c < map.columns() && r < map.rows() && map.clearance(c, r) >= radius;
  };
  std::vector<char> seen(map.index(0, map.rows()), 0);
  std::queue<std::pair<int, int>> front;
  const auto [c0, r0] = cell(from);
  const auto goal = cell(to);
  if (!open(c0, r0) || !open(goal.first, goal.second)) return false;
  front.emplace(c0, r0);
  seen[map.index(c0, r0)] = 1;
  while (!front.empty()) {
    const auto [c, r] = front.front();
    front.pop();
    if (c == goal.first && r == goal.second) return true;
    for (const auto& [dc, dr] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
      if (!open(c + dc, r + dr) || seen[map.index(c + dc, r + dr)] != 0) continue;
      seen[map.index(c + dc, r + dr)] = 1;
      front.emplace(c + dc, r + dr);
    }
  }
  return false;
}

}  // namespace

TEST_CASE("ground map: the clearance is the distance from what is on the ground", "[ground]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  std::vector<Obstacle> scene = random_scene(random, 6);
  const GroundMap map = map_of(Obstacles(scene));
  scene.erase(scene.begin());  // the ground is no obstacle
  const Obstacles standing(scene);
  for (int k = 0; k < 300; ++k) {
    const Vector2d p(random.uniform(0.0, 3.0), random.uniform(0.0, 2.0));
    const double true_distance = standing.nearest(Vector3d(p.x(), p.y(), 0.0)).distance;
    // Twice: the obstacle's cells, and between the centers of cells.
    const double border = std::min({p.x(), 3.0 - p.x(), p.y(), 2.0 - p.y()});
    CHECK(map.clearance(p) ==
          Approx(std::max(0.0, std::min(true_distance, border))).margin(2.0 * kGrid));
  }
  CHECK(map.clearance(Vector2d(-0.1, 1.0)) < 0.0);
}

TEST_CASE("ground map: one that is too large is refused", "[ground]") {
  CHECK_THROWS_AS(GroundMap(Obstacles{}, {.low = {0, 0}, .high = {100, 100}, .cell = kCell}),
                  ModelError);
}

TEST_CASE("ground ways: there is one where a flood of the open cells says so", "[ground]") {
  int found = 0, none = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const GroundMap map = map_of(Obstacles(random_scene(random, 24)));
    const Vector2d goal(random.uniform(0.2, 2.8), random.uniform(0.2, 1.8));
    const double radius = 0.08;
    const GroundPaths ways(map, goal, radius);
    for (int k = 0; k < 20; ++k) {
      const Vector2d start(random.uniform(0.2, 2.8), random.uniform(0.2, 1.8));
      if (map.clearance(start) < radius + kCell || map.clearance(goal) < radius + kCell) continue;
      const bool is_path = joined(map, start, goal, radius);
      (is_path ? found : none) += 1;
      CHECK(std::isfinite(ways.time(start)) == is_path);
      if (is_path) CHECK(ways.time(start) > 0.93 * (goal - start).norm());  // 7 % is the grid's
    }
  }
  CHECK(found > 100);
  CHECK(none > 20);
}

TEST_CASE("ground ways: without obstacles the way is straight and its time the distance",
          "[ground]") {
  const GroundMap map = map_of(Obstacles{});
  const Vector2d goal(2.5, 1.5), start(0.3, 0.4);
  const GroundPaths ways(map, goal, 0.1);
  CHECK(ways.time(start) == Approx((goal - start).norm()).epsilon(0.03));
  Matrix2Xd points(2, 200);
  const int count = ways.trace({.position = start}, 0.04, points);
  REQUIRE(count > 2);
  CHECK((count - 1) * 0.04 == Approx((goal - start).norm()).epsilon(0.03));
}

TEST_CASE("ground ways: a way keeps its distance, its spacing and its curvature, and arrives",
          "[ground]") {
  constexpr double kSpacing = 0.04, kRadius = 0.1, kArrival = 0.05;
  const double curvature = GENERATE(0.0, 4.0);  // 0: any
  int traced = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed, curvature);
    Random random(seed);
    const GroundMap map = map_of(Obstacles(random_scene(random, 5)));
    const Vector2d goal(2.5, 1.4), start(0.4, 0.5);
    if (map.clearance(goal) < kRadius + kCell || map.clearance(start) < kRadius + kCell) continue;
    const GroundPaths ways(map, goal, kRadius);
    const double heading = random.uniform(-3.1, 3.1);
    GroundPaths::Start begin{.position = start, .heading = heading, .arrival = kArrival};
    if (curvature > 0.0) begin.max_curvature = curvature;
    Matrix2Xd points(2, 400);
    const AllocationCounter counter;
    const int count = ways.trace(begin, kSpacing, points);
    CHECK(counter.count() == 0);
    if (curvature == 0.0) CHECK((count > 0) == std::isfinite(ways.time(start)));
    if (count == 0) continue;
    ++traced;
    CHECK(points.col(0) == start);
    CHECK((points.col(count - 1) - goal).norm() <= kArrival);
    double before = heading;
    for (int i = 1; i < count; ++i) {
      const Vector2d segment = points.col(i) - points.col(i - 1);
      CHECK(segment.norm() == Approx(kSpacing));
      CHECK(map.clearance(points.col(i)) >= kRadius - kCell);
      const double direction = std::atan2(segment.y(), segment.x());
      if (curvature > 0.0)
        CHECK(std::abs(std::remainder(direction - before, 2.0 * 3.14159265358979)) <=
              curvature * kSpacing + 1e-9);
      before = direction;
    }
  }
  CHECK(traced > 15);
}

TEST_CASE("ground ways: who is too near to an obstacle leaves it first", "[ground]") {
  const GroundMap map = map_of(Obstacles({sphere_at({1.0, 1.0, 0.0}, 0.2)}));
  const GroundPaths ways(map, {2.6, 1.0}, 0.3);
  Matrix2Xd points(2, 200);
  const int count = ways.trace({.position = {0.75, 1.0}}, 0.04, points);
  REQUIRE(count > 2);
  bool left = false;
  for (int i = 0; i < count; ++i) {
    left |= map.clearance(points.col(i)) >= 0.3;
    if (left) CHECK(map.clearance(points.col(i)) >= 0.3 - kCell);
  }
  CHECK(left);
}
