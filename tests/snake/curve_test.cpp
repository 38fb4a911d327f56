#include "tendril/snake/curve.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tendril/snake/cubic_spline.hpp"
#include "tendril/snake/curve_check.hpp"
#include "tests/snake/snake_cases.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

void check_derivatives(CurveRef curve) {
  Random random(3);
  double worst = 0.0;
  for (int i = 0; i < 200; ++i) {
    const double h = kDifferenceStep;
    const double s = random.uniform(curve.begin() + h, curve.end() - h);
    const CurvePoint before = curve.at(s - h), here = curve.at(s), after = curve.at(s + h);
    worst = std::max({worst, ((after.position - before.position) / (2.0 * h) - here.first).norm(),
                      ((after.first - before.first) / (2.0 * h) - here.second).norm()});
  }
  constexpr double kCurveDifferenceTolerance = 1e-6;  // third derivatives of some 1e3 m
  CHECK(worst < kCurveDifferenceTolerance);
}

/// Any function as a curve of length 2 m; its derivatives by hand.
struct AnyCurve {
  std::function<CurvePoint(double)> f;
  double length = 2.0;
  [[nodiscard]] CurvePoint at(double s) const noexcept { return f(s); }
  [[nodiscard]] double begin() const noexcept { return 0.0; }
  [[nodiscard]] double end() const noexcept { return length; }
};

}  // namespace

TEST_CASE("curves: their derivatives are those of their points", "[snake]") {
  check_derivatives(Line({1, 2, 3}, {1, 1, 0}, 2.0));
  check_derivatives(Helix(0.25, 0.3, 2.0));
  check_derivatives(SineCurve(0.1, 0.9, 0.08, 0.7, 2.0));
  check_derivatives(ConicalSpiral(0.2, 0.02, 0.05, 6.0));
  check_derivatives(Arc({1, 0, 0}, {0, 1, 0}, {1, 1, 1}, 0.4, 3.0));
  Random random(4);
  check_derivatives(random_spline(random, 12, 0.2, 0.4));
}

TEST_CASE("curves: known curvature, and unit speed where promised", "[snake]") {
  const double c = 0.3 / (2.0 * pi);
  const CurvePoint helix = Helix(0.25, 0.3, 2.0).at(1.3);
  CHECK(helix.first.norm() == Approx(1.0));
  CHECK(helix.curvature() == Approx(0.25 / (0.25 * 0.25 + c * c)));
  const Arc arc({1, 0, 0}, {0, 1, 0}, {1, 1, 1}, 0.4, 3.0);
  CHECK(arc.at(0.7).first.norm() == Approx(1.0));
  CHECK(arc.at(0.7).curvature() == Approx(2.5));
  CHECK(arc.at(0.0).position.isApprox(Vector3d(1, 0, 0)));
  CHECK(arc.at(0.0).first.isApprox(Vector3d::UnitY()));
  CHECK(arc.at(0.0).second.normalized().isApprox(Vector3d(1, 0, 1).normalized()));
}

TEST_CASE("spline: runs through its points, with continuous second derivatives", "[snake]") {
  Random random(5);
  const std::vector<Vector3d> points{{0, 0, 0}, {0.2, 0, 0}, {0.3, 0.1, 0}, {0.7, 0.1, 0.3}};
  for (const CubicSpline& spline :
       {CubicSpline(points), CubicSpline(points, std::vector{0.0, 1.0, 1.5, 4.0})}) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double s = spline.knots()[i], h = 1e-9;
      CHECK((spline.at(s).position - points[i]).norm() < kAlgebraTolerance);
      if (i == 0 || i + 1 == points.size()) {
        CHECK(spline.at(s).second.norm() < 1e-9);  // natural ends
      } else {
        CHECK((spline.at(s + h).first - spline.at(s - h).first).norm() < 1e-6);
        CHECK((spline.at(s + h).second - spline.at(s - h).second).norm() < 1e-6);
      }
    }
    CHECK(spline.at(spline.end() + 0.1)
              .position.isApprox(points.back() + 0.1 * spline.at(spline.end()).first));
  }
}

TEST_CASE("spline: refused points are named from one", "[snake]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto spline = [](std::vector<Vector3d> points, std::vector<double> knots = {}) {
    return CubicSpline(points, knots);
  };
  CHECK_THROWS_WITH(spline({{0, 0, 0}}), "spline: number of points = 1, must be >= 2");
  CHECK_THROWS_WITH(spline({{0, 0, 0}, {0, 0, 1}, {0, 0, 1}}),
                    "spline: point 3: (0, 0, 1) m, must lie apart from point 2");
  CHECK_THROWS_WITH(spline({{0, nan, 0}, {0, 0, 1}}),
                    "spline: point 1: (0, nan, 0) m, must be finite");
  CHECK_THROWS_WITH(spline({{0, 0, 0}, {0, 0, 1}}, {0.0, 0.0}),
                    "spline: knot 2, must be finite and increase");
  CHECK_THROWS_WITH(spline({{0, 0, 0}, {0, 0, 1}}, {0.0}),
                    "spline: number of knots = 1, must be the number of points, 2");
}

TEST_CASE("curves: bad parameters are named", "[snake]") {
  CHECK_THROWS_WITH(Helix(-0.1, 0.1, 1.0), "helix: radius = -0.1 m, must be > 0");
  CHECK_THROWS_WITH(Line({0, 0, 0}, {0, 0, 0}, 1.0),
                    "line: direction, must be finite and not zero");
  CHECK_THROWS_WITH(Arc({0, 0, 0}, {0, 0, 1}, {0, 0, 2}, 1.0, 1.0),
                    "arc: inward, must not be along the tangent");
  CHECK_THROWS_AS(SineCurve(0.1, 0.0, 0.1, 1.0, 1.0), ModelError);
  CHECK_THROWS_WITH(
      ConicalSpiral(0.2, -0.1, 0.0, 3.0),
      "conical spiral: growth = -0.1 m/rad, must be such that the radius at the end is positive");
}

TEST_CASE("curve check: smooth curves within reach are fine", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(8, 0.07);
  CHECK(check_curve(chain, Helix(0.25, 0.3, 2.0), 0.0).ok());
  CHECK(check_curve(chain, ConicalSpiral(0.3, 0.02, 0.05, 6.0), 0.0).ok());
  CHECK(check_curve(chain, Helix(0.25, 0.3, 2.0), 0.5).ok());
}

TEST_CASE("curve check: faults are named with their place", "[snake]") {
  const SnakeChain chain = SnakeChain::uniform(8, 0.07);
  const auto straight = [](double s) { return CurvePoint{{s, 0, 0}, {1, 0, 0}, {0, 0, 0}}; };
  SECTION("a corner") {
    const AnyCurve curve{[&](double s) {
      return s < 0.5 ? straight(s) : CurvePoint{{0.5, s - 0.5, 0}, {0, 1, 0}, {0, 0, 0}};
    }};
    const CurveReport report = check_curve(chain, curve, 0.0);
    CHECK(report.fault == CurveFault::Kink);
    CHECK(report.s == Approx(0.5));
    CHECK(report.kink == Approx(pi / 2));
    CHECK(report.module == 4);
    CHECK(describe(report) == "module 4: kink: the tangent jumps by 1.57 rad at 0.5 m");
  }
  SECTION("a small corner") {
    const AnyCurve curve{[&](double s) {
      return s < 0.5 ? straight(s) : CurvePoint{{s, 0.05 * (s - 0.5), 0}, {1, 0.05, 0}, {0, 0, 0}};
    }};
    const CurveReport report = check_curve(chain, curve, 0.0);
    CHECK(report.fault == CurveFault::Kink);
    CHECK(report.kink == Approx(0.05).epsilon(1e-3));
  }
  SECTION("not a number") {
    const AnyCurve curve{[&](double s) {
      CurvePoint point = straight(s);
      if (s > 0.3) point.position.y() = std::numeric_limits<double>::quiet_NaN();
      return point;
    }};
    const CurveReport report = check_curve(chain, curve, 0.0);
    CHECK(report.fault == CurveFault::NotFinite);
    CHECK(report.module == 3);
  }
  SECTION("points that repeat") {
    const AnyCurve curve{[&](double s) {
      CurvePoint point = straight(std::min(s, 0.4));
      return point;
    }};
    const CurveReport report = check_curve(chain, curve, 0.0);
    CHECK(report.fault == CurveFault::Stationary);
    CHECK(report.distance == Approx(0.4).margin(0.005));
  }
  SECTION("no speed") {
    const AnyCurve curve{[&](double s) {
      return CurvePoint{{s * s * s, 0, 0}, {3 * s * s, 0, 0}, {6 * s, 0, 0}};
    }};
    CHECK(check_curve(chain, curve, 0.0).fault == CurveFault::Stationary);
  }
  SECTION("too short") {
    const CurveReport report = check_curve(chain, Line({0, 0, 0}, {1, 0, 0}, 1.0), 0.0);
    CHECK(report.fault == CurveFault::TooShort);
    CHECK(describe(report) == "module 8: too short: 1 m, must be >= 1.12 m");
  }
  SECTION("too tight in any roll") {
    const CurveReport report = check_curve(chain, Helix(0.03, 0.0, 2.0), 0.0);
    CHECK(report.fault == CurveFault::TooTight);
    CHECK(report.module == 1);
    CHECK(report.curvature == Approx(1.0 / 0.03).epsilon(0.01));
    // Joint limits of a right angle: 2 sin(pi/4)/0.14 in yaw, tan(pi/4)/0.07 in pitch.
    CHECK(report.limit == Approx(std::hypot(2.0 * std::sin(pi / 4) / 0.14, 1.0 / 0.07)));
  }
}
