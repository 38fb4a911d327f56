#include "tendril/model/tube/branch_wall.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Eigen::Vector3d;
using std::numbers::pi;

namespace {

constexpr double kBody = 0.0005;  // radius of the body that must not leave [m]

/// A bent trunk of 3 to 6 mm that splits in two, with side branches that may be as wide as 0.7 of
/// it.
CenterlineTree random_tree(Random& random) {
  const auto line = [&](const std::string& name, const Vector3d& from, const Vector3d& heading,
                        double length, double first, double last) {
    constexpr int kPoints = 24;
    const Vector3d axis = heading.unitOrthogonal();
    const double turn = random.uniform(0.0, 0.6) * length / 0.02;
    const double about = random.uniform(0.0, 2.0 * pi);
    CenterlineBranch branch{name, {from}, {first}};
    Vector3d p = from;
    for (int k = 1; k <= kPoints; ++k) {
      const double f = static_cast<double>(k) / kPoints;
      const Vector3d t =
          Eigen::AngleAxisd(about, heading) * (Eigen::AngleAxisd(f * turn, axis) * heading);
      p += length / kPoints * t;
      branch.points.push_back(p);
      branch.radii.push_back(first + f * (last - first) + 0.05 * first * std::sin(3.0 * pi * f));
    }
    return branch;
  };
  const double radius = random.uniform(0.003, 0.006);
  CenterlineTree tree{line("trunk", Vector3d::Zero(), Vector3d::UnitZ(), 0.04, radius, radius)};
  const CenterlineBranch trunk = tree[0];
  const Vector3d end = trunk.points.back();
  const Vector3d heading = (end - trunk.points[trunk.points.size() - 2]).normalized();
  const Vector3d aside = heading.unitOrthogonal();
  for (const double sign : {-1.0, 1.0}) {
    const double angle = sign * random.uniform(0.7, 1.0);
    tree.push_back(line(sign < 0.0 ? "left" : "right", end,
                        std::cos(angle) * heading + std::sin(angle) * aside, 0.02, 0.9 * radius,
                        random.uniform(0.4, 0.8) * radius));
  }
  const Vector3d root = trunk.points[10];
  const double narrow = random.uniform(0.3, 0.7) * radius;
  tree.push_back(line("side", root, aside.cross(heading), 0.02, narrow, narrow));
  return tree;
}

/// Distance from the lumen by brute force: of balls close to one another.
class Balls {
 public:
  explicit Balls(const CenterlineTree& tree) {
    constexpr int kBetween = 40;
    for (std::size_t b = 0; b < tree.size(); ++b) {
      const auto& [name, points, radii] = tree[b];
      for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        for (int k = 0; k <= kBetween; ++k) {
          const double f = static_cast<double>(k) / kBetween;
          centers_.emplace_back(points[i] + f * (points[i + 1] - points[i]));
          radii_.push_back((1.0 - f) * radii[i] + f * radii[i + 1]);
          branches_.push_back(b);
        }
      }
    }
  }
  [[nodiscard]] double distance(const Vector3d& p, std::size_t except = 99) const {
    double least = 1.0;
    for (std::size_t k = 0; k < centers_.size(); ++k)
      if (branches_[k] != except) least = std::min(least, (p - centers_[k]).norm() - radii_[k]);
    return least;
  }

 private:
  std::vector<Vector3d> centers_;
  std::vector<double> radii_;
  std::vector<std::size_t> branches_;
};

double off_axis(const TubeStave& stave, const Vector3d& p) {
  const Vector3d chord = stave.end - stave.start;
  const double f = std::clamp((p - stave.start).dot(chord) / chord.squaredNorm(), 0.0, 1.0);
  return (p - stave.start - f * chord).norm();
}

/// The ends through which a body may leave: those of the tree but for the joints.
struct OpenEnd {
  Vector3d center, outward;
  double radius;
};
std::vector<OpenEnd> open_ends(const CenterlineTree& tree) {
  const auto end = [](const CenterlineBranch& b) {
    const std::size_t n = b.points.size();
    return OpenEnd{b.points[n - 1], (b.points[n - 1] - b.points[n - 2]).normalized(),
                   b.radii[n - 1]};
  };
  const CenterlineBranch& trunk = tree[0];
  std::vector<OpenEnd> ends{
      {trunk.points[0], (trunk.points[0] - trunk.points[1]).normalized(), trunk.radii[0]}};
  for (std::size_t b = 1; b < tree.size(); ++b) ends.push_back(end(tree[b]));
  return ends;
}
bool leaves_by(const OpenEnd& end, const Vector3d& p, double wall) {
  return (p - end.center).dot(end.outward) > 0.0 &&
         (p - end.center).norm() < end.radius + 3.0 * wall;
}

/// How far from the lumen a ball of radius kBody gets between the staves: flood fill of a grid.
double farthest_leak(const CenterlineTree& tree, const std::vector<TubeStave>& staves,
                     double wall) {
  constexpr double kGrid = 0.0003, kMargin = 0.006;
  Vector3d low = tree[0].points[0], high = low;
  for (const CenterlineBranch& branch : tree) {
    for (std::size_t i = 0; i < branch.points.size(); ++i) {
      const Vector3d reach = Vector3d::Constant(branch.radii[i] + kMargin);
      low = low.cwiseMin(branch.points[i] - reach);
      high = high.cwiseMax(branch.points[i] + reach);
    }
  }
  const Eigen::Vector3i size = ((high - low) / kGrid).array().ceil().cast<int>() + 1;
  const auto index = [&](int x, int y, int z) {
    return static_cast<std::size_t>((z * size.y() + y) * size.x() + x);
  };
  const auto point = [&](int x, int y, int z) -> Vector3d {
    return low + kGrid * Vector3d(x, y, z);
  };
  enum : std::uint8_t { kFree, kTaken, kReached };
  std::vector<std::uint8_t> cells(index(0, 0, size.z()), kFree);
  const auto for_box = [&](const Vector3d& from, const Vector3d& to, const auto& visit) {
    const Eigen::Vector3i a = ((from - low) / kGrid).cast<int>().cwiseMax(0);
    const Eigen::Vector3i b = (((to - low) / kGrid).cast<int>().array() + 1)
                                  .matrix()
                                  .cwiseMin(size - Eigen::Vector3i::Ones());
    for (int z = a.z(); z <= b.z(); ++z)
      for (int y = a.y(); y <= b.y(); ++y)
        for (int x = a.x(); x <= b.x(); ++x) visit(x, y, z);
  };
  for (const TubeStave& stave : staves) {
    const Vector3d reach = Vector3d::Constant(wall + kBody);
    for_box(stave.start.cwiseMin(stave.end) - reach, stave.start.cwiseMax(stave.end) + reach,
            [&](int x, int y, int z) {
              if (off_axis(stave, point(x, y, z)) < wall + kBody) cells[index(x, y, z)] = kTaken;
            });
  }
  for (const OpenEnd& end : open_ends(tree)) {
    const Vector3d reach = Vector3d::Constant(end.radius + 3.0 * wall);
    for_box(end.center - reach, end.center + reach, [&](int x, int y, int z) {
      if (leaves_by(end, point(x, y, z), wall)) cells[index(x, y, z)] = kTaken;
    });
  }
  const Eigen::Vector3i start = ((tree[0].points[4] - low) / kGrid).cast<int>();
  std::vector<Eigen::Vector3i> open{start};
  cells[index(start.x(), start.y(), start.z())] = kReached;
  const Balls lumen(tree);
  double farthest = -1.0;
  std::size_t visited = 0;
  while (!open.empty()) {
    const Eigen::Vector3i at = open.back();
    open.pop_back();
    if (at.minCoeff() == 0 || (size - at).minCoeff() == 1) return kMargin;
    if (++visited % 64 == 0)
      farthest = std::max(farthest, lumen.distance(point(at.x(), at.y(), at.z())));
    for (int axis = 0; axis < 3; ++axis) {
      for (const int step : {-1, 1}) {
        Eigen::Vector3i next = at;
        next[axis] += step;
        std::uint8_t& cell = cells[index(next.x(), next.y(), next.z())];
        if (cell != kFree) continue;
        cell = kReached;
        open.push_back(next);
      }
    }
  }
  return farthest;
}

TubeDescription random_tube(unsigned seed) {
  Random random(seed);
  TubeDescription tube;
  tube.branches = random_tree(random);
  tube.wall_thickness = random.uniform(0.0007, 0.0012);
  return tube;
}

std::string refusal(const std::string& more, const std::string& table) {
  try {
    static_cast<void>(
        parse_as<TubeDescription>("kind = \"tube\"\ncenterline = { file = \"v.csv\" }\n" + more,
                                  "tube.toml", {}, [&](const std::string&) { return table; }));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("branches: nothing of the wall stands in a lumen by more than the tolerance", "[tube]") {
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(seed);
  const TubeDescription tube = random_tube(seed);
  const Balls lumen(tube.branches);
  double deepest = 0.0;
  for (const TubeStave& stave : branch_staves(tube)) {
    const double length = (stave.end - stave.start).norm();
    const int parts = std::max(2, static_cast<int>(length / 0.0004));
    for (int k = 0; k <= parts; ++k) {
      const Vector3d p = stave.start + k * (stave.end - stave.start) / parts;
      deepest = std::max(deepest, tube.wall_thickness - lumen.distance(p));
    }
  }
  CHECK(deepest < tube.tolerance);
}

TEST_CASE("branches: a body of 1 mm gets nowhere but through the open ends", "[tube]") {
  const auto seed = GENERATE(range(100u, 108u));
  CAPTURE(seed);
  const TubeDescription tube = random_tube(seed);
  std::vector<TubeStave> staves = branch_staves(tube);
  // Between the staves it stays within the wall: at the edge between two branches too.
  CHECK(farthest_leak(tube.branches, staves, tube.wall_thickness) < 2.0 * tube.wall_thickness);

  // The test sees a hole of three staves.
  const Vector3d hole = staves[staves.size() / 2].start;
  std::erase_if(staves,
                [&](const TubeStave& s) { return off_axis(s, hole) < 2.5 * tube.wall_thickness; });
  CHECK(farthest_leak(tube.branches, staves, tube.wall_thickness) > 2.0 * tube.wall_thickness);
}

TEST_CASE("branches: just outside the lumen there is wall", "[tube]") {
  const auto seed = GENERATE(range(200u, 206u));
  CAPTURE(seed);
  const TubeDescription tube = random_tube(seed);
  const std::vector<TubeStave> staves = branch_staves(tube);
  const Balls lumen(tube.branches);
  const std::vector<OpenEnd> ends = open_ends(tube.branches);
  const double wall = tube.wall_thickness;
  Random random(seed);
  int seen = 0;
  while (seen < 400) {
    const auto b = static_cast<std::size_t>(random.uniform(0.0, 3.999));
    const CenterlineBranch& branch = tube.branches[b];
    const auto i = static_cast<std::size_t>(random.uniform(0.0, 23.999));
    Vector3d p = branch.points[i];
    const Vector3d direction = random.unit_vector();
    for (int k = 0; k < 60; ++k) p += (wall / 2.0 - lumen.distance(p)) * direction;
    if (std::abs(lumen.distance(p) - wall / 2.0) > 1e-5) continue;
    const bool at_end = std::any_of(ends.begin(), ends.end(), [&](const OpenEnd& end) {
      return (p - end.center).norm() < 1.5 * end.radius + 2.0 * wall;
    });
    // The edge between two branches is blunt.
    if (at_end || lumen.distance(p, b) < 4.0 * wall) continue;
    ++seen;
    double nearest = 1.0;
    for (const TubeStave& stave : staves) nearest = std::min(nearest, off_axis(stave, p));
    CHECK(nearest < wall);
  }
}

TEST_CASE("branches: the document compiles, with a site at each end", "[tube]") {
  const TubeDescription tube = random_tube(3);
  const std::string xml = tube_mjcf(tube);
  CHECK(xml == tube_mjcf(tube));
  const Simulation simulation(xml);
  CHECK(simulation.model->ngeom == static_cast<int>(branch_staves(tube).size()) + 1);
  for (const CenterlineBranch& branch : tube.branches)
    CHECK(
        (simulation.site_pose("tube_" + branch.name + "_end").translation() - branch.points.back())
            .norm() < 1e-9);
  CHECK(simulation.site_pose("tube_start").translation().norm() < 1e-9);
}

TEST_CASE("branches: the drawn surface is the lumen's", "[tube]") {
  const TubeDescription tube = random_tube(GENERATE(4u, 5u));
  const Balls lumen(tube.branches);
  const LumenSurface surface = lumen_surface(tube.branches);
  CHECK(surface.triangles.size() > 1000);
  for (std::size_t i = 0; i < surface.vertices.size(); i += 7)
    CHECK(std::abs(lumen.distance(surface.vertices[i])) < 2e-4);
}

TEST_CASE("branches: what is refused, and how it is said", "[tube]") {
  const std::string head = "branch,x,y,z,radius\n", trunk = "t,0,0,0,5\nt,0,0,40,5\n";
  const std::string mm = "scale = 0.001\n";
  struct Case {
    std::string name, toml, table, message;
  };
  const auto c = GENERATE_COPY(values<Case>({
      {"accepted", mm + "wall_thickness = 0.001\n", head + trunk, "accepted"},
      {"unknown column", mm, "branch,x,y,z,r\nt,0,0,0,5\n",
       "tube.toml:2: centerline = { file = 'v.csv' }: v.csv: row 1, column r: is unknown"},
      {"missing column", mm, "branch,x,y,z\nt,0,0,0\n", "v.csv: row 1, column radius: is missing"},
      {"no radius", mm, head + "t,0,0,0,5\nt,0,0,9,0\n",
       "v.csv: row 3, column radius: \"0\": must be a number > 0"},
      {"no number", mm, head + "t,0,0,0,5\nt,0,0,nine,5\n",
       "v.csv: row 3, column z: \"nine\": must be a finite number"},
      {"few fields", mm, head + "t,0,0,0\n", "v.csv: row 2, 4 fields: must be 5"},
      {"one point", mm, head + trunk + "u,0,0,20,3\nu,0,0,20,3\n",
       "v.csv: branch u: one point, must be two different ones"},
      {"two pieces", mm, head + trunk + "u,0,0,20,3\nu,0,20,20,3\nt,0,0,50,5\n",
       "v.csv: row 6, column branch: \"t\": another branch lies between"},
      {"empty", mm, head, "centerline = { file = 'v.csv' }: has no points"},
      {"crossing", mm + "wall_thickness = 0.001\n", head + trunk + "u,-20,0,20,3\nu,20,0,20,3\n",
       "tube.toml:1: centerline: branches t and u: their lumens cross at"},
      {"too near", mm + "wall_thickness = 0.001\n", head + trunk + "u,9,0,0,3\nu,9,0,40,3\n",
       "branches t and u: their lumens are 0.001 m apart at"},
      {"loop", mm + "wall_thickness = 0.001\n",
       head + "t,0,0,0,3\nt,0,0,40,3\nt,20,0,40,3\nt,20,0,20,3\nt,-20,0,20,3\n",
       "branch t: comes back to itself at"},
      {"thin", mm, head + "t,0,0,0,5\nt,0,0,9,0.1\n",
       "branch t: radius 0.0001 m at [0, 0, 0.009] m: must be > tolerance = 0.00025 m"},
      {"inner radius", mm + "inner_radius = 0.01\n", head + trunk,
       "tube.toml:4: inner_radius = 0.01: must be absent with a centerline of a table"},
  }));
  DYNAMIC_SECTION(c.name) { CHECK_THAT(refusal(c.toml, c.table), Contains(c.message)); }
}
