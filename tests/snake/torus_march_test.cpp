#include "tendril/snake/torus_march.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/snake/march_start.hpp"
#include "tendril/snake/snake_fit.hpp"
#include "tests/snake/snake_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Matrix3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

constexpr double kOnCurve = 1e-12;  // [m], even points of up to 40 modules

/// Largest distance of the even points, by forward kinematics, from where the march put them.
double even_error(const SnakeChain& chain, CurveRef curve, const MarchResult& result,
                  MarchArrays& arrays) {
  std::vector<Vector3d> p(arrays.angles.size() + 1);
  snake_points(chain, result.X_WB, arrays.angles, p);
  double worst = 0.0;
  for (std::size_t k = 0; k < arrays.parameters.size(); ++k)
    worst = std::max(worst, (p[2 * k] - curve.at(arrays.parameters[k]).position).norm());
  return worst;
}

void check_march(const SnakeChain& chain, CurveRef curve, RootMethod method) {
  MarchArrays arrays(chain);
  const double margin = 0.01 * (curve.end() - curve.begin());
  {
    const double s = curve.begin() + margin;
    const Matrix3d R = tangent_frame(curve.at(s).first, Vector3d::UnitZ());
    const MarchResult result =
        march_from_base(chain, curve, s, R, arrays.memory(), {.method = method});
    INFO(describe(result));
    REQUIRE(result.ok());
    CHECK(even_error(chain, curve, result, arrays) < kOnCurve);
    CHECK(std::is_sorted(arrays.parameters.begin(), arrays.parameters.end()));
    if (method == RootMethod::Newton) CHECK(result.largest_iterations <= 10);
  }
  {
    const double s = curve.end() - margin;
    const Matrix3d R = tangent_frame(curve.at(s).first, Vector3d::UnitZ());
    const MarchResult result =
        march_from_head(chain, curve, s, R, arrays.memory(), {.method = method});
    INFO(describe(result));
    REQUIRE(result.ok());
    CHECK(even_error(chain, curve, result, arrays) < kOnCurve);
    CHECK(std::is_sorted(arrays.parameters.begin(), arrays.parameters.end()));
    CHECK(arrays.angles[0] == 0.0);
    if (method == RootMethod::Newton) CHECK(result.largest_iterations <= 10);
  }
}

SnakeChain chain_with_ratio(int modules, double ratio) {
  std::vector<double> lengths;
  for (int k = 0; k < modules; ++k) {
    lengths.push_back(0.14 * ratio / (1.0 + ratio));
    lengths.push_back(0.14 / (1.0 + ratio));
  }
  return SnakeChain({.link_lengths = lengths});
}

}  // namespace

TEST_CASE("torus march: even points lie on every curve, in both directions, by both methods",
          "[snake]") {
  const int modules = GENERATE(1, 8, 40);
  const double ratio = GENERATE(1.0, 0.95, 1.05);
  const RootMethod method = GENERATE(RootMethod::Newton, RootMethod::FalsePosition);
  CAPTURE(modules, ratio, method == RootMethod::Newton);
  const SnakeChain chain = chain_with_ratio(modules, ratio);
  const double length = chain.length() * 1.2;
  SECTION("line") { check_march(chain, Line({0, 0, 0}, {1, 1, 0.2}, length), method); }
  SECTION("helix") { check_march(chain, Helix(0.4, 0.5, length), method); }
  SECTION("sine") { check_march(chain, SineCurve(0.06, 1.3, 0.05, 1.1, length), method); }
  SECTION("spiral") { check_march(chain, ConicalSpiral(0.4, 0.03, 0.05, length / 0.4), method); }
  SECTION("spline") {
    Random random(7);
    check_march(chain, random_spline(random, static_cast<int>(length / 0.2) + 4, 0.25, 0.25),
                method);
  }
}

TEST_CASE("torus march: agrees with a dense search on random splines", "[snake]") {
  // Tame and wild ones; 1e5 of them: bench/snake_bench, random_splines.
  constexpr double kSameParameter = 1e-9;
  constexpr int kSteps = 300;
  const double turn = GENERATE(0.3, 0.9, 1.8);
  const RootMethod method = GENERATE(RootMethod::Newton, RootMethod::FalsePosition);
  int fine = 0, failed = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    CAPTURE(turn, seed);
    Random random(seed);
    const SnakeChain chain = random_chain(random, 6, 0.05, 0.09);
    const CubicSpline curve = random_spline(random, 8, 0.17, turn);
    const Matrix3d R = tangent_frame(curve.at(0.0).first, random.unit_vector());
    const DenseMarch expected = dense_march(chain, curve, 0.0, R, kSteps);
    MarchArrays arrays(chain);
    const MarchResult result =
        march_from_base(chain, curve, 0.0, R, arrays.memory(), {.method = method});
    INFO(describe(result));
    CHECK(result.status == expected.status);
    CHECK(result.module == expected.module);
    for (std::size_t k = 0; k < expected.parameters.size(); ++k)
      CHECK(std::abs(arrays.parameters[k] - expected.parameters[k]) < kSameParameter);
    (result.ok() ? fine : failed) += 1;
  }
  CHECK(fine + failed == 120);
  if (turn < 0.5) CHECK(fine > 100);
  if (turn > 1.5) CHECK(failed > 30);
}

TEST_CASE("torus march: steady arcs give the known joint angles", "[snake]") {
  constexpr double kSteady = 1e-9;  // [rad]
  const double a = 0.07, r = GENERATE(0.2, 0.3, 0.6);
  const SnakeChain chain = SnakeChain::uniform(6, a);
  MarchArrays arrays(chain);
  SECTION("in the plane of the yaw joints: 2 asin(a/r)") {
    const Arc arc({0, 0, 0}, {1, 0, 0}, {0, 1, 0}, r, 2.0 * chain.length() / r);
    REQUIRE(march_from_base(chain, arc, 0.0, Matrix3d::Identity(), arrays.memory()).ok());
    for (std::size_t j = 2; j < arrays.angles.size(); j += 2) {
      CHECK(std::abs(arrays.angles[j] - 2.0 * std::asin(a / r)) < kSteady);
      CHECK(std::abs(arrays.angles[j + 1]) < kSteady);
    }
  }
  SECTION("in the plane of the pitch joints: 2 atan(a/r)") {
    // The bar of body 0 and link 1 has its middle at B_0: no tilt.
    const Arc arc({0, 0, 0}, {1, 0, 0}, {0, 0, 1}, r, 2.0 * chain.length() / r);
    REQUIRE(march_from_base(chain, arc, 0.0, Matrix3d::Identity(), arrays.memory()).ok());
    for (std::size_t j = 0; j < arrays.angles.size(); j += 2) {
      CHECK(std::abs(arrays.angles[j]) < kSteady);
      CHECK(std::abs(arrays.angles[j + 1] - 2.0 * std::atan(a / r)) < kSteady);
    }
  }
}

TEST_CASE("torus march: arcs above the limit give a reason, just within it angles", "[snake]") {
  const double limit = 1.0, a = 0.07;
  const SnakeChain chain = SnakeChain::uniform(6, a, limit);
  const double yaw_radius = a / std::sin(limit / 2.0), pitch_radius = a / std::tan(limit / 2.0);
  const bool yaw = GENERATE(true, false);
  const double scale = GENERATE(0.99, 1.01);
  CAPTURE(yaw, scale);
  const double r = scale * (yaw ? yaw_radius : pitch_radius);
  const Vector3d inward = yaw ? Vector3d(0, 1, 0) : Vector3d(0, 0, 1);
  const Arc arc({0, 0, 0}, {1, 0, 0}, inward, r, 2.0 * chain.length() / r);
  MarchArrays arrays(chain);
  const MarchResult result =
      march_from_base(chain, arc, 0.0, Matrix3d::Identity(), arrays.memory());
  if (scale > 1.0) {
    CHECK(result.ok());
  } else {
    CHECK(result.status == MarchStatus::JointLimit);
    CHECK(result.module == (yaw ? 2 : 1));
    CHECK(result.joint == (yaw ? 3 : 2));
    CHECK(std::abs(result.angle) > limit);
    CHECK(result.limit == limit);
    CHECK(result.curvature == Approx(1.0 / r));
    CHECK(result.curvature_limit == Approx(1.0 / (yaw ? yaw_radius : pitch_radius)));
    CHECK(result.curvature > result.curvature_limit);
  }
}

TEST_CASE("torus march: failures name the module and keep what comes after it", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(4, 0.07);
  MarchArrays arrays(chain);
  std::fill(arrays.angles.begin(), arrays.angles.end(), 9.0);
  const Matrix3d R = Matrix3d::Identity();
  SECTION("too short for the body") {
    const Line line({0, 0, 0}, {1, 0, 0}, 0.4);
    const MarchResult result = march_from_base(chain, line, 0.0, R, arrays.memory());
    CHECK(result.status == MarchStatus::PathTooShort);
    CHECK(result.module == 3);
    CHECK(describe(result) == "module 3: path too short");
    CHECK(arrays.angles[3] == 0.0);
    CHECK(arrays.angles[4] == 9.0);
    const MarchResult back = march_from_head(chain, line, 0.4, R, arrays.memory());
    CHECK(back.status == MarchStatus::PathTooShort);
    CHECK(back.module == 2);
  }
  SECTION("straight up from the base: a pitch joint would bend by more than a right angle") {
    const Line line({0, 0, 0}, {0.1, 0, 1}, 2.0);
    const MarchResult result = march_from_base(chain, line, 0.0, R, arrays.memory());
    CHECK(result.status == MarchStatus::TooTight);
    CHECK(result.module == 1);
    CHECK(result.joint == 2);
    CHECK(result.angle > pi / 2);
  }
  SECTION("not a start") {
    const Line line({0, 0, 0}, {1, 0, 0}, 1.0);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(march_from_base(chain, line, -0.1, R, arrays.memory()).status ==
          MarchStatus::InvalidStart);
    CHECK(march_from_base(chain, line, nan, R, arrays.memory()).status ==
          MarchStatus::InvalidStart);
    CHECK(march_from_head(chain, line, 1.1, R, arrays.memory()).status ==
          MarchStatus::InvalidStart);
    CHECK(march_from_base(chain, line, 0.0, R * nan, arrays.memory()).status ==
          MarchStatus::InvalidStart);
  }
}

namespace {

/// A line that does something bad at s = 0.2.
struct BadLine {
  enum class Fault { Nan, Stop, Jump } fault;
  [[nodiscard]] CurvePoint at(double s) const noexcept {
    CurvePoint point{{s, 0, 0}, {1, 0, 0}, {0, 0, 0}};
    if (s < 0.2) return point;
    if (fault == Fault::Nan) point.position.y() = std::numeric_limits<double>::quiet_NaN();
    if (fault == Fault::Stop) point.first.setZero();
    if (fault == Fault::Jump) point.position.x() += 1.0;
    return point;
  }
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return 2.0; }
};

}  // namespace

TEST_CASE("torus march: curves that break give a status, not angles", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(4, 0.07);
  MarchArrays arrays(chain);
  const RootMethod method = GENERATE(RootMethod::Newton, RootMethod::FalsePosition);
  const auto status = [&](BadLine::Fault fault) {
    const BadLine line{fault};
    const MarchResult result = march_from_base(chain, line, 0.0, Matrix3d::Identity(),
                                               arrays.memory(), {.method = method});
    CHECK(result.module == 2);
    return result.status;
  };
  CHECK(status(BadLine::Fault::Nan) == MarchStatus::InvalidCurve);
  CHECK(status(BadLine::Fault::Stop) == MarchStatus::InvalidCurve);
  CHECK(status(BadLine::Fault::Jump) == MarchStatus::NoConvergence);
}

TEST_CASE("torus march: never jumps to another strand that comes near", "[snake]") {
  // Strands of a flat coil 20 mm apart, links of 70 mm.
  const SnakeChain chain = SnakeChain::uniform(12, 0.07);
  const ConicalSpiral coil(0.3, 0.02 / (2.0 * pi), 0.0, 6.0 * pi);
  MarchArrays arrays(chain);
  const Matrix3d R = tangent_frame(coil.at(0.0).first, Vector3d::UnitZ());
  REQUIRE(march_from_base(chain, coil, 0.0, R, arrays.memory()).ok());
  for (std::size_t k = 1; k < arrays.parameters.size(); ++k) {
    const double distance = (arrays.parameters[k] - arrays.parameters[k - 1]) *
                            coil.at(arrays.parameters[k]).first.norm();
    CHECK(distance == Approx(0.14).epsilon(0.02));
  }
}

TEST_CASE("torus march: 500 modules", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(500, 0.07);
  const Helix helix(0.5, 0.4, 1.01 * chain.length());
  MarchArrays arrays(chain);
  const Matrix3d R = tangent_frame(helix.at(0.0).first, Vector3d::UnitZ());
  const MarchResult result = march_from_base(chain, helix, 0.0, R, arrays.memory());
  INFO(describe(result));
  REQUIRE(result.ok());
  CHECK(even_error(chain, helix, result, arrays) < 1e-10);
}

TEST_CASE("torus march: a rear link lies along the curve behind the base point", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(6, 0.06, pi / 2, 0.06);
  const Arc arc({0, 0, 0}, {1, 0, 0}, {0, 1, 0}, 0.5, 3.0);
  MarchArrays arrays(chain);
  const Matrix3d R = tangent_frame(arc.at(1.2).first, Vector3d::UnitZ());
  const MarchResult result = march_from_head(chain, arc, 1.2, R, arrays.memory());
  REQUIRE(result.ok());
  const Vector3d rear = result.X_WB * Vector3d(-0.06, 0, 0), center(0, 0.5, 0);
  CHECK((rear - center).norm() == Approx(0.5).epsilon(1e-12));
  CHECK(even_error(chain, arc, result, arrays) < kOnCurve);
  CHECK(arrays.angles[0] == Approx(std::asin(0.03 / 0.5) + std::asin(0.06 / 0.5)));
}

TEST_CASE("torus march: allocates nothing and repeats itself bit for bit", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(12, 0.07);
  const Helix helix(0.4, 0.5, 3.0);
  MarchArrays arrays(chain), again(chain);
  const Matrix3d R = tangent_frame(helix.at(1.8).first, Vector3d::UnitZ());
  AllocationCounter counter;
  const MarchResult first = march_from_head(chain, helix, 1.8, R, arrays.memory());
  const MarchStart start = choose_start(chain, helix, 0.1, MarchDirection::BaseToHead,
                                        Vector3d::UnitZ(), again.memory());
  const MarchResult second = march_from_head(chain, helix, 1.8, R, again.memory());
  CHECK(counter.count() == 0);
  CHECK(start.march.ok());
  CHECK(first.ok());
  CHECK(second.ok());
  CHECK(arrays.angles == again.angles);
}

TEST_CASE("zig-zag: a wrong start tilt alternates, and grows by the ratio of the links",
          "[snake]") {
  const double ratio = GENERATE(0.8, 1.0, 1.25);
  const bool forward = GENERATE(true, false);
  CAPTURE(ratio, forward);
  const SnakeChain chain = chain_with_ratio(8, ratio);
  const Line line({0, 0, 0}, {1, 0, 0}, 2.0);
  MarchArrays arrays(chain);
  const double tilt = 0.002;  // small, so that the ratios are those of the linear law
  const Matrix3d R = tangent_frame(Vector3d::UnitX(), Vector3d::UnitZ(), 0.0, tilt);
  const MarchResult result = forward ? march_from_base(chain, line, 0.0, R, arrays.memory())
                                     : march_from_head(chain, line, 1.9, R, arrays.memory());
  REQUIRE(result.ok());
  const double q = forward ? ratio : 1.0 / ratio;
  for (std::size_t i = 1; i < 8; ++i) {
    const std::size_t before = forward ? 2 * i - 1 : 15 - 2 * (i - 1);
    const std::size_t here = forward ? 2 * i + 1 : 15 - 2 * i;
    CHECK(arrays.angles[here] / arrays.angles[before] == Approx(-q).epsilon(1e-3));
  }
}

TEST_CASE("balanced march: a wrong start tilt dies away, whatever the ratio of the links",
          "[snake]") {
  const double ratio = GENERATE(0.8, 1.0, 1.25, 2.0);
  CAPTURE(ratio);
  const SnakeChain chain = chain_with_ratio(8, ratio);
  const Line line({0, 0, 0}, {1, 0, 0}, 2.0);
  MarchArrays arrays(chain);
  const Matrix3d R = tangent_frame(Vector3d::UnitX(), Vector3d::UnitZ(), 0.0, 0.002);
  const MarchResult result =
      march_from_base(chain, line, 0.0, R, arrays.memory(), {.target = MarchTarget::AllJoints});
  REQUIRE(result.ok());
  std::vector<Vector3d> p(17);
  snake_points(chain, result.X_WB, arrays.angles, p);
  for (std::size_t j = 3; j < 16; j += 2)
    CHECK(p[j].z() / p[j - 2].z() == Approx(-ratio / (2.0 + ratio)).epsilon(2e-3));
  for (std::size_t j = 2; j < 16; j += 2)
    CHECK(std::abs(p[j].z()) < 1.001 * std::abs(p[j + 1].z()));  // even points share the distance
  CHECK(std::abs(p[16].z()) < kOnCurve);
}

TEST_CASE("balanced march: on steady arcs odd and even joints share a^2 kappa / 2, in any plane",
          "[snake]") {
  const double plane = GENERATE(0.0, 0.5, 1.0, pi / 2.0, 2.5);
  CAPTURE(plane);
  const double a = 0.06, r = 0.5;
  const SnakeChain chain = SnakeChain::uniform(12, a);
  const Arc arc({0, 0, 0}, {1, 0, 0}, {0, std::cos(plane), std::sin(plane)}, r, 3.0);
  MarchArrays arrays(chain);
  const MarchResult result = march_from_base(chain, arc, 0.0, Matrix3d::Identity(), arrays.memory(),
                                             {.target = MarchTarget::AllJoints});
  REQUIRE(result.ok());
  std::vector<Vector3d> p(25);
  snake_points(chain, result.X_WB, arrays.angles, p);
  // The start is no part of the steady arc, and the last module has its head on the curve.
  const double share = a * a / r / 4.0;
  for (std::size_t j = 8; j <= 22; ++j) {
    const std::size_t k = j / 2;
    const double guess =
        j % 2 == 0 ? arrays.parameters[k] : 0.5 * (arrays.parameters[k] + arrays.parameters[k + 1]);
    CHECK(nearest_on_curve(arc, p[j], guess).distance == Approx(share).epsilon(0.12));
  }
  CHECK((p[24] - arc.at(arrays.parameters[12]).position).norm() < kOnCurve);
  CHECK((p[0] - arc.at(0.0).position).norm() < kOnCurve);
}

TEST_CASE("balanced march: all joints come nearer to every curve", "[snake]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  const SnakeChain chain = random_chain(random, 12, 0.05, 0.07);
  const CubicSpline curve = random_spline(random, 16, 0.2, 0.5);
  const Matrix3d R = tangent_frame(curve.at(0.0).first, Vector3d::UnitZ());
  MarchArrays even(chain), all(chain);
  const MarchResult a = march_from_base(chain, curve, 0.0, R, even.memory());
  const AllocationCounter counter;
  const MarchResult b =
      march_from_base(chain, curve, 0.0, R, all.memory(), {.target = MarchTarget::AllJoints});
  CHECK(counter.count() == 0);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  const CurveDeviation before = curve_deviation(chain, curve, a.X_WB, even.angles, even.parameters);
  const CurveDeviation after = curve_deviation(chain, curve, b.X_WB, all.angles, all.parameters);
  CHECK(after.worst() < 0.8 * before.worst());
}

TEST_CASE("zig-zag: a smooth shape has none", "[snake]") {
  const SnakeChain chain = chain_with_ratio(8, 1.25);
  MarchArrays arrays(chain);
  const Arc arc({0, 0, 0}, {1, 0, 0}, {0, 1, 0}, 0.5, 4.0);
  REQUIRE(march_from_base(chain, arc, 0.0, Matrix3d::Identity(), arrays.memory()).ok());
  // Its amplitude at the head, |phi_12 - 2 phi_14 + phi_16|/4.
  CHECK(std::abs(arrays.angles[11] - 2.0 * arrays.angles[13] + arrays.angles[15]) < 4e-9);
}

TEST_CASE("start: the chosen roll and tilt need smaller angles than none", "[snake]") {
  const auto seed = GENERATE(range(0u, 10u));
  CAPTURE(seed);
  Random random(seed);
  const SnakeChain chain = SnakeChain::uniform(8, 0.07);
  const CubicSpline curve = random_spline(random, 9, 0.2, 0.4);
  MarchArrays arrays(chain);
  const bool forward = seed % 2 == 0;
  const double s = forward ? 0.0 : curve.end();
  const MarchDirection direction =
      forward ? MarchDirection::BaseToHead : MarchDirection::HeadToBase;
  const MarchStart start =
      choose_start(chain, curve, s, direction, Vector3d::UnitZ(), arrays.memory());
  REQUIRE(start.march.ok());
  CHECK(even_error(chain, curve, start.march, arrays) < kOnCurve);
  CHECK(std::abs(start.roll) <= pi / 2);

  // Not worse than anything on a finer grid, by more than a hair.
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 36; ++i) {
    for (int l = -12; l <= 12; ++l) {
      const Matrix3d R =
          tangent_frame(curve.at(s).first, Vector3d::UnitZ(), pi * i / 36.0, 0.04 * l);
      const MarchResult result = forward ? march_from_base(chain, curve, s, R, arrays.memory())
                                         : march_from_head(chain, curve, s, R, arrays.memory());
      if (!result.ok()) continue;
      double sum = 0.0;
      for (const double angle : arrays.angles) sum += angle * angle;
      best = std::min(best, sum);
    }
  }
  CHECK(start.sum_of_squares <= 1.02 * best);
}

namespace {

/// Universal joints `lengths` apart.
SnakeChain universal_chain(const std::vector<double>& lengths, double rear_length = 0.0,
                           double joint_limit = pi / 2.0) {
  std::vector<double> links;
  for (const double length : lengths) links.insert(links.end(), {0.0, length});
  return SnakeChain(
      {.link_lengths = links, .joint_limit = joint_limit, .rear_length = rear_length});
}

/// Ends of the links by Eigen's rotations: R Rot(z, yaw) Rot(-y, pitch), then the link along x.
std::vector<Vector3d> universal_points(const std::vector<double>& lengths,
                                       const Eigen::Isometry3d& X_WB,
                                       const std::vector<double>& angles) {
  std::vector<Vector3d> points{X_WB.translation()};
  Matrix3d R = X_WB.linear();
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    R = R * Eigen::AngleAxisd(angles[2 * k], Vector3d::UnitZ()) *
        Eigen::AngleAxisd(angles[2 * k + 1], -Vector3d::UnitY());
    points.push_back(points.back() + lengths[k] * R.col(0));
  }
  return points;
}

/// Andersson's points by brute force: the first crossing of the sphere in small steps, halved.
std::vector<double> dense_spheres(CurveRef curve, double s, const std::vector<double>& lengths,
                                  int direction) {
  std::vector<double> found{s};
  for (const double length : lengths) {
    const Vector3d b = curve.at(s).position;
    const auto outside = [&](double at) { return (curve.at(at).position - b).norm() > length; };
    const double step = 0.003 * direction * length / curve.at(s).first.norm();
    double high = s + step;
    while (!outside(high)) high += step;
    double low = high - step;
    for (int i = 0; i < 60; ++i) (outside(0.5 * (low + high)) ? high : low) = 0.5 * (low + high);
    found.push_back(s = 0.5 * (low + high));
  }
  return found;
}

}  // namespace

TEST_CASE("sphere march: universal joints lie where a dense search finds them", "[snake]") {
  constexpr double kSameParameter = 1e-9;
  const RootMethod method =
      GENERATE(RootMethod::Newton, RootMethod::FalsePosition, RootMethod::Bisection);
  const MarchTarget target = GENERATE(MarchTarget::EvenJoints, MarchTarget::AllJoints);
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<double> lengths(7);
    for (double& length : lengths) length = random.uniform(0.06, 0.13);
    const double rear = seed % 2 == 0 ? 0.0 : 0.09;
    const SnakeChain chain = universal_chain(lengths, rear);
    const CubicSpline curve = random_spline(random, 10, 0.17, 0.5);
    MarchArrays arrays(chain);
    const auto check = [&](const MarchResult& result, const std::vector<double>& expected) {
      INFO(describe(result));
      REQUIRE(result.ok());
      const std::vector<Vector3d> points = universal_points(lengths, result.X_WB, arrays.angles);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        CHECK(std::abs(arrays.parameters[k] - expected[k]) < kSameParameter);
        CHECK((points[k] - curve.at(expected[k]).position).norm() < kSameParameter);
      }
    };
    const Vector3d up = random.unit_vector();
    const Matrix3d R_0 = tangent_frame(curve.at(0.0).first, up, 0.3, 0.1);
    const MarchOptions options{.method = method, .target = target};
    check(march_from_base(chain, curve, 0.0, R_0, arrays.memory(), options),
          dense_spheres(curve, 0.0, lengths, 1));

    const double s_head = curve.end();
    std::vector<double> back(lengths.rbegin(), lengths.rend());
    if (rear > 0.0) back.push_back(rear);
    std::vector<double> expected = dense_spheres(curve, s_head, back, -1);
    std::reverse(expected.begin(), expected.end());
    const double s_rear = expected.front();
    if (rear > 0.0) expected.erase(expected.begin());
    const Matrix3d R_head = tangent_frame(curve.at(s_head).first, up);
    const MarchResult result =
        march_from_head(chain, curve, s_head, R_head, arrays.memory(), options);
    check(result, expected);
    const Vector3d behind = result.X_WB * Vector3d(-rear, 0.0, 0.0);
    if (rear > 0.0) CHECK((behind - curve.at(s_rear).position).norm() < kSameParameter);
    std::vector<Eigen::Isometry3d> frames(arrays.angles.size() + 1);
    snake_frames(chain, result.X_WB, arrays.angles, frames);
    const Matrix3d& R = frames.back().linear();  // its roll: z nearest to that of R_head
    CHECK(std::abs(R.col(1).dot(R_head.col(2))) < kSameParameter);
    CHECK(R.col(2).dot(R_head.col(2)) > 0.0);
  }
}

TEST_CASE(
    "sphere march: a steady arc bends every joint by 2 asin(a/2r), and no further than its limit",
    "[snake]") {
  constexpr double kSteady = 1e-9;  // [rad]
  const double a = 0.1, r = 0.25, bend = 2.0 * std::asin(0.5 * a / r);
  const Arc arc({0, 0, 0}, {1, 0, 0}, {0, 0, 1}, r, 1.0 / r);
  const SnakeChain chain = universal_chain(std::vector<double>(6, a), 0.0, bend + 1e-6);
  MarchArrays arrays(chain);
  REQUIRE(march_from_base(chain, arc, 0.0, Matrix3d::Identity(), arrays.memory()).ok());
  CHECK(std::abs(arrays.angles[1] - 0.5 * bend) < kSteady);
  for (std::size_t j = 3; j < arrays.angles.size(); j += 2) {
    CHECK(std::abs(arrays.angles[j] - bend) < kSteady);
    CHECK(std::abs(arrays.angles[j - 1]) < kSteady);
  }
  CHECK(chain.curvature_limit(4) == Approx(1.0 / r).epsilon(1e-4));
  const SnakeChain stiff = universal_chain(std::vector<double>(6, a), 0.0, bend - 1e-3);
  const MarchResult result =
      march_from_base(stiff, arc, 0.0, Matrix3d::Identity(), arrays.memory());
  CHECK(result.status == MarchStatus::JointLimit);
  CHECK(result.joint == 4);
}

TEST_CASE("sphere march: a link along the yaw axis is an end of the range, not a NaN", "[snake]") {
  const SnakeChain chain = universal_chain({0.1});
  const Line up({0, 0, 0}, {0, 0, 1}, 1.0);
  MarchArrays arrays(chain);
  const MarchResult result = march_from_base(chain, up, 0.0, Matrix3d::Identity(), arrays.memory());
  REQUIRE(result.ok());
  CHECK(arrays.angles[0] == 0.0);
  CHECK(arrays.angles[1] == Approx(pi / 2.0));
}
