// Laws of what is only drawn of an arm: disks on its rod, and a skin.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "tendril/model_error.hpp"
#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;

namespace {

constexpr double kLength = 0.2, kRadius = 0.01, kPi = 3.14159265358979323846;
constexpr int kLinks = 20;

constexpr const char* kArm =
    "kind = \"continuum\"\nself_collision = true\n[[section]]\nconstant_length = 0.2\n"
    "bend_limit = 3\nlinks = 20\nradius = 0.01\nmass = 0.05\n";
constexpr const char* kDisks = "disks = 7\nbackbone_radius = 0.001\n";
constexpr const char* kSkin = "[skin]\nfile = \"skin.obj\"\nscale = 0.001\n";

/// A closed prism around the straight arm in mm, with no corners between its ends.
std::string prism(double height = 1e3 * kLength, int sides = 8) {
  std::string text;
  for (const double z : {0.0, height})
    for (int i = 0; i < sides; ++i)
      text += fmt::format("v {} {} {}\n", 11.0 * std::cos(2 * kPi * i / sides),
                          11.0 * std::sin(2 * kPi * i / sides), z);
  for (int i = 0; i < sides; ++i) {
    const int a = i + 1, b = (i + 1) % sides + 1;
    text += fmt::format("f {} {} {} {}\n", a, b, b + sides, a + sides);
  }
  return text;
}

ContinuumDescription arm(const std::string& text, const std::string& mesh = prism()) {
  return parse_as<ContinuumDescription>(text, "arm.toml", {},
                                        [&](const std::string& /*name*/) { return mesh; });
}

/// Bends all hinges as the arc of the state does.
void bend(const Simulation& s, double theta, double phi) {
  for (int link = 1; link <= kLinks; ++link) {
    const auto turn = [&](char axis, double angle) {
      const int joint = s.id(mjOBJ_JOINT, names::hinge(1, link, axis));
      s.data->qpos[s.model->jnt_qposadr[joint]] = angle / kLinks;
    };
    turn('y', theta * std::cos(phi));
    turn('x', -theta * std::sin(phi));
  }
  mj_forward(s.model.get(), s.data.get());
}

/// Pose of the arc at a fraction of its length, in the base frame.
Eigen::Isometry3d arc(double theta, double phi, double fraction) {
  const double angle = theta * fraction, radius = kLength / theta;
  const Vector3d towards(std::cos(phi), std::sin(phi), 0.0);
  const Vector3d axis = Vector3d::UnitZ().cross(towards);
  Eigen::Isometry3d pose(Eigen::AngleAxisd(angle, axis));
  pose.translation() =
      radius * ((1.0 - std::cos(angle)) * towards + std::sin(angle) * Vector3d::UnitZ());
  return pose;
}

/// Steps with gravity and returns all positions.
std::vector<double> fall(const std::string& text) {
  const Simulation s(continuum_mjcf(arm(text)));
  for (int i = 0; i < 200; ++i) mj_step(s.model.get(), s.data.get());
  return {s.data->qpos, s.data->qpos + s.model->nq};
}

}  // namespace

TEST_CASE("disks: they sit evenly on the bent backbone, across it", "[mjcf]") {
  const auto seed = GENERATE(range(0u, 20u));
  Random random(seed);
  const double theta = random.uniform(0.01, 1.5), phi = random.uniform(-kPi, kPi);
  CAPTURE(seed, theta, phi);
  const Simulation s(continuum_mjcf(arm(std::string(kArm) + kDisks)));
  bend(s, theta, phi);
  for (int k = 1; k <= 7; ++k) {
    const int disk = s.id(mjOBJ_GEOM, names::disk(1, k));
    const Eigen::Isometry3d X_BD = arc(theta, phi, k / 7.0);
    const Vector3d p(s.data->geom_xpos + 3 * disk);
    const mjtNum* const R = s.data->geom_xmat + 9 * disk;
    // A chain of links differs from its arc by l theta / (8 links) across, and half a link's bend.
    CHECK((p - X_BD.translation()).norm() < 0.3 * kLength * theta / kLinks / kLinks + 1e-9);
    const double cosine = X_BD.linear().col(2).dot(Vector3d(R[2], R[5], R[8]));
    CHECK(std::acos(std::min(cosine, 1.0)) <= 0.51 * theta / kLinks + 1e-6);
    CHECK(s.model->geom_size[3 * disk] == Approx(kRadius));
  }
}

TEST_CASE("disks and skin: the physics has the same bits without them", "[mjcf]") {
  const std::vector<double> plain = fall(kArm);
  CHECK(fall(std::string(kArm) + kDisks) == plain);
  CHECK(fall(std::string(kArm) + kSkin) == plain);
  CHECK(fall(std::string(kArm) + kDisks + kSkin) == plain);
}

TEST_CASE("disks and skin: what touches is there, but not drawn", "[mjcf]") {
  for (const std::string& more : {std::string(kDisks), std::string(kSkin)}) {
    const Simulation s(continuum_mjcf(arm(kArm + more)));
    for (int link = 1; link <= kLinks; ++link) {
      const int geom = s.id(mjOBJ_GEOM, names::link(1, link));
      CHECK(s.model->geom_group[geom] == kCollisionGroup);
      CHECK(s.model->geom_contype[geom] != 0);
      CHECK(s.model->geom_size[3 * geom] == Approx(kRadius));
    }
  }
}

TEST_CASE("skin: its vertices stay on the body, as far from the arc as from the straight arm",
          "[mjcf]") {
  const auto seed = GENERATE(range(0u, 20u));
  Random random(seed);
  const double theta = random.uniform(0.01, 2.0), phi = random.uniform(-kPi, kPi);
  CAPTURE(seed, theta, phi);
  const Simulation s(continuum_mjcf(arm(std::string(kArm) + kSkin)));
  const mjModel& m = *s.model;
  REQUIRE(m.nskin == 1);
  CHECK(m.nskinvert >= 8 * kLinks);  // the prism is divided along its length
  bend(s, theta, phi);
  // Blends the poses of bones as the engine does.
  std::vector<Vector3d> bent(static_cast<std::size_t>(m.nskinvert), Vector3d::Zero());
  std::vector<double> weights(bent.size(), 0.0);
  for (int b = 0; b < m.nskinbone; ++b) {
    const int body = m.skin_bonebodyid[b];
    for (int k = 0; k < m.skin_bonevertnum[b]; ++k) {
      const int at = m.skin_bonevertadr[b] + k, v = m.skin_bonevertid[at];
      mjtNum local[3], world[3];
      for (int i = 0; i < 3; ++i)
        local[i] = static_cast<double>(m.skin_vert[3 * v + i]) -
                   static_cast<double>(m.skin_bonebindpos[3 * b + i]);
      mju_mulMatVec3(world, s.data->xmat + 9 * body, local);
      mju_addTo3(world, s.data->xpos + 3 * body);
      const auto weight = static_cast<double>(m.skin_bonevertweight[at]);
      bent[static_cast<std::size_t>(v)] += weight * Vector3d(world);
      weights[static_cast<std::size_t>(v)] += weight;
    }
  }
  // Half a link's bend of a link's length, and of the distance from the axis.
  const double tolerance = theta / kLinks * (kLength / kLinks + 0.011) / 2.0 + 1e-5;
  for (std::size_t v = 0; v < bent.size(); ++v) {
    CHECK(weights[v] == Approx(1.0).epsilon(1e-5));
    const float* const p = m.skin_vert + 3 * v;
    const Vector3d across(p[0], p[1], 0.0);
    const Vector3d expected = arc(theta, phi, static_cast<double>(p[2]) / kLength) * across;
    CHECK((bent[v] - expected).norm() < tolerance);
  }
}

TEST_CASE("skin: a closed mesh remains closed when it is divided", "[mjcf]") {
  const TriangleMesh mesh = divided({.vertices = {{0, 0, 0}, {1, 0, 0.3}, {0, 1, 1.7}, {0, 0, 4}},
                                     .triangles = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}}},
                                    0.25);
  std::map<std::pair<int, int>, int> edges;  // runs from the lower vertex less those back
  for (const auto& t : mesh.triangles) {
    for (std::size_t k = 0; k < 3; ++k) {
      const int a = t[k], b = t[(k + 1) % 3];
      edges[{std::min(a, b), std::max(a, b)}] += a < b ? 1 : -1;
      const auto z = [&](int v) { return mesh.vertices[static_cast<std::size_t>(v)].z(); };
      CHECK(std::abs(z(a) - z(b)) <= 0.25);
    }
  }
  for (const auto& [edge, balance] : edges) CHECK(balance == 0);
}

TEST_CASE("disks and skin: mistakes are one line", "[mjcf]") {
  struct Case {
    const char* name;
    std::string text, mesh, message;
  };
  const std::string arm_text = kArm;
  const auto c = GENERATE_COPY(values<Case>({
      {"radius without disks", arm_text + "disk_radius = 0.01", "",
       "arm.toml:9: section 1: disk_radius = 0.01: needs disks"},
      {"thick disks", arm_text + "disks = 10\ndisk_thickness = 0.03", "",
       "arm.toml:10: section 1: disk_thickness = 0.03: must be"},
      {"rod without modulus or disks", arm_text + "backbone_radius = 0.001", "",
       "arm.toml:9: section 1: backbone_radius = 0.001: needs youngs_modulus, or disks"},
      {"no file", arm_text + "[skin]\nscale = 1", "", "skin: file: "},
      {"empty mesh", arm_text + kSkin, "# nothing\n", "has no triangles"},
      {"millimeters", arm_text + "[skin]\nfile = \"skin.obj\"", prism(), "scale = 0.001"},
      {"beside the arm", arm_text + kSkin, "v 0 0 300\nv 0 0 400\nv 1 0 400\nf 1 2 3\n",
       "must be on the arm"},
      {"color", arm_text + kSkin + "color = [1, 0]", prism(), "must be red, green, blue"},
  }));
  DYNAMIC_SECTION(c.name) {
    try {
      static_cast<void>(arm(c.text, c.mesh));
      FAIL("accepted");
    } catch (const ModelError& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(message.find(c.message) != std::string::npos);
      CHECK(message.find('\n') == std::string::npos);
    }
  }
}
