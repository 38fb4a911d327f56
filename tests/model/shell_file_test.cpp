#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "tendril/model/shell/description.hpp"
#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Catch::Matchers::Contains;
using Eigen::Vector3d;

namespace {

using Triangles = std::vector<std::array<Vector3d, 3>>;

/// A bent tube with a bumpy surface and closed ends, normals outside [m].
Triangles bumpy_tube(Random& random) {
  constexpr int kRings = 12, kAround = 14;
  constexpr double kRadius = 0.01, kLength = 0.1;
  const double bend = random.uniform(0.5, 2.0);
  std::vector<std::vector<Vector3d>> rings;
  for (int k = 0; k <= kRings; ++k) {
    const double angle = bend * k / kRings;
    const Vector3d across(std::cos(angle), 0.0, -std::sin(angle));
    const Vector3d center(kLength / bend * (1.0 - std::cos(angle)), 0.0,
                          kLength / bend * std::sin(angle));
    rings.emplace_back(1, center);
    for (int i = 0; i < kAround; ++i) {
      const double a = 2.0 * std::numbers::pi * i / kAround;
      rings.back().push_back(center + random.uniform(0.85, 1.15) * kRadius *
                                          (std::cos(a) * across + std::sin(a) * Vector3d::UnitY()));
    }
  }
  Triangles triangles;
  for (std::size_t i = 1; i <= kAround; ++i) {
    const std::size_t j = i % kAround + 1;
    for (std::size_t k = 0; k < kRings; ++k) {
      triangles.push_back({rings[k][i], rings[k][j], rings[k + 1][j]});
      triangles.push_back({rings[k][i], rings[k + 1][j], rings[k + 1][i]});
    }
    triangles.push_back({rings[0][0], rings[0][j], rings[0][i]});
    triangles.push_back({rings[kRings][0], rings[kRings][i], rings[kRings][j]});
  }
  return triangles;
}

/// A box around the origin, normals outside.
Triangles box_mesh(const Vector3d& half) {
  constexpr int kFaces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                 {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
  const auto corner = [&](int i) {
    return Vector3d(half.cwiseProduct(
        Vector3d((i & 1) != 0 ? 1 : -1, (i & 2) != 0 ? 1 : -1, (i & 4) != 0 ? 1 : -1)));
  };
  Triangles triangles;
  for (const auto& [a, b, c] : kFaces) triangles.push_back({corner(a), corner(b), corner(c)});
  return triangles;
}

std::string stl(const Triangles& triangles) {
  std::string text = "solid s\n";
  for (const auto& corners : triangles) {
    text += "facet normal 0 0 0\nouter loop\n";
    for (const Vector3d& p : corners)
      text += "vertex " + std::to_string(1e3 * p.x()) + ' ' + std::to_string(1e3 * p.y()) + ' ' +
              std::to_string(1e3 * p.z()) + '\n';
    text += "endloop\nendfacet\n";
  }
  return text + "endsolid s\n";
}

std::string obj(const Triangles& triangles) {
  std::string text;
  for (const auto& corners : triangles) {
    for (const Vector3d& p : corners)
      text += "v " + std::to_string(1e3 * p.x()) + ' ' + std::to_string(1e3 * p.y()) + ' ' +
              std::to_string(1e3 * p.z()) + '\n';
    text += "f -3 -2 -1\n";
  }
  return text;
}

/// The shell of a file in mm.
ShellDescription shell_of(const std::string& mesh, const std::string& keys,
                          const std::string& name = "m.stl") {
  return parse_as<ShellDescription>(
      "kind = \"shell\"\nfile = \"" + name + "\"\nscale = 0.001\n" + keys, "s.toml", {},
      [&](const std::string& /*name*/) { return mesh; });
}

std::string refusal(const std::string& mesh, const std::string& keys) {
  try {
    static_cast<void>(shell_of(mesh, keys));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

/// Distance along a ray to the nearest triangle, by the sides of its edges on which the ray passes.
double distance_to(const Triangles& triangles, const Vector3d& start, const Vector3d& direction) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& [a, b, c] : triangles) {
    const auto side = [&](const Vector3d& p, const Vector3d& q) {
      return direction.dot((p - start).cross(q - start)) > 0.0;
    };
    if (side(a, b) != side(b, c) || side(b, c) != side(c, a)) continue;
    const Vector3d normal = (b - a).cross(c - a);
    const double t = normal.dot(a - start) / normal.dot(direction);
    if (t > 0.0) nearest = std::min(nearest, t);
  }
  return nearest;
}

/// The same to the pieces of a compiled shell.
double distance_to_pieces(const Simulation& simulation, const Vector3d& start,
                          const Vector3d& direction) {
  constexpr mjtByte kPieces[mjNGROUP] = {0, 0, 0, 1, 0, 0};
  int geom = -1;
  const double t = mj_ray(simulation.model.get(), simulation.data.get(), start.data(),
                          direction.data(), kPieces, 1, -1, &geom, nullptr);
  return t < 0.0 ? std::numeric_limits<double>::infinity() : t;
}

constexpr double kPrinted = 2e-9;  // of coordinates with six digits in mm, and of floats [m]

}  // namespace

TEST_CASE("shell: a ray from the lumen meets the wall where the surface is", "[mjcf]") {
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  Random random(seed);
  const Triangles tube = bumpy_tube(random);
  const Simulation simulation(model_mjcf(shell_of(stl(tube), "encloses = \"lumen\"")));
  for (int i = 0; i < 300; ++i) {
    const Vector3d start = 0.002 * random.unit_vector(), direction = random.unit_vector();
    const Vector3d inside = start + Vector3d(0, 0, 0.01);
    const double surface = distance_to(tube, inside, direction);
    REQUIRE(std::isfinite(surface));
    CHECK(distance_to_pieces(simulation, inside, direction) == Approx(surface).margin(1e-6));
  }
}

TEST_CASE("shell: a ball that falls in the lumen comes to rest on the surface", "[mjcf]") {
  constexpr double kRadius = 0.003, kSoft = 5e-5;  // of the ball, and of contacts under it [m]
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  Random random(seed);
  const Triangles tube = bumpy_tube(random);
  std::string xml = model_mjcf(shell_of(stl(tube), "encloses = \"lumen\""));
  xml.insert(xml.find("</worldbody>"),
             "<body name=\"ball\" pos=\"0 0 0.02\"><joint type=\"free\" damping=\"0.01\"/>"
             "<geom type=\"sphere\" size=\"0.003\" mass=\"0.001\"/></body>");
  const Simulation simulation(xml);
  const mjModel& m = *simulation.model;
  mjData& d = *simulation.data;
  const Vector3d gravity = 9.81 * random.unit_vector();
  mju_copy3(simulation.model->opt.gravity, gravity.data());
  while (d.time < 3.0) mj_step(&m, &d);
  mj_forward(&m, &d);
  const Vector3d center(d.qpos[0], d.qpos[1], d.qpos[2]);
  REQUIRE(d.ncon > 0);
  CHECK(mju_norm3(d.qvel) < 1e-3);
  Vector3d force = Vector3d::Zero();
  for (int i = 0; i < d.ncon; ++i) {
    mjtNum wrench[6], world[3];
    mj_contactForce(&m, &d, i, wrench);
    mju_mulMatTVec3(world, d.contact[i].frame, wrench);
    const double sign = d.contact[i].geom[1] == m.ngeom - 1 ? 1.0 : -1.0;  // onto the ball
    force += sign * Vector3d(world[0], world[1], world[2]);
    const Vector3d normal = sign * Vector3d(Eigen::Map<const Vector3d>(d.contact[i].frame));
    CHECK(distance_to(tube, center, -normal) == Approx(kRadius + d.contact[i].dist).margin(kSoft));
  }
  CHECK((force + 0.001 * gravity).norm() < 0.02 * 0.001 * 9.81);
}

TEST_CASE("shell: a ray from around a part meets the wall where its surface is, also of a sheet",
          "[mjcf]") {
  const auto half_height = GENERATE(0.02, 0.0002);  // the wall is thinner than the sheet
  const auto seed = GENERATE(range(0u, 3u));
  CAPTURE(half_height, seed);
  Random random(seed);
  const Triangles part = box_mesh({0.03, 0.02, half_height});
  const Simulation simulation(model_mjcf(shell_of(stl(part), "encloses = \"wall\"")));
  for (int i = 0; i < 300; ++i) {
    const Vector3d start = 0.1 * random.unit_vector();
    const Vector3d at(random.uniform(-0.03, 0.03), random.uniform(-0.02, 0.02), 0.0);
    const Vector3d direction = (at - start).normalized();
    CHECK(distance_to_pieces(simulation, start, direction) ==
          Approx(distance_to(part, start, direction)).margin(1e-6));
  }
}

TEST_CASE("shell: orientation of a closed mesh, its format and repeated corners do not matter",
          "[mjcf]") {
  Random random(3);
  const Triangles tube = bumpy_tube(random);
  Triangles reversed = tube;
  for (auto& [a, b, c] : reversed) std::swap(b, c);
  const std::string keys = "encloses = \"lumen\"";
  const auto backs = [](const ShellDescription& shell) {
    Vector3d sum = Vector3d::Zero();
    for (const ShellPiece& piece : shell_pieces(shell))
      for (const Vector3d& p : piece.back) sum += p;
    return sum;
  };
  const Vector3d expected = backs(shell_of(stl(tube), keys));
  CHECK((backs(shell_of(stl(reversed), keys)) - expected).norm() < kPrinted);
  CHECK((backs(shell_of(obj(tube), keys, "m.obj")) - expected).norm() < kPrinted);
  CHECK((backs(shell_of(stl(tube), "encloses = \"wall\"")) - expected).norm() > 0.1);
}

TEST_CASE("shell: the document compiles with the filter and friction that it promises", "[mjcf]") {
  const ShellDescription shell =
      shell_of(stl(box_mesh({0.03, 0.02, 0.01})), "encloses = \"lumen\"\nfriction = 0.2");
  const std::string xml = model_mjcf(shell);
  CHECK(xml == model_mjcf(shell));
  const Simulation simulation(xml);
  const mjModel& m = *simulation.model;
  REQUIRE(m.ngeom == 12 + 1);
  CHECK(m.geom_contype[12] == 0);  // the surface that is drawn
  CHECK(m.geom_conaffinity[12] == 0);
  for (int g = 0; g < 12; ++g) {
    CHECK(m.geom_group[g] == 3);
    CHECK(m.geom_contype[g] == 2);
    CHECK(m.geom_conaffinity[g] == 1);
    CHECK(m.geom_priority[g] == 1);
    CHECK(m.geom_friction[3 * g] == Approx(0.2));
  }
}

TEST_CASE("shell: an open mesh keeps its holes", "[mjcf]") {
  Triangles cup = box_mesh({0.03, 0.02, 0.01});
  cup.erase(cup.begin() + 2, cup.begin() + 4);  // the lid
  const Simulation simulation(model_mjcf(shell_of(stl(cup), "encloses = \"lumen\"")));
  CHECK(std::isinf(distance_to_pieces(simulation, {0.01, 0.005, 0.05}, {0, 0, 1})));
  CHECK(distance_to_pieces(simulation, {0.01, 0.005, 0.05}, {0, 0, -1}) == Approx(0.06));
}

TEST_CASE("shell: a mesh that is no surface is refused in one line", "[mjcf]") {
  Triangles turned = box_mesh({0.03, 0.02, 0.01});
  std::swap(turned[0][0], turned[0][1]);
  Triangles flat = box_mesh({0.03, 0.02, 0.01});
  for (auto& corners : flat) corners[2] = corners[1];
  std::string infinite = stl(box_mesh({1, 1, 1}));
  infinite.replace(infinite.find("1000.0"), 6, "nan   ");
  struct Case {
    std::string name, mesh, keys, message;
  };
  const std::string lumen = "encloses = \"lumen\"";
  const auto c = GENERATE_COPY(values<Case>({
      {"empty", stl({}), lumen, "s.toml:2: file = 'm.stl': m.stl: has no triangles"},
      {"not an STL", "hello", lumen, "is not an STL file, or is truncated"},
      {"not a number", infinite, lumen, "nan: must be a finite number"},
      {"no area", stl(flat), lumen, "must have triangles that are wider than 1e-06 m"},
      {"a triangle turned over", stl(turned), lumen,
       "3 of its edges join triangles of opposite orientation"},
      {"no side", stl(box_mesh({1, 1, 1})), "",
       "encloses: is missing, must be \"lumen\" or \"wall\""},
      {"unknown side", stl(box_mesh({1, 1, 1})), "encloses = \"tube\"",
       "encloses = 'tube': must be"},
      {"another file", stl({}), lumen + "\nstaves = 3", "staves"},
  }));
  DYNAMIC_SECTION(c.name) {
    const std::string line = refusal(c.mesh, c.keys);
    CHECK_THAT(line, Contains(c.message));
    CHECK(line.find('\n') == std::string::npos);
  }
}
