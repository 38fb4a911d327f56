#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tendril/model/tube/description.hpp"
#include "tendril/model_error.hpp"
#include "tendril/path/path.hpp"
#include "tests/model/compiled_model.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using Eigen::Vector3d;

namespace {

const std::string kTube = R"(kind = "tube"
centerline = [[0, 0, 0.32], [0, 0, 0.54], [0.2, 0, 0.54], [0.2, 0.2, 0.6]]
corner_radius = 0.06
inner_radius = 0.014
)";

double distance_to_segment(const Vector3d& p, const Vector3d& a, const Vector3d& b) {
  const double t = std::clamp((p - a).dot(b - a) / (b - a).squaredNorm(), 0.0, 1.0);
  return (p - a - t * (b - a)).norm();
}

std::string refusal(const std::string& toml) {
  try {
    static_cast<void>(parse_as<TubeDescription>(toml, "tube.toml"));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("tube: the vertices follow the rounded centerline within the sagitta of a chord",
          "[mjcf]") {
  const TubeDescription tube = parse_as<TubeDescription>(kTube, "tube.toml");
  const double sagitta = tube.corner_radius * (1.0 - std::cos(tube.segment_angle / 2.0));
  const std::vector<Vector3d> vertices = tube_vertices(tube);
  const Path path = rounded_path(tube.centerline, tube.corner_radius, 1e-3);
  double worst = 0.0;
  for (const Vector3d& p : path.points()) {
    double nearest = 1.0;
    for (std::size_t k = 0; k + 1 < vertices.size(); ++k) {
      nearest = std::min(nearest, distance_to_segment(p, vertices[k], vertices[k + 1]));
    }
    worst = std::max(worst, nearest);
  }
  CHECK(worst < sagitta + 1e-6);
  CHECK(worst > 0.5 * sagitta);
  CHECK(vertices.size() == 2 + 10 + 10);  // 90 deg and 86 deg: nine chords each
}

TEST_CASE("tube: nothing is inside the free radius, and the wall is closed at the joints",
          "[mjcf]") {
  const TubeDescription tube = parse_as<TubeDescription>(kTube, "tube.toml");
  const std::vector<Vector3d> vertices = tube_vertices(tube);
  const std::vector<TubeStave> staves = tube_staves(tube);
  const auto ring = static_cast<std::size_t>(tube.staves);
  REQUIRE(staves.size() == (vertices.size() - 1) * ring);
  double nearest = 1.0;
  for (std::size_t k = 0; k + 1 < vertices.size(); ++k) {
    for (int i = 0; i <= 20; ++i) {
      const Vector3d p = vertices[k] + i / 20.0 * (vertices[k + 1] - vertices[k]);
      for (const TubeStave& stave : staves) {
        nearest = std::min(nearest, distance_to_segment(p, stave.start, stave.end));
      }
    }
  }
  // On the inside of a bend a stave comes closer to a vertex by the mitre, R (1 - cos(a/2)).
  const double ring_radius = tube.inner_radius + tube.wall_thickness;
  CHECK(nearest - tube.wall_thickness <= tube.inner_radius + 1e-9);
  CHECK(nearest - tube.wall_thickness >
        tube.inner_radius - ring_radius * (1.0 - std::cos(tube.segment_angle / 2.0)) - 1e-9);
  for (std::size_t k = ring; k < staves.size(); ++k) {
    CHECK((staves[k].start - staves[k - ring].end).norm() < 1e-9);
  }
}

TEST_CASE("tube: the document compiles with the filter, friction and sites it promises", "[mjcf]") {
  const TubeDescription tube = parse_as<TubeDescription>(kTube, "tube.toml");
  const std::string xml = tube_mjcf(tube);
  CHECK(xml == tube_mjcf(tube));
  const Simulation simulation(xml);
  const auto staves = static_cast<int>(tube_staves(tube).size());
  REQUIRE(simulation.model->ngeom == staves + 1);
  CHECK(simulation.model->geom_contype[staves] == 0);  // the wall that is drawn
  CHECK(simulation.model->geom_conaffinity[staves] == 0);
  for (int g = 0; g < staves; ++g) {
    CHECK(simulation.model->geom_group[g] == 3);
    CHECK(simulation.model->geom_contype[g] == 2);
    CHECK(simulation.model->geom_conaffinity[g] == 1);
    CHECK(simulation.model->geom_priority[g] == 1);
    CHECK(simulation.model->geom_friction[3 * g] == Approx(0.3));
    CHECK(simulation.model->geom_size[3 * g] == Approx(0.003));
  }
  const Eigen::Isometry3d start = simulation.site_pose("tube_start");
  CHECK((start.translation() - tube.centerline.front()).norm() < 1e-9);
  CHECK((start.linear().col(2) - Vector3d::UnitZ()).norm() < 1e-9);
  CHECK((simulation.site_pose("tube_end").translation() - tube.centerline.back()).norm() < 1e-9);
}

TEST_CASE("tube: the wall that is drawn is closed and lies between the free radius and the outside",
          "[mjcf]") {
  const TubeDescription tube = parse_as<TubeDescription>(kTube, "tube.toml");
  const Simulation simulation(tube_mjcf(tube));
  const mjModel& m = *simulation.model;
  REQUIRE(m.nmesh == 1);
  std::map<std::pair<int, int>, int> edges;  // each is run through once in each direction
  for (int f = 0; f < m.nmeshface; ++f) {
    for (int i = 0; i < 3; ++i) ++edges[{m.mesh_face[3 * f + i], m.mesh_face[3 * f + (i + 1) % 3]}];
  }
  for (const auto& [edge, count] : edges) {
    CHECK(count == 1);
    CHECK(edges.contains({edge.second, edge.first}));
  }
  const Path path = rounded_path(tube.centerline, tube.corner_radius, 1e-4);
  const auto wall = static_cast<int>(m.ngeom) - 1;
  double volume = 0.0;
  std::vector<Vector3d> points;
  for (int v = 0; v < m.nmeshvert; ++v) {
    mjtNum local[3], p[3];
    std::copy_n(m.mesh_vert + 3 * v, 3, local);
    mju_mulMatVec3(p, simulation.data->geom_xmat + 9 * wall, local);
    mju_addTo3(p, simulation.data->geom_xpos + 3 * wall);
    points.emplace_back(p[0], p[1], p[2]);
    double nearest = 1.0;
    for (const Vector3d& on_path : path.points())
      nearest = std::min(nearest, (on_path - points.back()).norm());
    const double outside = tube.inner_radius + 2.0 * tube.wall_thickness;
    CHECK((std::abs(nearest - tube.inner_radius) < 2e-4 || std::abs(nearest - outside) < 2e-4));
  }
  for (int f = 0; f < m.nmeshface; ++f) {
    const auto point = [&](int i) {
      return points[static_cast<std::size_t>(m.mesh_face[3 * f + i])];
    };
    volume += point(0).dot(point(1).cross(point(2))) / 6.0;
  }
  const double outside = tube.inner_radius + 2.0 * tube.wall_thickness;
  const double round = std::numbers::pi * path.length() *
                       (outside * outside - tube.inner_radius * tube.inner_radius);
  CHECK(volume == Approx(round).epsilon(0.02));  // positive: its faces look outwards
}

TEST_CASE("tube: a body of less than the inner radius touches nothing, a thicker one does",
          "[mjcf]") {
  const std::string radius = GENERATE("0.0139", "0.0142");
  const std::string xml = tube_mjcf(parse_as<TubeDescription>(
      "kind = \"tube\"\ncenterline = [[0, 0, 0], [0, 0, 0.2]]\ninner_radius = 0.014\n", "t"));
  const std::string body = "<body pos=\"0 0 0.1\"><freejoint/><geom type=\"capsule\" size=\"" +
                           radius + " 0.02\" contype=\"1\" conaffinity=\"2\"/></body></worldbody>";
  std::string scene = xml;
  scene.replace(scene.find("</worldbody>"), 12, body);
  const Simulation simulation(scene);
  CHECK((simulation.data->ncon > 0) == (radius == "0.0142"));
}

TEST_CASE("tube: what is refused, and how it is said", "[mjcf]") {
  struct Case {
    std::string name, toml, message;
  };
  const std::string line = "centerline = [[0, 0, 0], [0, 0, 1], [1, 0, 1]]\n";
  const auto tube = [&line](const std::string& more) { return "kind = \"tube\"\n" + line + more; };
  const auto c = GENERATE_COPY(values<Case>({
      {"kind", line, "tube.toml:1: kind: is missing, must be \"tube\""},
      {"no centerline", "kind = \"tube\"\n", "tube.toml:1: centerline: is missing"},
      {"one point", "kind = \"tube\"\ncenterline = [[0, 0, 0]]\n", "tube.toml:2: centerline = "},
      {"two numbers", "kind = \"tube\"\ncenterline = [[0, 0], [1, 1]]\n",
       "tube.toml:2: centerline = "},
      {"repeated point",
       "kind = \"tube\"\ncenterline = [[0, 0, 0], [0, 0, 0]]\ninner_radius = 0.1\n",
       "tube.toml:2: centerline = "},
      {"NaN", "kind = \"tube\"\ncenterline = [[0, 0, 0], [0, nan, 1]]\n",
       "tube.toml:2: centerline = "},
      {"no radius", tube(""), "tube.toml:1: inner_radius: is missing"},
      {"zero radius", tube("inner_radius = 0\n"),
       "tube.toml:3: inner_radius = 0: must be in (0, 1e9]"},
      {"arc too large", tube("inner_radius = 0.1\ncorner_radius = 2\n"),
       "tube.toml:2: centerline = "},
      {"folded bend", tube("inner_radius = 0.1\nwall_thickness = 0.02\ncorner_radius = 0.05\n"),
       "tube.toml:1: corner_radius = 0.05: the tube folds"},
      {"open ring", tube("inner_radius = 0.1\nwall_thickness = 0.001\nstaves = 6\n"),
       "tube.toml:1: staves = 6: they would be"},
      {"staves", tube("inner_radius = 0.1\nstaves = 5\n"),
       "tube.toml:4: staves = 5: must be an integer"},
      {"unknown key", tube("radius = 0.1\n"), "tube.toml:3: unknown key 'radius'"},
      {"old name of a key", "kind = \"tube\"\ncentreline = [[0, 0, 0], [0, 0, 1]]\n",
       "tube.toml:2: centreline: is called centerline now"},
  }));
  DYNAMIC_SECTION(c.name) { CHECK_THAT(refusal(c.toml), StartsWith(c.message)); }
}
