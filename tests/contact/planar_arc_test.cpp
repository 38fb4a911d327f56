#include "tendril/contact/planar_arc.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector2d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr int kSamples = 2000;
/// Error of sampling: between samples h apart the nearest point is missed by h^2 / (8 d) at most,
/// by h/2 at d = 0.
constexpr double kSamplingTolerance = 1e-6;

Vector2d random_point(Random& random, double size) {
  return {random.uniform(-size, size), random.uniform(-size, size)};
}

PlanarPose random_pose(Random& random) { return {random_point(random, 0.5), random.angle()}; }

/// Draws an arc, from straight to more than a full turn; every third one has a tiny curvature.
PlanarArc random_arc(Random& random) {
  PlanarArc arc{random_pose(random), 0.0, random.uniform(0.01, 1.0)};
  const int kind = random.integer(0, 5);
  if (kind >= 2) arc.curvature = random.uniform(-8.0, 8.0);
  if (kind == 1) arc.curvature = std::pow(10.0, random.uniform(-12.0, -3.0));
  return arc;
}

/// The centerline by integrating its tangent with Simpson's rule: no formula of an arc.
Vector2d integrated_point(const PlanarArc& arc, double s) {
  const int steps = 400;
  const double h = s / steps;
  const auto tangent = [&](double at) {
    const double heading = arc.start.heading + arc.curvature * at;
    return Vector2d(std::sin(heading), std::cos(heading));
  };
  Vector2d sum = tangent(0.0) + tangent(s);
  for (int i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) * tangent(i * h);
  return arc.start.position + h / 3.0 * sum;
}

/// Least distance to `point`: samples, then golden sections around the best of them.
template <class Distance>
double sampled_minimum(const Distance& distance, double length) {
  double best = std::numeric_limits<double>::infinity(), at = 0.0;
  for (int i = 0; i <= kSamples; ++i) {
    const double s = length * i / kSamples;
    if (const double d = distance(s); d < best) best = d, at = s;
  }
  double low = std::max(0.0, at - length / kSamples),
         high = std::min(length, at + length / kSamples);
  for (int i = 0; i < 60; ++i) {
    const double a = low + 0.382 * (high - low), b = high - 0.382 * (high - low);
    (distance(a) < distance(b) ? high : low) = distance(a) < distance(b) ? b : a;
  }
  return std::min(best, distance(0.5 * (low + high)));
}

double distance_to_segment(const Vector2d& p, const Vector2d& a, const Vector2d& b) {
  const double share = std::clamp((p - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
  return (p - a - share * (b - a)).norm();
}

}  // namespace

TEST_CASE("planar arc: its points are those of the integrated tangent", "[planning]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const PlanarArc arc = random_arc(random);
  for (const double share : {0.0, 0.3, 1.0}) {
    const double s = share * arc.length;
    CHECK((arc.pose_at(s).position - integrated_point(arc, s)).norm() < 1e-10);
    CHECK(arc.pose_at(s).heading == Approx(arc.start.heading + arc.curvature * s).margin(1e-15));
  }
  CHECK((arc.end().position - arc.pose_at(arc.length).position).norm() == 0.0);
}

TEST_CASE("planar arc: is continuous where the series takes over", "[planning]") {
  const PlanarPose start{{0.1, 0.2}, 0.3};
  for (const double curvature : {0.999e-6, 1.001e-6, -0.999e-6, -1.001e-6}) {
    const PlanarArc arc{start, curvature, 1.0};
    const Vector2d local = start.to_local(arc.end().position);
    CHECK(std::abs(local.x() - curvature / 2) < 1e-15);
    CHECK(std::abs(local.y() - 1.0) < 1e-12);
  }
}

TEST_CASE("planar pose: to_world undoes to_local", "[planning]") {
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const PlanarPose pose = random_pose(random);
    const Vector2d p = random_point(random, 1.0);
    CHECK((pose.to_world(pose.to_local(p)) - p).norm() < kAlgebraTolerance);
    CHECK((pose.to_world({0.0, 1.0}) - pose.position - pose.tangent()).norm() < kAlgebraTolerance);
    CHECK((pose.to_world({1.0, 0.0}) - pose.position - pose.lateral()).norm() < kAlgebraTolerance);
  }
}

TEST_CASE("planar arc: the distance to a point is that of dense sampling", "[planning]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  Random random(seed);
  const PlanarArc arc = random_arc(random);
  const Vector2d point = random_point(random, 1.0);
  const double sampled = sampled_minimum(
      [&](double s) { return (arc.pose_at(s).position - point).norm(); }, arc.length);
  CHECK(std::abs(arc.distance(point) - sampled) < kSamplingTolerance);
  const double s = arc.nearest_parameter(point);
  CHECK(s >= 0.0);
  CHECK(s <= arc.length);
  CHECK((arc.pose_at(s).position - point).norm() == Approx(arc.distance(point)).margin(1e-9));
}

TEST_CASE("planar arc: a mirrored problem has the same nearest parameter", "[planning]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  Random random(seed);
  PlanarArc arc = random_arc(random);
  arc.start = {};
  const Vector2d point = random_point(random, 1.0);
  PlanarArc mirrored = arc;
  mirrored.curvature = -arc.curvature;
  CHECK(mirrored.nearest_parameter({-point.x(), point.y()}) == arc.nearest_parameter(point));
  CHECK(mirrored.distance({-point.x(), point.y()}) == arc.distance(point));
}

TEST_CASE("planar arc: the chord arc ends at its target", "[planning]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const PlanarPose start = random_pose(random);
  Vector2d target = random_point(random, 1.0);
  if (seed % 4 == 0)  // nearly straight ahead
    target = start.to_world({std::pow(10.0, random.uniform(-14.0, -3.0)), 0.4});
  const auto arc = chord_arc(start, target);
  REQUIRE(arc);
  CHECK((arc->end().position - target).norm() < 1e-11);
  CHECK(arc->length >= (target - start.position).norm() * (1.0 - 1e-12));
  CHECK(std::abs(arc->bend()) <= 2.0 * pi);
}

TEST_CASE("planar arc: there is no chord arc to the start or straight backwards", "[planning]") {
  const PlanarPose start;
  CHECK_FALSE(chord_arc(start, {0.0, 0.0}));
  CHECK_FALSE(chord_arc(start, {0.0, -0.1}));
  CHECK_FALSE(chord_arc(start, {0.0, std::numeric_limits<double>::quiet_NaN()}));
  CHECK(chord_arc(start, {0.0, 0.1})->curvature == 0.0);
}

TEST_CASE("planar arc: the tangent circle is at the disc's radius on the side asked for",
          "[planning]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  Random random(seed);
  const PlanarPose start = random_pose(random);
  const Vector2d center = random_point(random, 1.0);
  const double c = random.uniform(0.0, 0.3);
  const auto plus = tangency_curvature(start, center, c, BodySide::Positive);
  const auto minus = tangency_curvature(start, center, c, BodySide::Negative);
  if ((center - start.position).norm() <= c) {
    CHECK_FALSE(plus);
    CHECK_FALSE(minus);
    return;
  }
  REQUIRE((plus && minus));
  CHECK(*plus <= *minus);
  for (const auto& [k, sigma] : {std::pair(*plus, 1.0), std::pair(*minus, -1.0)}) {
    const PlanarArc circle{start, k, 2.0 * pi / std::abs(k)};
    CHECK(std::abs(circle.distance(center) - c) < 1e-9);
    const PlanarPose touch = circle.pose_at(circle.nearest_parameter(center));
    if (c > 1e-6)  // on which side of the body the center is
      CHECK(sigma * touch.to_local(center).x() > 0.0);
  }
  // Between the two the circle enters the disc, outside it does not.
  const double between = *plus + random.uniform(0.01, 0.99) * (*minus - *plus);
  CHECK(PlanarArc{start, between, 2.0 * pi / std::abs(between)}.distance(center) < c);
  for (const double past : {*plus - 0.1, *minus + 0.1})
    CHECK(PlanarArc{start, past, 2.0 * pi / std::abs(past)}.distance(center) > c);
}

TEST_CASE("planar arc: the tangency of the worked value", "[planning]") {
  CHECK(*tangency_curvature({}, {0.03, 0.29}, 0.07, BodySide::Negative) ==
        Approx(2.4969).margin(5e-5));
  CHECK(*tangency_curvature({}, {0.03, 0.29}, 0.07, BodySide::Positive) ==
        Approx(-0.9988).margin(5e-5));
}

TEST_CASE("planar arc: the distance to a segment is that of dense sampling", "[planning]") {
  const auto seed = GENERATE(range(0u, 400u));
  CAPTURE(seed);
  Random random(seed);
  const PlanarArc arc = random_arc(random);
  const Vector2d a = random_point(random, 1.0);
  const Vector2d b = seed % 10 == 0 ? a + 1e-6 * Vector2d(1, 2) : random_point(random, 1.0);
  const ArcSegmentDistance result = segment_distance(arc, a, b);
  const double sampled = sampled_minimum(
      [&](double s) { return distance_to_segment(arc.pose_at(s).position, a, b); }, arc.length);
  CHECK(std::abs(result.distance - sampled) < kSamplingTolerance);
  CHECK(result.first_crossing.has_value() == (result.distance == 0.0));
  if (!result.first_crossing) return;
  CHECK(distance_to_segment(arc.pose_at(*result.first_crossing).position, a, b) < 1e-9);
  double first = arc.length;  // where the samples change the side of the segment first
  for (int i = 0; i < kSamples; ++i) {
    const double s = arc.length * i / kSamples;
    if (distance_to_segment(arc.pose_at(s).position, a, b) < arc.length / kSamples) {
      first = s;
      break;
    }
  }
  CHECK(*result.first_crossing >= first - 2.0 * arc.length / kSamples);
}

TEST_CASE("planar arc: a sphere off the bending plane acts as a smaller disc", "[planning]") {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    const PlanarArc arc = random_arc(random);
    const Vector2d p = random_point(random, 1.0);
    const double y = random.uniform(-0.3, 0.3), c = random.uniform(0.0, 0.4);
    const double d3 = sampled_minimum(
        [&](double s) { return std::hypot((arc.pose_at(s).position - p).norm(), y); }, arc.length);
    CHECK(std::abs(std::hypot(arc.distance(p), y) - d3) < kSamplingTolerance);
    const bool enters = std::abs(y) < c && arc.distance(p) < std::sqrt(c * c - y * y);
    if (std::abs(d3 - c) > kSamplingTolerance) CHECK(enters == (d3 < c));
  }
}
