#include "tendril/path/path.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <numbers>

#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"
#include "tests/support/tolerances.hpp"

using Eigen::Vector3d;
using namespace tendril;
using namespace tendril::test;
using std::numbers::pi;

namespace {

double distance_to_segment(const Vector3d& p, const Vector3d& a, const Vector3d& b) {
  const double share = std::clamp((p - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
  return (p - a - share * (b - a)).norm();
}

}  // namespace

TEST_CASE("path: runs through its points at their arc lengths", "[planning]") {
  const Path path({{0, 0, 0}, {0, 0, 1}, {0, 2, 1}});
  CHECK(path.length() == Approx(3.0));
  CHECK(path.position(0.0).isApprox(Vector3d(0, 0, 0)));
  CHECK(path.position(0.5).isApprox(Vector3d(0, 0, 0.5)));
  CHECK(path.position(1.0).isApprox(Vector3d(0, 0, 1)));
  CHECK(path.position(2.5).isApprox(Vector3d(0, 1.5, 1)));
  CHECK(path.position(3.0).isApprox(Vector3d(0, 2, 1)));
  CHECK(path.tangent(0.5).isApprox(Vector3d::UnitZ()));
  CHECK(path.tangent(1.0).isApprox(Vector3d::UnitY()));
  CHECK(path.tangent(3.0).isApprox(Vector3d::UnitY()));
}

TEST_CASE("path: continues straight past its ends", "[planning]") {
  const Path path({{0, 0, 0}, {0, 0, 1}, {0, 2, 1}});
  CHECK(path.position(-0.5).isApprox(Vector3d(0, 0, -0.5)));
  CHECK(path.position(4.0).isApprox(Vector3d(0, 3, 1)));
  CHECK(path.tangent(-1.0).isApprox(Vector3d::UnitZ()));
  CHECK(path.tangent(9.0).isApprox(Vector3d::UnitY()));
}

TEST_CASE("path: an empty one is at the origin", "[planning]") {
  const Path path;
  CHECK(path.length() == 0.0);
  CHECK(path.position(1.0).isZero());
  CHECK(path.tangent(1.0).isApprox(Vector3d::UnitZ()));
}

TEST_CASE("path: refused points are named from one", "[planning]") {
  CHECK_THROWS_WITH(Path(std::vector<Vector3d>{{0, 0, 0}}),
                    "path: number of points = 1, must be >= 2");
  CHECK_THROWS_WITH(Path({{0, 0, 0}, {0, 0, 1}, {0, 0, 1}}),
                    "path: point 3: (0, 0, 1) m, must lie apart from point 2");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(Path({{0, 0, 0}, {0, nan, 1}}), "path: point 2: (0, nan, 1) m, must be finite");
}

TEST_CASE("rounded path: straight, arc, straight in closed form", "[planning]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Random random(seed);
  const Vector3d t_in = random.unit_vector(), t_out = random.unit_vector();
  const double turn = std::acos(t_in.dot(t_out));
  if (turn > 2.9 || turn < 0.05) return;
  const double R = random.uniform(0.02, 0.1), spacing = random.uniform(1e-4, 2e-3);
  const double trim = R * std::tan(turn / 2);
  const double before = trim + random.uniform(0.0, 0.2), after = trim + random.uniform(0.0, 0.2);
  const Vector3d corner = random.unit_vector();
  const std::vector<Vector3d> waypoints{corner - before * t_in, corner, corner + after * t_out};
  const Path path = rounded_path(waypoints, R, spacing);

  // Every sample lies on one of the segments or on the circle; the circle's center is known.
  const Vector3d arc_start = corner - trim * t_in, arc_end = corner + trim * t_out;
  const Vector3d center = corner + R / std::cos(turn / 2) * (t_out - t_in).normalized();
  double worst = 0.0, widest = 0.0;
  for (std::size_t i = 0; i < path.points().size(); ++i) {
    const Vector3d& p = path.points()[i];
    const double off = std::min({distance_to_segment(p, waypoints[0], arc_start),
                                 distance_to_segment(p, arc_end, waypoints[2]),
                                 std::abs((p - center).norm() - R)});
    worst = std::max(worst, off);
    if (i > 0) widest = std::max(widest, (p - path.points()[i - 1]).norm());
  }
  CHECK(worst < kAlgebraTolerance);
  CHECK(widest <= spacing * (1 + 1e-9));

  // Chords of an arc of angle a fall short of it by R a^3 / 24 each.
  const double exact = (before - trim) + R * turn + (after - trim);
  const double shortfall = turn / 24 * spacing * spacing / R;
  CHECK(path.length() <= exact + kAlgebraTolerance);
  CHECK(path.length() >= exact - shortfall - kAlgebraTolerance);
  CHECK((path.points().front() - waypoints.front()).norm() < kAlgebraTolerance);
  CHECK((path.points().back() - waypoints.back()).norm() <
        2e-9);  // a coincident last sample is left out
}

TEST_CASE("rounded path: leaves and enters along the segments without a kink", "[planning]") {
  const std::vector<Vector3d> waypoints{{0, 0, 0}, {0, 0, 0.2}, {0.2, 0, 0.2}, {0.2, 0.2, 0.2}};
  const double R = 0.05, spacing = 1e-3;
  const Path path = rounded_path(waypoints, R, spacing);
  CHECK(path.tangent(0.0).isApprox(Vector3d::UnitZ()));
  CHECK(path.tangent(path.length()).isApprox(Vector3d::UnitY()));
  double sharpest = 0.0;
  for (double s = 0.0; s < path.length(); s += spacing / 2)
    sharpest = std::max(sharpest,
                        std::acos(std::min(1.0, path.tangent(s).dot(path.tangent(s + spacing)))));
  CHECK(sharpest <= 2.01 * spacing / R);
  CHECK(path.length() ==
        Approx(0.6 - 4 * R + pi * R).margin(2 * (pi / 2) / 24 * spacing * spacing / R));
}

TEST_CASE("rounded path: a straight row of waypoints remains straight", "[planning]") {
  const Path path = rounded_path(std::vector<Vector3d>{{0, 0, 0}, {0, 0, 0.1}, {0, 0, 0.3}}, 1.0);
  CHECK(path.length() == Approx(0.3).margin(kAlgebraTolerance));
}

TEST_CASE("rounded path: arcs may fill a segment exactly", "[planning]") {
  // Two right angles with a segment of 2 R between them: half a circle.
  const double R = 0.05;
  const Path path = rounded_path(
      std::vector<Vector3d>{{0, 0, 0}, {0, 0, R}, {2 * R, 0, R}, {2 * R, 0, 0}}, R, 1e-4);
  CHECK(path.length() == Approx(pi * R).epsilon(1e-6));
}

TEST_CASE("rounded path: refusals name the waypoint and what is allowed", "[planning]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    std::string name;
    std::vector<Vector3d> waypoints;
    double radius, spacing;
    std::string message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"one waypoint", {{0, 0, 0}}, 0.1, 1e-3, "path: number of waypoints = 1, must be >= 2"},
      {"repeated",
       {{0, 0, 0}, {0, 0, 1}, {0, 0, 1}},
       0.1,
       1e-3,
       "path: waypoint 3: (0, 0, 1) m, must lie apart from waypoint 2"},
      {"not finite",
       {{0, 0, 0}, {0, 0, nan}},
       0.1,
       1e-3,
       "path: waypoint 2: (0, 0, nan) m, must be finite"},
      {"turns back",
       {{0, 0, 0}, {0, 0, 1}, {0, 0, 0.5}},
       0.1,
       1e-3,
       "path: waypoint 2: the path turns back on itself here, must turn by less than pi"},
      {"arc longer than the first segment",
       {{0, 0, 0}, {0, 0, 0.05}, {1, 0, 0.05}},
       0.1,
       1e-3,
       "path: waypoint 2: corner_radius = 0.1 m needs 0.1 m of the segment from waypoint 1 to 2, "
       "must "
       "be at "
       "most its length 0.05 m"},
      {"neighboring arcs",
       {{0, 0, 0}, {0, 0, 1}, {0.15, 0, 1}, {0.15, 0, 0}},
       0.1,
       1e-3,
       "path: waypoint 3: corner_radius = 0.1 m needs 0.2 m of the segment from waypoint 2 to 3, "
       "must "
       "be at "
       "most its length 0.15 m"},
      {"no radius", {{0, 0, 0}, {0, 0, 1}}, 0.0, 1e-3, "path: corner_radius = 0 m, must be > 0"},
      {"no spacing", {{0, 0, 0}, {0, 0, 1}}, 0.1, 0.0, "path: spacing = 0 m, must be > 0"},
      {"far too fine",
       {{0, 0, 0}, {0, 0, 1}},
       0.1,
       1e-12,
       "path: spacing = 1e-12 m, must be >= 1e-07 m on a path of 1 m"},
  }));
  DYNAMIC_SECTION(c.name) {
    CHECK_THROWS_AS(rounded_path(c.waypoints, c.radius, c.spacing), ModelError);
    CHECK_THROWS_WITH(rounded_path(c.waypoints, c.radius, c.spacing), c.message);
  }
}
