#include "tendril/avoidance/avoidance.hpp"

#include <catch2/catch.hpp>
#include <numbers>

#include "tendril/contact/planar_arc.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

BodyArc arc_of(double curvature, double length) {
  BodyArc arc;
  arc.curvature = curvature;
  arc.length = length;
  return arc;
}

/// The tangency with the disc on side `sigma` of an arc that starts at the origin along z.
std::optional<double> tangency(const PlaneDisc& disc, int sigma) {
  return tangency_curvature({}, {disc.x, disc.z}, disc.radius,
                            sigma > 0 ? BodySide::Positive : BodySide::Negative);
}

/// Distance of (x, z) from the whole circle that starts at the origin along z.
double from_circle(double curvature, double x, double z) {
  const double radius = 1.0 / std::abs(curvature);
  return std::abs(std::hypot(x - 1.0 / curvature, z) - radius);
}

Section section_of(const SectionParameters& parameters) { return Section(parameters); }

const SectionParameters kExtensible{.length = 0.1, .variable_length = 0.2, .bend_angle_limit = pi};

/// A bent section in a random plane that collides with random spheres or boxes.
struct Scene {
  SectionFrame frame;
  PlaneBend desired;
  Vector3d goal;
  std::vector<Obstacle> list;
};
Scene random_scene(Random& random, const Section& section, bool spheres) {
  Scene scene;
  const Eigen::Matrix3d R =
      Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
  scene.frame = {random.unit_vector(), R.col(2), R.col(0)};
  scene.desired.extension = random.uniform(0.05, 1.0) * section.variable_length();
  scene.desired.theta =
      random.uniform(-1.0, 1.0) * section.bend_angle_limit_at(scene.desired.extension);
  std::vector<BodyArc> arcs(section.length_weights().size());
  const double length = section.length() + scene.desired.extension;
  place_section_arcs(section, scene.frame.start, scene.frame.tangent, scene.frame.side,
                     scene.desired.theta, length, arcs);
  scene.goal = arcs.back().end() + 0.01 * random.unit_vector();
  const int count = random.integer(1, 4);
  for (int i = 0; i < count; ++i) {
    const BodyArc& arc =
        arcs[static_cast<std::size_t>(random.integer(0, static_cast<int>(arcs.size()) - 1))];
    const Vector3d center = arc.point(random.uniform(0.4, 1.0) * arc.length) +
                            random.uniform(0.0, 0.03) * random.unit_vector();
    Obstacle obstacle = sphere_at(center, random.uniform(0.0, 0.03));
    if (!spheres) {
      obstacle.shape = box({0.02, 0.015, 0.01});
      obstacle.X_BO.linear() =
          Eigen::AngleAxisd(random.angle(), random.unit_vector()).toRotationMatrix();
    }
    scene.list.push_back(obstacle);
  }
  return scene;
}

constexpr double kKeepOff = 0.005;

}  // namespace

TEST_CASE("tangency: the circle touches the disc", "[avoidance]") {
  constexpr double kTangencyTolerance = 1e-9;
  const PlaneDisc disc{0.03, 0.29, 0.07};
  CHECK(*tangency(disc, -1) == Approx(2.4969).margin(5e-5));
  CHECK(*tangency(disc, +1) == Approx(-0.9988).margin(5e-5));
  CHECK_FALSE(tangency({0.01, 0.02, 0.07}, 1));
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    const PlaneDisc d{random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5),
                      random.uniform(0.0, 0.2)};
    const auto right = tangency(d, +1), left = tangency(d, -1);
    REQUIRE(right.has_value() == (std::hypot(d.x, d.z) > d.radius));
    if (!right) continue;
    REQUIRE(*right <= *left);
    for (const double k : {*right, *left}) {
      if (std::abs(k) < 1e-3 || std::abs(k) > 1e3) continue;
      REQUIRE(from_circle(k, d.x, d.z) == Approx(d.radius).margin(kTangencyTolerance));
    }
    if (d.radius == 0.0) continue;
    const double inside = *right + random.uniform(0.01, 0.99) * (*left - *right);
    if (std::abs(inside) > 1e-3) REQUIRE(from_circle(inside, d.x, d.z) < d.radius);
  }
  const PlaneDisc point{0.1, 0.2, 0.0};  // a point: the chord arc, from both sides
  CHECK(*tangency(point, 1) == *tangency(point, -1));
  CHECK(*tangency(point, 1) == Approx(2.0 * 0.1 / (0.01 + 0.04)));
}

TEST_CASE("avoidance: the source's test of the whole circle is that of the tangencies",
          "[avoidance]") {
  // [FABRIKx] (2.41)-(2.44), with the position of the middle frame repaired: the center of the arc
  // is S/theta along x from the middle, R' = S/theta - |O - P_C|, collision when |R'| < R + r.
  Random random(2);
  int mismatches = 0, collisions = 0;
  for (int i = 0; i < 200000; ++i) {
    const double S = random.uniform(0.05, 0.5), theta = random.uniform(0.01, pi);
    const double x = random.uniform(-0.6, 0.6), z = random.uniform(-0.6, 0.6),
                 c = random.uniform(0.0, 0.15);
    const double rho = S / theta, half = 0.5 * theta;
    const double x_middle = rho * (1.0 - std::cos(half)), z_middle = rho * std::sin(half);
    const double x_center = x_middle + rho * std::cos(half),
                 z_center = z_middle - rho * std::sin(half);
    const double R = rho - std::hypot(x - x_center, z - z_center);
    const bool source = std::abs(R) < c;
    const auto right = tangency({x, z, c}, +1), left = tangency({x, z, c}, -1);
    const double k = theta / S;
    const bool tangencies = !right || (k > *right && k < *left);
    mismatches += source != tangencies;
    collisions += source;
  }
  CHECK(mismatches == 0);
  CHECK(collisions > 20000);
}

TEST_CASE("avoidance: a sphere acts in the bend plane as the disc that it cuts", "[avoidance]") {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const BodyArc arc = arc_of(random.uniform(-15.0, 15.0), random.uniform(0.05, 0.4));
    const Vector3d center = 0.4 * random.unit_vector() * random.uniform(0.0, 1.0);
    const Vector3d flat(center.x(), 0.0, center.z());
    const double space = (arc.point(nearest_arc_length(arc, center)) - center).norm();
    const double plane = (arc.point(nearest_arc_length(arc, flat)) - flat).norm();
    REQUIRE(space == Approx(std::hypot(plane, center.y())).margin(kAlgebraTolerance));
    const double c = random.uniform(0.01, 0.2);
    const auto disc = disc_in_plane(arc, center, c);
    REQUIRE(disc.has_value() == (std::abs(center.y()) < c));
    if (!disc) continue;
    REQUIRE(disc->x == Approx(center.x()).margin(kAlgebraTolerance));
    REQUIRE(disc->z == Approx(center.z()).margin(kAlgebraTolerance));
    if (std::abs(plane - disc->radius) > 1e-9) REQUIRE((plane < disc->radius) == (space < c));
  }
}

TEST_CASE("avoidance: a corrected section is free and within its limits", "[avoidance]") {
  const bool spheres = GENERATE(true, false);
  const int kind = GENERATE(0, 1, 2);
  CAPTURE(spheres, kind);
  Random random(4);
  const Section section =
      section_of(kind == 0   ? kExtensible
                 : kind == 1 ? SectionParameters{.length = 0.25, .bend_angle_limit = pi}
                             : SectionParameters{.length = 0.1,
                                                 .variable_length = 0.2,
                                                 .bend_angle_limit = pi,
                                                 .length_weights = {1, 2, 1},
                                                 .angle_weights = {2, 1, 3}});
  std::vector<BodyArc> arcs(section.length_weights().size());
  int corrected = 0, free = 0, blocked = 0;
  const int count = spheres ? 400 : 60;
  for (int i = 0; i < count; ++i) {
    const Scene scene = random_scene(random, section, spheres);
    const Obstacles obstacles(scene.list);
    AllocationCounter counter;
    const PlaneBend solution =
        avoid(section, scene.frame, scene.desired, scene.goal, obstacles, kKeepOff, arcs);
    CHECK(counter.count() == 0);
    const auto clearance = [&](const PlaneBend& bend) {
      place_section_arcs(section, scene.frame.start, scene.frame.tangent, scene.frame.side,
                         bend.theta, section.length() + bend.extension, arcs);
      return obstacles.nearest(arcs).distance - kKeepOff;
    };
    const double before = clearance(scene.desired);
    CHECK(solution.extension >= 0.0);
    CHECK(solution.extension <= section.variable_length());
    CHECK(std::abs(solution.theta) <= section.bend_angle_limit_at(solution.extension) + 1e-9);
    switch (solution.status) {
      case AvoidStatus::Free:
        ++free;
        CHECK(before >= -kTouchDistance);
        CHECK(solution.theta == scene.desired.theta);
        break;
      case AvoidStatus::Corrected:
        ++corrected;
        CHECK(before < -kTouchDistance);
        CHECK(clearance(solution) >= -1.01 * kTouchDistance);
        break;
      case AvoidStatus::Blocked:
        ++blocked;
        CHECK(before < -kTouchDistance);
        CHECK(solution.theta == scene.desired.theta);
        CHECK(solution.extension == scene.desired.extension);
        break;
    }
    const PlaneBend reversed = avoid(
        section, scene.frame, scene.desired, scene.goal,
        Obstacles(std::vector<Obstacle>(scene.list.rbegin(), scene.list.rend())), kKeepOff, arcs);
    CHECK(reversed.theta == solution.theta);
    CHECK(reversed.extension == solution.extension);
  }
  CHECK(corrected > count / 3);
  CHECK(corrected + free + blocked == count);
}

TEST_CASE("avoidance: the correction of a mirrored scene is the mirrored correction",
          "[avoidance]") {
  constexpr double kMirrorTolerance = 1e-9;
  Random random(5);
  const Section section = section_of(kExtensible);
  std::vector<BodyArc> arcs(1);
  for (int i = 0; i < 300; ++i) {
    Scene scene = random_scene(random, section, true);
    const PlaneBend solution = avoid(section, scene.frame, scene.desired, scene.goal,
                                     Obstacles(scene.list), kKeepOff, arcs);
    const auto mirror = [&](const Vector3d& p) {
      return Vector3d(p - 2.0 * (p - scene.frame.start).dot(scene.frame.side) * scene.frame.side);
    };
    for (Obstacle& obstacle : scene.list)
      obstacle.X_BO.translation() = mirror(obstacle.X_BO.translation());
    const PlaneBend desired{-scene.desired.theta, scene.desired.extension};
    const PlaneBend mirrored = avoid(section, scene.frame, desired, mirror(scene.goal),
                                     Obstacles(scene.list), kKeepOff, arcs);
    CHECK(mirrored.status == solution.status);
    CHECK(mirrored.theta == Approx(-solution.theta).margin(kMirrorTolerance));
    CHECK(mirrored.extension == Approx(solution.extension).margin(kMirrorTolerance));
  }
}

TEST_CASE("avoidance: the least bend that clears one sphere is its tangency", "[avoidance]") {
  // Straight section, sphere next to it on -x: bends away by the tangency, no more.
  const Section section = section_of({.length = 0.3, .bend_angle_limit = pi});
  std::vector<BodyArc> arcs(1);
  const Obstacles obstacles({sphere_at({-0.01, 0.0, 0.15}, 0.03)});
  const PlaneBend solution =
      avoid(section, {}, {0.0, 0.0}, Vector3d(0.0, 0.0, 0.3), obstacles, kKeepOff, arcs);
  REQUIRE(solution.status == AvoidStatus::Corrected);
  const double bend = *tangency({-0.01, 0.15, 0.035}, -1);
  CHECK(solution.theta == Approx(bend * 0.3).margin(1e-5));
  CHECK(solution.theta > 0.0);
}

TEST_CASE("avoidance: touching is free, a covered base is blocked, points and no body are legal",
          "[avoidance]") {
  const Section section = section_of({.length = 0.3, .bend_angle_limit = pi});
  std::vector<BodyArc> arcs(1);
  const Vector3d goal(0.0, 0.0, 0.3);
  const auto status = [&](const Vector3d& center, double radius, double safety_distance) {
    return avoid(section, {}, {0.0, 0.0}, goal, Obstacles({sphere_at(center, radius)}),
                 safety_distance, arcs)
        .status;
  };
  CHECK(status({0.05, 0.0, 0.1}, 0.05, 0.0) == AvoidStatus::Free);
  CHECK(status({0.05, 0.0, 0.1}, 0.05 + 0.9 * kTouchDistance, 0.0) == AvoidStatus::Free);
  CHECK(status({0.05, 0.0, 0.1}, 0.05 + 1.1 * kTouchDistance, 0.0) == AvoidStatus::Corrected);
  CHECK(status({0.0, 0.0, 0.01}, 0.02, 0.0) == AvoidStatus::Blocked);
  CHECK(status({0.0, 0.0, 0.1}, 0.0, 0.0) == AvoidStatus::Free);  // a point touched
  CHECK(status({0.0, 0.0, 0.1}, 0.0, 0.01) == AvoidStatus::Corrected);
  CHECK(avoid(section, {}, {0.1, 0.0}, goal, Obstacles(), 0.01, arcs).status == AvoidStatus::Free);
}
