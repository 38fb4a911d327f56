#include "tendril/snake/snake_fit.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/snake/march_start.hpp"
#include "tests/snake/snake_cases.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

/// Distance of a point from the whole curve by brute force, as an oracle; good to 1 um.
double dense_distance(CurveRef curve, const Vector3d& p) {
  constexpr int kSamples = 4000;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSamples; ++i) {
    const double step = (curve.end() - curve.begin()) / kSamples;
    const Vector3d a = curve.at(curve.begin() + i * step).position;
    const Vector3d segment = curve.at(curve.begin() + (i + 1) * step).position - a;
    const double share = std::clamp((p - a).dot(segment) / segment.squaredNorm(), 0.0, 1.0);
    best = std::min(best, (p - a - share * segment).norm());
  }
  return best;
}

void check_halved(int modules, CurveRef curve, double s) {
  const SnakeChain chain = SnakeChain::uniform(modules, 0.07);
  MarchArrays arrays(chain);
  const MarchStart start =
      choose_start(chain, curve, s, MarchDirection::BaseToHead, Vector3d::UnitZ(), arrays.memory());
  REQUIRE(start.march.ok());
  const CurveDeviation marched =
      curve_deviation(chain, curve, start.march.X_WB, arrays.angles, arrays.parameters);
  SnakeFit fit(chain);
  const SnakeFitResult result = fit.fit(curve, start.march.X_WB, arrays.angles, arrays.parameters);
  CHECK(result.converged);
  CHECK(result.before.odd == marched.odd);
  CHECK(marched.even < 1e-12);
  CHECK(marched.odd > 0.002);
  CHECK(result.after.odd <= 0.5 * marched.odd);
  CHECK(result.after.worst() <= 0.6 * marched.odd);

  std::vector<Vector3d> p(arrays.angles.size() + 1);
  snake_points(chain, result.X_WB, arrays.angles, p);
  double odd = 0.0, even = 0.0;
  for (std::size_t j = 0; j < p.size(); ++j)
    (j % 2 == 0 ? even : odd) = std::max(j % 2 == 0 ? even : odd, dense_distance(curve, p[j]));
  constexpr double kDenseTolerance = 5e-6;  // [m], the chords of the oracle
  CHECK(std::abs(odd - result.after.odd) < kDenseTolerance);
  CHECK(std::abs(even - result.after.even) < kDenseTolerance);
}

}  // namespace

TEST_CASE("deviation: after a march on an arc only the odd joints are off, by the known distance",
          "[snake]") {
  const double a = 0.07, r = GENERATE(0.2, 0.5);
  const bool yaw = GENERATE(true, false);
  const SnakeChain chain = SnakeChain::uniform(6, a);
  const Vector3d inward = yaw ? Vector3d(0, 1, 0) : Vector3d(0, 0, 1);
  const Arc arc({0, 0, 0}, {1, 0, 0}, inward, r, 2.0 * chain.length() / r);
  MarchArrays arrays(chain);
  const Matrix3d R = Matrix3d::Identity();
  const MarchResult result = march_from_base(chain, arc, 0.0, R, arrays.memory());
  REQUIRE(result.ok());
  const CurveDeviation deviation =
      curve_deviation(chain, arc, result.X_WB, arrays.angles, arrays.parameters);
  CHECK(deviation.even < kAlgebraTolerance);
  CHECK(deviation.odd == Approx(yaw ? r - std::sqrt(r * r - a * a) : std::hypot(r, a) - r));
  CHECK(deviation.worst_point % 2 == 1);
}

TEST_CASE("fit: halves the odd joints' distance on every curve", "[snake]") {
  const int modules = GENERATE(8, 12, 40);
  CAPTURE(modules);
  const double length = 0.14 * modules * 1.15 + 0.1;
  SECTION("helix") { check_halved(modules, Helix(0.25, 0.3, length), 0.05); }
  SECTION("sine") { check_halved(modules, SineCurve(0.08, 0.9, 0.07, 0.8, length), 0.05); }
  SECTION("spiral") { check_halved(modules, ConicalSpiral(0.2, 0.02, 0.05, length / 0.2), 0.2); }
  SECTION("spline") {
    Random random(7);
    check_halved(modules, random_spline(random, static_cast<int>(length / 0.2) + 6, 0.22, 0.35),
                 0.05);
  }
}

TEST_CASE("fit: a fixed base does not move", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(8, 0.07);
  const SineCurve curve(0.08, 0.9, 0.07, 0.8, 2.0);
  MarchArrays arrays(chain);
  const Matrix3d R = tangent_frame(curve.at(0.1).first, Vector3d::UnitZ());
  const MarchResult march = march_from_base(chain, curve, 0.1, R, arrays.memory());
  REQUIRE(march.ok());
  SnakeFit fit(chain, {.base = FitBase::Fixed});
  const SnakeFitResult result = fit.fit(curve, march.X_WB, arrays.angles, arrays.parameters);
  CHECK(result.X_WB.matrix() == march.X_WB.matrix());
  CHECK(result.after.rms < 0.9 * result.before.rms);
  CHECK(result.after.worst() < result.before.worst());
}

TEST_CASE("fit: keeps the joint limits", "[snake]") {
  const SnakeChain free = SnakeChain::uniform(8, 0.07);
  const Helix helix(0.25, 0.3, 2.0);
  MarchArrays arrays(free);
  const MarchStart start = choose_start(free, helix, 0.1, MarchDirection::BaseToHead,
                                        Vector3d::UnitZ(), arrays.memory());
  REQUIRE(start.march.ok());
  // Limits so narrow that the start touches them and the fit tends outside.
  const SnakeChain chain = SnakeChain::uniform(8, 0.07, start.largest_angle);
  SnakeFit fit(chain, {.angle_weight = 0.0});
  const SnakeFitResult result = fit.fit(helix, start.march.X_WB, arrays.angles, arrays.parameters);
  CHECK(chain.within_limits(arrays.angles));
  CHECK(result.after.odd < result.before.odd);
}

TEST_CASE("fit: what is on the curve already is unchanged", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(4, 0.07);
  const Line line({0, 0, 0}, {1, 0, 0}, 2.0);
  MarchArrays arrays(chain);
  const MarchResult march =
      march_from_base(chain, line, 0.0, Matrix3d::Identity(), arrays.memory());
  SnakeFit fit(chain);
  const SnakeFitResult result = fit.fit(line, march.X_WB, arrays.angles, arrays.parameters);
  CHECK(result.converged);
  CHECK(result.after.worst() < kAlgebraTolerance);
}

TEST_CASE("fit: allocates nothing and repeats itself bit for bit", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(20, 0.07);
  const Helix helix(0.25, 0.3, 4.0);
  MarchArrays arrays(chain);
  const Matrix3d R = tangent_frame(helix.at(0.1).first, Vector3d::UnitZ());
  const MarchResult march = march_from_base(chain, helix, 0.1, R, arrays.memory());
  REQUIRE(march.ok());
  MarchArrays again = arrays;
  SnakeFit fit(chain);
  AllocationCounter counter;
  const SnakeFitResult first = fit.fit(helix, march.X_WB, arrays.angles, arrays.parameters);
  const SnakeFitResult second = fit.fit(helix, march.X_WB, again.angles, again.parameters);
  CHECK(counter.count() == 0);
  CHECK(first.iterations == second.iterations);
  CHECK(arrays.angles == again.angles);
}

TEST_CASE("fit: bad options are named", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(1, 0.07);
  CHECK_THROWS_WITH(SnakeFit(chain, {.power = 1.0}), "snake fit: power = 1, must be in [2, 32]");
  CHECK_THROWS_WITH(SnakeFit(chain, {.odd_weight = 0.0}), "snake fit: odd_weight = 0, must be > 0");
  CHECK_THROWS_WITH(SnakeFit(chain, {.angle_weight = -1.0}),
                    "snake fit: angle_weight = -1 m/rad, must be >= 0");
  CHECK_THROWS_WITH(SnakeFit(chain, {.max_iterations = 0}),
                    "snake fit: max_iterations = 0, must be >= 1");
}
