#include "tendril/path/winding_path.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kSampling = 1e-4;  // [m]: the path is a polyline of 1 mm segments
constexpr double kOnHelix = 1e-5;   // [m]: the middle of a 1 mm segment is up to 4 um inside

/// A cylinder next to the feed axis, leaning by a random angle to either side.
Winding random_winding(Random& random) {
  Winding winding;
  const double azimuth = random.angle();
  const double distance = random.uniform(0.04, 0.08);
  const Vector3d side(std::cos(azimuth), std::sin(azimuth), 0.0);
  const Vector3d across = Vector3d::UnitZ().cross(side);
  const double pitch = random.uniform(-0.8, 0.8);
  const Vector3d foot = distance * side + random.uniform(0.15, 0.4) * Vector3d::UnitZ();
  winding.cylinder_axis = (random.uniform(0.0, 1.0) < 0.5 ? 1.0 : -1.0) * std::cos(pitch) * across +
                          std::sin(pitch) * Vector3d::UnitZ();
  winding.cylinder_point = foot + random.uniform(-0.3, 0.3) * winding.cylinder_axis;
  winding.cylinder_axis *= random.uniform(0.1, 10.0);  // its length does not matter
  winding.cylinder_radius = distance - random.uniform(0.005, 0.03);
  winding.angle = random.uniform(1.0, 7.0);
  winding.exit_length = random.uniform(0.05, 0.2);
  return winding;
}

double distance_from_axis(const Winding& winding, const Vector3d& p) {
  const Vector3d d = winding.cylinder_axis.normalized();
  return (p - winding.cylinder_point).cross(d).norm();
}

}  // namespace

TEST_CASE("winding: the path keeps its distance from the cylinder and is smooth", "[planning]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Winding winding = random_winding(random);
  const Path path = winding_path(winding);
  const double radius = winding_place(winding).radius;
  CHECK(path.position(0.0).norm() < 1e-12);
  double on_helix = 0.0;
  for (double s = 0.0; s < path.length(); s += 1e-3) {
    const double distance = distance_from_axis(winding, path.position(s));
    CHECK(distance > radius - kSampling);
    if (std::abs(distance - radius) < kOnHelix) on_helix += 1e-3;
    // No corner: the radius of curvature remains that of the helix or larger.
    const double turn =
        std::acos(std::clamp(path.tangent(s).dot(path.tangent(s + 4e-3)), -1.0, 1.0));
    CHECK(turn < 5.5e-3 / radius);
  }
  const double sine = winding.cylinder_axis.normalized().z();
  const double arc = winding.angle * radius / std::sqrt(1.0 - sine * sine);
  CHECK(on_helix == Approx(arc).margin(5e-3));
}

TEST_CASE("winding: the turning angle about the cylinder is the one asked for", "[planning]") {
  Random random(5);
  for (int k = 0; k < 20; ++k) {
    const Winding winding = random_winding(random);
    const Path path = winding_path(winding);
    const Vector3d d = winding.cylinder_axis.normalized();
    double angle = 0.0;
    const double helix_end = path.length() - winding.exit_length;
    Vector3d before = Vector3d::Zero();
    for (double s = 0.0; s <= helix_end; s += 5e-4) {
      const Vector3d p = path.position(s) - winding.cylinder_point;
      const Vector3d radial = p - p.dot(d) * d;
      if (s > 0.0 && std::abs(radial.norm() - winding_place(winding).radius) < kOnHelix &&
          std::abs(before.norm() - winding_place(winding).radius) < kOnHelix)
        angle += std::atan2(before.cross(radial).dot(d), before.dot(radial));
      before = radial;
    }
    CHECK(std::abs(angle) == Approx(winding.angle).margin(0.05));
  }
}

TEST_CASE("winding: drawn tight it lies at the radius asked for, and begins on the feed axis",
          "[planning]") {
  Random random(9);
  for (int k = 0; k < 20; ++k) {
    const Winding winding = random_winding(random);
    const double loose = winding_place(winding).radius;
    const double radius = loose - random.uniform(0.0, loose - winding.cylinder_radius);
    const Path path = winding_path(winding, radius, 0.05);
    CHECK(path.position(0.0).norm() < 1e-12);
    CHECK(path.position(0.05).head<2>().norm() < 1e-12);  // before it leans
    const double middle = path.length() - winding.exit_length - 0.01;
    CHECK(distance_from_axis(winding, path.position(middle)) == Approx(radius).margin(kSampling));
    for (double s = 0.0; s < path.length(); s += 1e-3)
      CHECK(distance_from_axis(winding, path.position(s)) > radius - kSampling);
  }
}

TEST_CASE("winding: around a cylinder that the feed axis meets or passes far away", "[planning]") {
  Random random(11);
  for (int k = 0; k < 20; ++k) {
    Winding winding = random_winding(random);
    const double distance = winding_place(winding).distance;
    winding.cylinder_radius = distance * random.uniform(0.5, 1.2);
    winding.radius = winding.cylinder_radius + 0.015;
    const Path path = winding_path(winding, 0.0, 0.1);
    CHECK(path.position(0.0).norm() < 1e-12);
    const double helix_end = path.length() - winding.exit_length;
    const double arc = winding.angle * winding.radius / std::cos(winding_place(winding).pitch);
    for (double s = helix_end - arc + 2e-3; s < helix_end; s += 5e-3) {
      CHECK(distance_from_axis(winding, path.position(s)) ==
            Approx(winding.radius).margin(kSampling));
    }
    for (double s = 0.0; s < path.length(); s += 1e-3) {
      const double turn =
          std::acos(std::clamp(path.tangent(s).dot(path.tangent(s + 4e-3)), -1.0, 1.0));
      CHECK(turn < 0.2);  // no corner
    }
  }
}

TEST_CASE("winding: what cannot be wound around is refused by name", "[planning]") {
  const Winding good{.cylinder_point = {0.05, 0.0, 0.2}, .cylinder_axis = {0.0, 1.0, 0.3}};
  CHECK_NOTHROW(winding_path(good));
  const auto refused = [&](auto change, const char* name) {
    Winding bad = good;
    change(bad);
    CHECK_THROWS_WITH(winding_path(bad), Catch::Contains(name));
  };
  refused([](Winding& w) { w.cylinder_radius = 0.0; }, "cylinder_radius");
  refused([](Winding& w) { w.cylinder_radius = 0.06; }, "distance of the cylinder's axis");
  refused([](Winding& w) { w.angle = -1.0; }, "angle");
  refused([](Winding& w) { w.exit_length = std::nan(""); }, "exit_length");
  refused([](Winding& w) { w.cylinder_axis = Vector3d::Zero(); }, "cylinder_axis");
  refused([](Winding& w) { w.cylinder_axis = Vector3d::UnitZ(); }, "cylinder_axis");
  refused([](Winding& w) { w.cylinder_point.z() = -0.2; }, "point of the feed axis");
  refused([](Winding& w) { w.cylinder_point.x() = std::nan(""); }, "cylinder_point");
  CHECK_THROWS_AS(winding_path(good, 0.2), ModelError);
  CHECK_THROWS_AS(winding_path(good, 0.04, -1.0), ModelError);
}
