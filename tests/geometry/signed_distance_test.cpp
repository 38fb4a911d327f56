#include "tendril/geometry/signed_distance.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <numbers>
#include <string>

#include "tendril/geometry/body_clearance.hpp"
#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/avoidance/obstacle_scenes.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kSamplingTolerance = 1e-6;  // [m], of the searched minimum

struct NamedShape {
  std::string name;
  Shape shape;
};

const std::vector<Vector2d> kConvex{{0.0, -0.1}, {0.15, -0.05}, {0.12, 0.1}, {-0.1, 0.12}};
const std::vector<Vector2d> kHook{{-0.1, -0.1}, {0.15, -0.1}, {0.15, 0.1},
                                  {0.1, 0.1},   {0.1, -0.05}, {-0.1, -0.05}};

std::vector<NamedShape> shapes() {
  return {
      {"sphere", sphere(0.1)},
      {"point", sphere(0.0)},
      {"capsule", capsule(0.1, 0.05)},
      {"cylinder", cylinder(0.1, 0.05)},
      {"box", box({0.1, 0.05, 0.15})},
      {"ellipsoid", ellipsoid({0.1, 0.05, 0.15})},
      {"needle", ellipsoid({0.003, 0.003, 0.2})},
      {"pancake", ellipsoid({0.2, 0.2, 0.004})},
      {"convex polygon", polygon(kConvex, 0.08)},
      {"hook", polygon(kHook, 0.08)},
      {"hook without end", polygon(kHook)},
      {"half space", half_space()},
      {"hollowed half space", hollowed(half_space(), {0.05, 0.0, -0.02}, {0.05, 0.0, 0.1}, 0.1)},
      {"hollowed box", hollowed(box({0.1, 0.05, 0.15}), {0.1, 0.0, 0.0}, {0.1, 0.0, 0.0}, 0.07)},
      {"mesh of a box", box_mesh({0.1, 0.05, 0.15})},
      {"mesh of a tube", tube_mesh(0.06, 0.1, 0.2, 16)}};
}

Isometry3d random_pose(Random& random, double spread) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
  X.translation() = spread * random.uniform(0.0, 1.0) * random.unit_vector();
  return X;
}

BodyArc random_arc(Random& random) {
  const Isometry3d X = random_pose(random, 0.3);
  BodyArc arc;
  arc.start = X.translation();
  arc.tangent = X.linear().col(2);
  arc.side = X.linear().col(0);
  arc.length = random.uniform(0.01, 0.5);
  arc.curvature = random.uniform(-1.0, 1.0) * 2.0 * pi / arc.length;
  if (random.integer(0, 9) == 0) arc.curvature = 0.0;
  if (random.integer(0, 9) == 0) arc.curvature *= 1e-6;
  return arc;
}

/// Least value of f over [0, length]: 400 samples, then closer looks around the best.
double least_by_sampling(double length, const std::function<double(double)>& f) {
  double low = 0.0, high = length, least = std::numeric_limits<double>::infinity();
  double best = 0.0;
  for (const int samples : {400, 40, 40, 40, 40}) {
    for (int i = 0; i <= samples; ++i) {
      const double s = low + (high - low) * i / samples;
      if (const double value = f(s); value < least) {
        least = value;
        best = s;
      }
    }
    const double width = 2.0 * (high - low) / samples;
    low = std::max(0.0, best - width);
    high = std::min(length, best + width);
  }
  return least;
}

}  // namespace

TEST_CASE("signed distance: the gradient is the slope, of length one", "[obstacles]") {
  constexpr double kSlopeTolerance = 1e-6;
  Random random(1);
  for (const auto& [name, shape] : shapes()) {
    CAPTURE(name);
    int smooth = 0;
    for (int i = 0; i < 300; ++i) {
      const Vector3d p = 0.3 * random.uniform(0.0, 1.0) * random.unit_vector();
      const auto value = shape->at(p);
      CHECK(value.gradient.norm() == Approx(1.0).margin(kAlgebraTolerance));
      CHECK(value.distance == shape->distance(p));
      Vector3d slope;
      for (int k = 0; k < 3; ++k) {
        const Vector3d h = 1e-7 * Vector3d::Unit(k);
        slope[k] = (shape->distance(p + h) - shape->distance(p - h)) / 2e-7;
      }
      if (std::abs(slope.norm() - 1.0) > 1e-4) continue;  // on an edge of the distance
      ++smooth;
      CHECK((slope - value.gradient).norm() < kSlopeTolerance);
    }
    CHECK(smooth > 250);
  }
}

TEST_CASE("signed distance: it changes by no more than the distance traveled", "[obstacles]") {
  Random random(2);
  for (const auto& [name, shape] : shapes()) {
    CAPTURE(name);
    for (int i = 0; i < 1000; ++i) {
      const Vector3d p = 0.3 * random.uniform(0.0, 1.0) * random.unit_vector();
      const Vector3d q = p + random.uniform(0.0, 0.1) * random.unit_vector();
      const double change = std::abs(shape->distance(p) - shape->distance(q));
      REQUIRE(change <= (p - q).norm() + kAlgebraTolerance);
      if (!shape->is_convex()) continue;
      const double middle = shape->distance(0.5 * (p + q));
      REQUIRE(middle <= 0.5 * (shape->distance(p) + shape->distance(q)) + kAlgebraTolerance);
    }
  }
}

TEST_CASE("signed distance: one step against the gradient is on the surface", "[obstacles]") {
  Random random(3);
  for (const auto& [name, shape] : shapes()) {
    CAPTURE(name);
    if (name.starts_with("hollowed")) continue;  // near the rim it is a lower bound
    const BoundingSphere bounds = shape->bounds();
    for (int i = 0; i < 500; ++i) {
      const Vector3d p = 0.4 * random.uniform(0.0, 1.0) * random.unit_vector();
      const auto value = shape->at(p);
      const Vector3d foot = p - value.distance * value.gradient;
      REQUIRE(std::abs(shape->distance(foot)) < 1e-9);
      REQUIRE((foot - bounds.center).norm() <= bounds.radius + 1e-9);
    }
  }
}

TEST_CASE("signed distance: box, polygon and mesh of the same solid agree", "[obstacles]") {
  Random random(4);
  const Vector3d half(0.1, 0.05, 0.15);
  const std::vector<Vector2d> corners{{0.1, 0.05}, {-0.1, 0.05}, {-0.1, -0.05}, {0.1, -0.05}};
  const std::vector<Vector2d> clockwise(corners.rbegin(), corners.rend());
  const Shape reference = box(half), flat = polygon(corners, 0.15),
              rotated = polygon(clockwise, 0.15), faces = box_mesh(half);
  for (int i = 0; i < 2000; ++i) {
    const Vector3d p = 0.3 * random.uniform(0.0, 1.0) * random.unit_vector();
    const double distance = reference->distance(p);
    REQUIRE(flat->distance(p) == Approx(distance).margin(kAlgebraTolerance));
    REQUIRE(rotated->distance(p) == Approx(distance).margin(kAlgebraTolerance));
    REQUIRE(faces->distance(p) == Approx(distance).margin(kAlgebraTolerance));
  }
}

TEST_CASE("signed distance: an ellipsoid with equal axes is the sphere", "[obstacles]") {
  Random random(26);
  const Shape one = ellipsoid({0.1, 0.1, 0.1}), other = sphere(0.1);
  for (int i = 0; i < 200; ++i) {
    const Vector3d p = random.uniform(0.0, 0.3) * random.unit_vector();
    CHECK(one->distance(p) == Approx(other->distance(p)).margin(kAlgebraTolerance));
  }
  CHECK(one->distance(Vector3d::Zero()) == Approx(-0.1));
}

TEST_CASE("signed distance: on the planes of symmetry of an ellipsoid", "[obstacles]") {
  const Vector3d half(0.1, 0.05, 0.15);
  const Shape shape = ellipsoid(half);
  for (int k = 0; k < 3; ++k) {
    CHECK(shape->distance(2.0 * half[k] * Vector3d::Unit(k)) == Approx(half[k]));
    CHECK(shape->gradient(2.0 * half[k] * Vector3d::Unit(k))
              .isApprox(Vector3d::Unit(k), kAlgebraTolerance));
  }
  CHECK(shape->distance(Vector3d::Zero()) == Approx(-0.05));
  CHECK(shape->distance({1e-9, 0.0, -1e-9}) == Approx(-0.05));
  // Searched on the surface, also from inside and from the flat middle.
  Random random(27);
  for (const Vector3d& p :
       {Vector3d(0.02, 0.0, 0.01), Vector3d(0.09, 0.0, 0.0), Vector3d(0.0, 0.0, 0.14),
        Vector3d(0.0, 0.04, 0.1), Vector3d(0.2, 0.0, 0.2), Vector3d(0.05, -0.04, 0.03)}) {
    CAPTURE(p.transpose());
    double nearest = 1.0;
    for (int i = 0; i < 200'000; ++i)
      nearest = std::min(nearest, (random.unit_vector().cwiseProduct(half) - p).norm());
    const double inside = p.cwiseQuotient(half).norm() < 1.0 ? -1.0 : 1.0;
    CHECK(inside * shape->distance(p) <= nearest + kAlgebraTolerance);
    CHECK(inside * shape->distance(p) == Approx(nearest).margin(1e-3));
  }
}

TEST_CASE("signed distance: a fine mesh of a tube is the tube", "[obstacles]") {
  constexpr double kInner = 0.011, kOuter = 0.019, kHalf = 0.05;
  constexpr double kFacets = 2e-5;  // [m], height of a facet of 128
  const Shape faces = tube_mesh(kInner, kOuter, 2.0 * kHalf, 128);
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const Vector3d p = 0.08 * random.uniform(0.0, 1.0) * random.unit_vector();
    const double rho = std::hypot(p.x(), p.y());
    const double across = std::max(kInner - rho, rho - kOuter), along = std::abs(p.z()) - kHalf;
    const double distance =
        across > 0.0 && along > 0.0 ? std::hypot(across, along) : std::max(across, along);
    REQUIRE(faces->distance(p) == Approx(distance).margin(kFacets));
  }
}

TEST_CASE("arc: the nearest point and the clearance against dense sampling", "[obstacles]") {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    const BodyArc arc = random_arc(random);
    const Vector3d p = 0.5 * random.unit_vector() * random.uniform(0.0, 1.0);
    const double s = nearest_arc_length(arc, p);
    REQUIRE(s >= 0.0);
    REQUIRE(s <= arc.length);
    const double distance = (arc.point(s) - p).norm();
    const double sampled =
        least_by_sampling(arc.length, [&](double t) { return (arc.point(t) - p).norm(); });
    CAPTURE(i, arc.curvature * arc.length, s);
    REQUIRE(distance <= sampled + kAlgebraTolerance);
    REQUIRE(distance >= sampled - kSamplingTolerance);
  }
  for (const NamedShape& one : shapes()) {
    CAPTURE(one.name);
    const Shape& shape = one.shape;
    for (int i = 0; i < 20; ++i) {
      const BodyArc arc = random_arc(random);
      const Isometry3d X_BO = random_pose(random, 0.3);
      const Obstacles obstacles({{shape, X_BO}});
      const Clearance least = obstacles.nearest(std::span(&arc, 1));
      const double sampled = least_by_sampling(
          arc.length, [&](double t) { return shape->distance(X_BO.inverse() * arc.point(t)); });
      CAPTURE(i, arc.curvature * arc.length);
      REQUIRE(least.distance <= sampled + kSamplingTolerance);
      REQUIRE(least.distance >= sampled - kSamplingTolerance);
      const auto there = shape->at(X_BO.inverse() * least.point);
      CHECK(there.distance == Approx(least.distance).margin(1e-9));
      CHECK((arc.point(least.arc_length) - least.point).norm() < 1e-9);
    }
  }
}

TEST_CASE("arc: a mirrored arc has its nearest point at the same arc length", "[obstacles]") {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    BodyArc arc = random_arc(random);
    const Vector3d p = 0.5 * random.unit_vector() * random.uniform(0.0, 1.0);
    const double s = nearest_arc_length(arc, p);
    arc.curvature = -arc.curvature;
    const Vector3d mirrored = p - 2.0 * (p - arc.start).dot(arc.side) * arc.side;
    REQUIRE(nearest_arc_length(arc, mirrored) == Approx(s).margin(1e-12));
  }
}

TEST_CASE("arc: a wall thinner than the samples are apart is not skipped", "[obstacles]") {
  BodyArc arc;
  arc.length = 0.5;
  arc.curvature = 1.0;
  Random random(8);
  for (int i = 0; i < 50; ++i) {
    const double s = random.uniform(0.05, 0.45);
    const Vector3d tangent = arc.tangent_at(s);
    for (const Shape& wall : {box({0.02, 0.02, 5e-6}), box_mesh({0.02, 0.02, 5e-6})}) {
      Obstacle obstacle{wall};
      obstacle.X_BO = half_space_at(arc.point(s), tangent).X_BO;
      const Obstacles obstacles({obstacle});
      CHECK(obstacles.nearest(std::span(&arc, 1)).distance < -4e-6);
    }
  }
}

TEST_CASE("the clearance of a body with sub-sections is that of its points", "[obstacles]") {
  Random random(9);
  for (int i = 0; i < 12; ++i) {
    const ContinuumRobot robot = random_robot(random, 1 + i % 4);
    const auto states = random_states(random, robot);
    const BaseState base{.feed = random.uniform(0.0, 0.02), .spin = random.angle()};
    std::vector<Obstacle> list;
    for (const auto& [name, shape] : shapes()) {
      list.push_back({shape, random_pose(random, 0.1)});
      list.back().X_BO.translation() += 0.3 * random.unit_vector();
    }
    const Obstacles obstacles(list);
    BodyArcs body(robot);
    constexpr double kRadius = 0.004;
    const Clearance least = body_clearance(body, states, base, obstacles, kRadius);
    double sampled = std::numeric_limits<double>::infinity();
    for (int k = 0; k < robot.section_count(); ++k) {
      sampled = std::min(sampled, least_by_sampling(1.0, [&](double f) {
                           const Isometry3d X = backbone_pose(robot, states, base, k, f);
                           return obstacles.nearest(Vector3d(X.translation())).distance;
                         }));
    }
    REQUIRE(least.distance == Approx(sampled - kRadius).margin(kSamplingTolerance));
    const auto arcs = body.at(states, base);
    const BodyArc& arc = arcs[static_cast<std::size_t>(least.arc)];
    const Isometry3d X =
        backbone_pose(robot, states, base, arc.section, arc.fraction(least.arc_length));
    CHECK((X.translation() - least.point).norm() < 1e-9);
  }
}

TEST_CASE("obstacles: neither their order nor their earlier poses matter", "[obstacles]") {
  Random random(10);
  std::vector<Obstacle> list;
  for (const auto& [name, shape] : shapes()) list.push_back({shape, random_pose(random, 0.4)});
  list.push_back(list.front());  // one twice
  const Obstacles forwards(list);
  const Obstacles backwards(std::vector<Obstacle>(list.rbegin(), list.rend()));
  Obstacles moved(list);
  const int count = moved.count();
  AllocationCounter counter;
  for (int i = 0; i < count; ++i) moved.set_pose(i, Isometry3d::Identity());
  for (int i = 0; i < count; ++i) moved.set_pose(i, list[static_cast<std::size_t>(i)].X_BO);
  CHECK(counter.count() == 0);
  for (int i = 0; i < 15; ++i) {
    const BodyArc arc = random_arc(random);
    const Clearance a = forwards.nearest(std::span(&arc, 1));
    const Clearance b = backwards.nearest(std::span(&arc, 1));
    const Clearance c = moved.nearest(std::span(&arc, 1));
    CHECK(a.distance == b.distance);
    CHECK(a.arc_length == b.arc_length);
    CHECK(a.distance == c.distance);
    CHECK(a.obstacle == c.obstacle);
    const Clearance at = forwards.nearest(arc.start);
    CHECK(at.distance >= a.distance - kAlgebraTolerance);
    CHECK(at.distance == backwards.nearest(arc.start).distance);
  }
  CHECK(Obstacles().nearest(Vector3d(0, 0, 0)).obstacle == -1);
}

TEST_CASE("signed distance: a cylinder is the prism over a circle", "[obstacles]") {
  constexpr int kCorners = 400;
  constexpr double kSagitta = 0.05 * (pi / kCorners) * (pi / kCorners);  // of the inscribed polygon
  std::vector<Vector2d> circle;
  for (int i = 0; i < kCorners; ++i) {
    const double a = 2.0 * pi * i / kCorners;
    circle.emplace_back(0.05 * std::cos(a), 0.05 * std::sin(a));
  }
  const Shape prism = polygon(circle, 0.1), round = cylinder(0.1, 0.05);
  Random random(12);
  for (int i = 0; i < 500; ++i) {
    const Vector3d p = 0.3 * random.uniform(0.0, 1.0) * random.unit_vector();
    REQUIRE(round->distance(p) == Approx(prism->distance(p)).margin(kSagitta));
  }
}

TEST_CASE("obstacles: one that has grown is nearer by its growth", "[obstacles]") {
  Random random(13);
  for (const auto& [name, shape] : shapes()) {
    CAPTURE(name);
    const std::vector<Obstacle> list{{shape, random_pose(random, 0.3)}};
    const Obstacles plain(list);
    Obstacles grown(list);
    constexpr double kGrowth = 0.03;
    grown.set_growth(0, kGrowth);
    CHECK(grown.growth(0) == kGrowth);
    for (int i = 0; i < 20; ++i) {
      const BodyArc arc = random_arc(random);
      CHECK(
          grown.nearest(std::span(&arc, 1)).distance ==
          Approx(plain.nearest(std::span(&arc, 1)).distance - kGrowth).margin(kSamplingTolerance));
      CHECK(grown.nearest(arc.start).distance ==
            Approx(plain.nearest(arc.start).distance - kGrowth).margin(kAlgebraTolerance));
    }
  }
}

TEST_CASE("obstacles: bad shapes and poses are refused by name", "[obstacles]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(sphere(-1.0), "sphere: radius = -1 m, must be >= 0");
  CHECK_THROWS_WITH(sphere(nan), Catch::Contains("sphere: radius = "));
  CHECK_THROWS_WITH(capsule(-0.1, 0.1), "capsule: half_length = -0.1 m, must be >= 0");
  CHECK_THROWS_WITH(cylinder(0.1, 0.0), "cylinder: radius = 0 m, must be > 0");
  CHECK_THROWS_WITH(cylinder(-0.1, 0.1), "cylinder: half_length = -0.1 m, must be > 0");
  CHECK_THROWS_WITH(box({0.1, 0.0, 0.1}), "box: half extent = 0 m, must be > 0");
  CHECK_THROWS_WITH(half_space_at({0, 0, 0}, {0, 0, 0}), Catch::Contains("normal = 0"));
  const auto refused = [](std::vector<Vector2d> vertices, const std::string& text) {
    CHECK_THROWS_WITH(polygon(vertices), Catch::Contains(text));
  };
  refused({{0, 0}, {1, 0}}, "number of vertices = 2, must be >= 3");
  refused({{0, 0}, {1, 0}, {nan, 1}}, "vertex 3 is not finite");
  refused({{0, 0}, {1, 0}, {1, 0}, {0, 1}}, "vertices 2 and 3 are the same point");
  refused({{0, 0}, {1, 0}, {2, 0}}, "no area");
  refused({{0, 0}, {2, 1}, {2, 0}, {0, 2}}, "edges 1 and 3 meet");
  refused({{0, 0}, {2, 0}, {1, 0}, {1, 1}}, "run through backwards");

  const auto refused_mesh = [](std::vector<Vector3d> vertices,
                               std::vector<std::array<int, 3>> triangles, const std::string& text) {
    CHECK_THROWS_WITH(mesh(vertices, triangles), Catch::Contains(text));
  };
  const std::vector<Vector3d> corners{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const std::vector<std::array<int, 3>> faces{{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
  CHECK_NOTHROW(mesh(corners, faces));
  refused_mesh(corners, {}, "no triangles");
  refused_mesh(corners, {faces[0], faces[1], faces[2]}, "the mesh is not closed");
  refused_mesh(corners, {{0, 1, 4}}, "names vertex 4, there are 4");
  refused_mesh(corners, {{0, 1, 1}}, "triangle 1 has no area");
  refused_mesh(corners, {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {0, 2, 3}}, "face inwards");
  std::vector<Vector3d> broken = corners;
  broken[2].x() = nan;
  refused_mesh(broken, faces, "vertex 2 is not finite");

  CHECK_THROWS_WITH(Obstacles({Obstacle{}}), "obstacle 1: it has no shape");
  Obstacle skewed = sphere_at({0, 0, 1}, 0.1);
  skewed.X_BO.linear() *= 2.0;
  CHECK_THROWS_WITH(Obstacles({skewed}), Catch::Contains("obstacle 1: its pose"));
}

TEST_CASE("signed distance: an obstacle at the base makes room for a body that bends",
          "[obstacles]") {
  constexpr double kRadius = 0.02, kMargin = 0.005, kLength = 0.3;
  const StraightBody body{.radius = kRadius, .length = kLength};
  const ContinuumRobot robot({{.length = kLength}});
  BodyArcs arcs(robot);
  const auto clearance = [&](const Obstacle& obstacle, double bend) {
    const std::vector<SectionState> states{{.theta = bend}};
    return body_clearance(arcs, states, {}, Obstacles({obstacle}), kRadius).distance;
  };
  const auto at = [](Shape shape, const Vector3d& p) {
    return Obstacle{std::move(shape), Isometry3d(Eigen::Translation3d(p))};
  };
  struct Case {
    std::string name;
    Obstacle obstacle;
  };
  const Isometry3d slanted(Eigen::AngleAxisd(1.0, Vector3d::UnitX()));
  for (const auto& [name, obstacle] :
       {Case{"floor", at(half_space(), {0, 0, 0})},
        {"floor below", at(half_space(), {0, 0, -0.022})},
        {"slope", {half_space(), slanted}},
        {"block about the base", at(box({0.05, 0.05, 0.05}), {0, 0, 0})}}) {
    CAPTURE(name);
    CHECK(clearance(obstacle, 0.0) < kMargin);
    const Obstacle with_room = with_room_at_base(obstacle, body, kMargin);
    REQUIRE(with_room.shape != nullptr);
    for (const double bend : {0.0, 0.5, 1.0}) CHECK(clearance(with_room, bend) >= kMargin - 1e-6);
    CHECK(clearance(with_room, 5.0) < 0.0);  // beyond the base the floor and the block are there
  }
  const auto is_same = [&](const Obstacle& obstacle) {
    return with_room_at_base(obstacle, body, kMargin).shape == obstacle.shape;
  };
  CHECK(is_same(at(half_space(), {0, 0, -0.026})));
  CHECK(is_same(at(box({0.01, 0.5, 0.5}), {0.033, 0, 0})));  // within the margin, all along
  CHECK(with_room_at_base(at(box({0.1, 0.1, 1.0}), {0, 0, 0}), body, kMargin).shape == nullptr);
  CHECK(is_same(at(box({0.1, 0.1, 1.0}), {1.0, 0, 0})));
  const Obstacle inside = at(box({0.1, 0.1, 1.0}), {0, 0, 0});
  CHECK(with_room_at_base(inside, {}, kMargin).shape == inside.shape);  // no body
}

TEST_CASE("signed distance: no query allocates", "[obstacles]") {
  Random random(11);
  for (const auto& [name, shape] : shapes()) {
    CAPTURE(name);
    const Obstacles obstacles({{shape, random_pose(random, 0.3)}});
    const BodyArc arc = random_arc(random);
    AllocationCounter counter;
    const double distance = obstacles.nearest(std::span(&arc, 1)).distance;
    CHECK(counter.count() == 0);
    CHECK(std::isfinite(distance));
  }
}
