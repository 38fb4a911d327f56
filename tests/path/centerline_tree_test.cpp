#include "tendril/path/centerline_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

const std::string kTree =
    "branch,x,y,z,radius\n"
    "trunk,0,0,0,5\ntrunk,0,0,40,5\n"
    "left,0,0,40,5\nleft,-20,0,60,3\n"
    "right,20,0,60,3\nright,0,0,40,5\n"  // from its end
    "side,0,0,20,3\nside,0,30,20,2\n"
    "island,90,0,0,3\nisland,90,0,9,3\n";

double length(const std::vector<Vector3d>& points) {
  double sum = 0.0;
  for (std::size_t i = 1; i < points.size(); ++i) sum += (points[i] - points[i - 1]).norm();
  return sum;
}

}  // namespace

TEST_CASE("centerline tree: a round cone is what a ball sweeps", "[path]") {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const RoundCone cone{random.unit_vector(), random.uniform(0.2, 2.0) * random.unit_vector(),
                         random.uniform(0.05, 0.8), random.uniform(0.05, 0.8)};
    const Vector3d p = random.uniform(0.0, 3.0) * random.unit_vector();
    double nearest = 1e9;
    for (int k = 0; k <= 4000; ++k) {
      const double f = k / 4000.0;
      const Vector3d center = cone.start + f * (cone.end - cone.start);
      nearest = std::min(nearest,
                         (p - center).norm() - (1.0 - f) * cone.start_radius - f * cone.end_radius);
    }
    CHECK(cone.distance(p) == Approx(nearest).margin(1e-6));
  }
}

TEST_CASE("centerline tree: rows in any order of columns, spaces, quotes and scale", "[path]") {
  const CenterlineTree tree = parse_centerlines(
      "radius, z , \"branch\",y,x\r\n2,3,a,4,5\r\n2,3,a,4,5\r\n\r\n1,3, \"a\" ,4,6\r\n", 0.001);
  REQUIRE(tree.size() == 1);
  CHECK(tree[0].name == "a");
  REQUIRE(tree[0].points.size() == 2);  // the repeated one counts once
  CHECK((tree[0].points[1] - Vector3d(0.006, 0.004, 0.003)).norm() < 1e-12);
  CHECK(tree[0].radii[1] == Approx(0.001));
}

TEST_CASE("centerline tree: a route goes along the branches", "[path]") {
  const CenterlineTree tree = parse_centerlines(kTree);
  struct Case {
    const char* branch;
    double length;
    Vector3d end;
  };
  const auto c = GENERATE(values<Case>({{"trunk", 40.0, {0, 0, 40}},
                                        {"left", 40.0 + std::sqrt(800.0), {-20, 0, 60}},
                                        {"side", 50.0, {0, 30, 20}}}));
  CAPTURE(c.branch);
  const std::vector<Vector3d> points = route(tree, c.branch);
  CHECK((points.front() - tree[0].points[0]).norm() < 1e-12);
  CHECK((points.back() - c.end).norm() < 1e-12);
  // Corners are rounded within the radius of the lumen, 5.
  CHECK(length(points) < c.length + 1e-9);
  CHECK(length(points) > c.length - 2.5);
  for (const Vector3d& p : points) {
    double nearest = 1e9;
    for (const CenterlineBranch& branch : tree)
      nearest = std::min(nearest, distance(round_cones(branch), p));
    CHECK(nearest < -0.9);  // deep in it
  }
}

TEST_CASE("centerline tree: a route ends at the point nearest to the target", "[path]") {
  const CenterlineTree tree = parse_centerlines(kTree);
  const std::vector<Vector3d> points = route(tree, "right", Vector3d(20, 0, 60));
  CHECK((points.back() - Vector3d(20, 0, 60)).norm() < 1e-12);  // backwards along the branch
  const Vector3d target(3, 12.0, 20);
  CHECK((route(tree, "side", target).back() - Vector3d(0, 12, 20)).norm() < 0.5);
  CHECK_THROWS_WITH(route(tree, "up"),
                    "branch = up: must be one of trunk, left, right, side, island");
  CHECK_THROWS_WITH(route(tree, "island"),
                    Catch::Contains("branch = island: cannot be reached from trunk"));
}
