#include "tendril/contact/planar_section.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "tendril/geometry/mesh_distance.hpp"
#include "tendril/geometry/signed_distance.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

constexpr double kBody = 0.01;  // [m]
constexpr double kReach = 2.0;  // [m]

/// The faces of the box [-1, 1]^3 scaled by `half`, counterclockwise from outside.
Solid box_mesh(Solid::Kind kind, const Vector3d& half) {
  Solid solid{.name = "geom box", .kind = kind};
  for (int i = 0; i < 8; ++i)
    solid.vertices.emplace_back((i & 1 ? 1 : -1) * half.x(), (i & 2 ? 1 : -1) * half.y(),
                                (i & 4 ? 1 : -1) * half.z());
  solid.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                     {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return solid;
}

Solid random_solid(Random& random) {
  const Vector3d size(random.uniform(0.02, 0.1), random.uniform(0.02, 0.1),
                      random.uniform(0.02, 0.1));
  Solid solid;
  switch (random.integer(0, 4)) {
    case 0:
      solid = {.name = "sphere", .kind = Solid::Kind::Sphere, .size = size};
      break;
    case 1:
      solid = {.name = "capsule", .kind = Solid::Kind::Capsule, .size = size};
      break;
    case 2:
      solid = {.name = "cylinder", .kind = Solid::Kind::Cylinder, .size = size};
      break;
    case 3:
      solid = {.name = "box", .kind = Solid::Kind::Box, .size = size};
      break;
    default:
      solid = box_mesh(Solid::Kind::Hull, size);
  }
  // In general position, or with its z axis across the plane.
  const bool across = random.integer(0, 1) == 0;
  solid.X_BO.linear() =
      across ? AngleAxisd(0.5 * std::numbers::pi, Vector3d::UnitX()).toRotationMatrix() *
                   AngleAxisd(random.uniform(-3.0, 3.0), Vector3d::UnitZ()).toRotationMatrix()
             : (AngleAxisd(random.uniform(-3.0, 3.0), Vector3d::UnitX()) *
                AngleAxisd(random.uniform(-3.0, 3.0), Vector3d::UnitY()) *
                AngleAxisd(random.uniform(-3.0, 3.0), Vector3d::UnitZ()))
                   .toRotationMatrix();
  solid.X_BO.translation() =
      Vector3d(random.uniform(-0.2, 0.2), random.uniform(-0.06, 0.06), random.uniform(0.1, 0.5));
  return solid;
}

}  // namespace

TEST_CASE("planar section: what the body would touch is an obstacle", "[planning]") {
  // Round ones are polygons of 32 corners, up to 1 - cos(pi/32) of 0.1 m inside; contacts from less
  // than 5 % of the body's radius are left out where nothing of the solid is nearer to the plane.
  constexpr double kRounding = 0.0006;
  int overlaps = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Solid solid = random_solid(random);
    const Shape shape = shape_of(solid);
    const PlanarSection section = planar_section({solid}, kBody, kReach);
    for (int i = 0; i < 60; ++i) {
      const Vector2d p(random.uniform(-0.35, 0.35), random.uniform(-0.05, 0.65));
      const double distance = shape->distance(solid.X_BO.inverse() * Vector3d(p.x(), 0.0, p.y()));
      if (distance >= 0.9 * kBody) continue;
      ++overlaps;
      CAPTURE(solid.name, p.transpose(), distance);
      REQUIRE(section.scene.size() == 1);
      CHECK(section.scene.distance(p) < kBody + kRounding);
    }
  }
  CHECK(overlaps > 300);
}

TEST_CASE("planar section: solids that lie across the plane keep their shape", "[planning]") {
  constexpr double kTolerance = 1e-9;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Solid solid = random_solid(random);
    if (solid.kind == Solid::Kind::Sphere || solid.kind == Solid::Kind::Hull) continue;
    solid.X_BO.linear() = (AngleAxisd(random.uniform(-3.0, 3.0), Vector3d::UnitY()) *
                           AngleAxisd(0.5 * std::numbers::pi, Vector3d::UnitX()))
                              .toRotationMatrix();
    solid.X_BO.translation().y() = random.uniform(-0.9, 0.9) * (solid.size.minCoeff() - 0.01);
    const Shape shape = shape_of(solid);
    Solid tall = solid;  // the same without ends
    (solid.kind == Solid::Kind::Box ? tall.size.z() : tall.size.y()) = 10.0;
    const Shape prism = shape_of(tall);
    const PlanarSection section = planar_section({solid}, kBody, kReach);
    REQUIRE(section.scene.size() == 1);
    CHECK(section.contacts.size() == (solid.kind == Solid::Kind::Box ? 4 : 1));
    for (int i = 0; i < 40; ++i) {
      const Vector2d p(random.uniform(-0.4, 0.4), random.uniform(-0.1, 0.7));
      const double distance = prism->distance(solid.X_BO.inverse() * Vector3d(p.x(), 0.0, p.y()));
      CHECK(section.scene.distance(p) == Approx(distance).margin(kTolerance));
    }
  }
}

TEST_CASE("planar section: a mesh is its outer loops, whichever way it is turned", "[planning]") {
  const Vector3d half(0.05, 0.04, 0.03);
  for (unsigned seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Solid solid = box_mesh(Solid::Kind::Mesh, half);
    solid.X_BO.linear() = (AngleAxisd(random.uniform(-3.0, 3.0), Vector3d::UnitY()) *
                           AngleAxisd(0.5 * std::numbers::pi, Vector3d::UnitX()))
                              .toRotationMatrix();
    solid.X_BO.translation() = Vector3d(0.1, random.uniform(-0.02, 0.02), 0.4);
    Solid same{.name = "box", .kind = Solid::Kind::Box, .X_BO = solid.X_BO, .size = half};
    const PlanarSection of_mesh = planar_section({solid}, kBody, kReach);
    const PlanarSection of_box = planar_section({same}, kBody, kReach);
    REQUIRE(of_mesh.scene.size() == 1);
    for (int i = 0; i < 20; ++i) {
      const Vector2d p(random.uniform(-0.2, 0.3), random.uniform(0.2, 0.6));
      CHECK(of_mesh.scene.distance(p) == Approx(of_box.scene.distance(p)).margin(1e-5));
    }
  }
  // A hollow box: its hole is filled.
  Solid hollow = box_mesh(Solid::Kind::Mesh, half);
  const Solid inner = box_mesh(Solid::Kind::Mesh, 0.5 * half);
  hollow.vertices.insert(hollow.vertices.end(), inner.vertices.begin(), inner.vertices.end());
  for (const auto& [a, b, c] : inner.triangles) hollow.triangles.push_back({a + 8, c + 8, b + 8});
  CHECK(planar_section({hollow}, kBody, kReach).scene.size() == 1);
  // Two pieces are two obstacles of one solid.
  Solid pieces = box_mesh(Solid::Kind::Mesh, half);
  for (const Vector3d& v : inner.vertices) pieces.vertices.push_back(v + Vector3d(0.2, 0.0, 0.0));
  for (const auto& [a, b, c] : inner.triangles) pieces.triangles.push_back({a + 8, b + 8, c + 8});
  const PlanarSection two = planar_section({pieces}, kBody, kReach);
  CHECK(two.scene.size() == 2);
  CHECK(two.solid == std::vector<int>{0, 0});
}

TEST_CASE("planar section: half-spaces, and what is off the plane", "[planning]") {
  Solid wall{.name = "geom wall", .kind = Solid::Kind::HalfSpace};
  wall.X_BO.linear() =
      AngleAxisd(-0.5 * std::numbers::pi, Vector3d::UnitY()).toRotationMatrix();  // x <= 0.3
  wall.X_BO.translation().x() = 0.3;
  const PlanarSection section = planar_section({wall}, kBody, kReach);
  REQUIRE(section.scene.size() == 1);
  CHECK(section.contacts.empty());  // its corners are far away
  const Vector3d normal = wall.X_BO.linear().col(2);
  for (const double x : {0.1, 0.25, 0.5})
    CHECK(section.scene.distance({x, 0.4}) == Approx(normal.x() * (x - 0.3)).margin(1e-9));

  Solid floor{.name = "geom floor", .kind = Solid::Kind::HalfSpace};
  floor.X_BO.linear() = AngleAxisd(-0.5 * std::numbers::pi, Vector3d::UnitX()).toRotationMatrix();
  floor.X_BO.translation().y() = -0.01;  // the body lies on it
  CHECK(floor.X_BO.linear().col(2).y() == Approx(1.0));
  CHECK(planar_section({floor}, kBody, kReach).scene.size() == 0);
  floor.X_BO.translation().y() = 0.005;
  CHECK_THROWS_WITH(planar_section({floor}, kBody, kReach),
                    Catch::Contains("geom floor: contains the arm's plane of motion"));

  Solid table{.name = "table", .kind = Solid::Kind::Box, .size = {0.5, 0.02, 0.5}};
  table.X_BO.translation() = Vector3d(0.0, -0.03, 0.3);
  CHECK(planar_section({table}, kBody, kReach).scene.size() == 0);
}
