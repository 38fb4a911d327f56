#include "rendering/drive_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/model/compiled_model.hpp"
#include "tests/support/random.hpp"

using namespace tendril;
using namespace tendril::test;
using Eigen::Vector3d;
using simulation::DriveRoutes;

namespace {

constexpr double kFloat = 1e-6;  // [m]: what the engine draws has single precision
constexpr int kLinks = 12, kDisks = 6, kSections = 2;
constexpr double kRadius = 0.012;  // of the body [m]

/// Two sections of 12 links, with disks or without.
std::string sections(const std::string& more = fmt::format("disks = {}\n", kDisks)) {
  std::string text = "kind = \"continuum\"\n";
  for (int i = 0; i < kSections; ++i)
    text += fmt::format(
                "[[section]]\nconstant_length = 0.12\nbend_limit = 2\nlinks = {}\nradius = {}\n",
                kLinks, kRadius) +
            more;
  return text;
}

struct Route {
  std::string name;
  int section;
  double angle, distance;  // [rad], [m]
};
std::string tendon(const Route& drive) {
  return fmt::format("[[tendon]]\nname = \"{}\"\nsection = {}\nangle = {}\ndistance = {}\n",
                     drive.name, drive.section, drive.angle, drive.distance);
}

Simulation bent_arm(const std::string& text, Random& random) {
  Simulation s(continuum_mjcf(parse_as<ContinuumDescription>(text, "arm.toml")));
  for (int j = 0; j < s.model->njnt; ++j)
    if (s.model->jnt_type[j] == mjJNT_HINGE)
      s.data->qpos[s.model->jnt_qposadr[j]] = random.uniform(-0.15, 0.15);
  mj_forward(s.model.get(), s.data.get());
  return s;
}

struct Piece {
  Vector3d from, to;
  double radius;
  std::array<float, 3> color;
};

/// What is drawn of a drive, from the base on, in a scene with this much room.
std::vector<Piece> drawn(const Simulation& s, const std::string& name, int room = 1000) {
  mjvScene scene;
  mjv_defaultScene(&scene);
  mjv_makeScene(s.model.get(), &scene, room);
  scene.ngeom = 0;
  DriveRoutes(*s.model).draw(*s.model, *s.data, scene);
  CHECK(scene.ngeom <= room);
  std::vector<Piece> pieces;
  for (int i = 0; i < scene.ngeom; ++i) {
    const mjvGeom& geom = scene.geoms[i];
    CHECK(geom.objtype == mjOBJ_TENDON);
    CHECK(geom.type == mjGEOM_CAPSULE);
    if (geom.objid != s.id(mjOBJ_TENDON, name)) continue;
    const Vector3d center(geom.pos[0], geom.pos[1], geom.pos[2]);
    const Vector3d half = geom.size[2] * Vector3d(geom.mat[2], geom.mat[5], geom.mat[8]);
    pieces.push_back(
        {center - half, center + half, geom.size[0], {geom.rgba[0], geom.rgba[1], geom.rgba[2]}});
  }
  mjv_freeScene(&scene);
  return pieces;
}

/// The point of a body at an angle and a distance from the axis z through a geom of it.
Vector3d beside(const Simulation& s, int geom, double angle, double distance) {
  const mjtNum* const R = s.data->xmat + 9 * s.model->geom_bodyid[geom];
  const double x = distance * std::cos(angle), y = distance * std::sin(angle);
  return Vector3d(s.data->geom_xpos + 3 * geom) +
         Vector3d(R[0] * x + R[1] * y, R[3] * x + R[4] * y, R[6] * x + R[7] * y);
}

/// Where the file has a drive at each disk from section `first` on.
std::vector<Vector3d> at_disks(const Simulation& s, const Route& drive, int first = 1) {
  std::vector<Vector3d> points;
  for (int section = first; section <= drive.section; ++section)
    for (int k = 1; k <= kDisks; ++k)
      points.push_back(
          beside(s, s.id(mjOBJ_GEOM, names::disk(section, k)), drive.angle, drive.distance));
  return points;
}

void check_ends(const std::vector<Piece>& pieces, const std::vector<Vector3d>& points) {
  REQUIRE(pieces.size() == points.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CHECK((pieces[i].to - points[i]).norm() < kFloat);
    if (i > 0) CHECK((pieces[i].from - points[i - 1]).norm() < kFloat);
  }
}

}  // namespace

TEST_CASE("drive routes: a tendon passes every disk where the robot file has it", "[rendering]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Random random(seed);
  std::vector<Route> drives;
  std::string text = sections();
  for (int i = 0; i < 6; ++i) {
    drives.push_back({fmt::format("t{}", i), 1 + i / 3,
                      2.0 * std::numbers::pi / 3.0 * i + random.uniform(-0.3, 0.3),
                      random.uniform(0.3, 1.6) * kRadius});
    text += tendon(drives.back());
  }
  const Simulation s = bent_arm(text, random);
  for (const Route& drive : drives) {
    CAPTURE(drive.name);
    const std::vector<Piece> pieces = drawn(s, drive.name);
    check_ends(pieces, at_disks(s, drive));
    const Vector3d base(s.data->xpos + 3 * s.model->geom_bodyid[s.id(mjOBJ_GEOM, names::kRoot)]);
    CHECK((pieces[0].from - base).norm() == Approx(drive.distance).margin(kFloat));
    for (const Piece& piece : pieces) CHECK(piece.radius < 0.1 * drive.distance);
  }
}

TEST_CASE("drive routes: a tendon of two distances converges along the arm", "[rendering]") {
  const double at_base = 0.011, at_end = 0.004;
  std::string text = sections();
  for (int i = 0; i < 6; ++i)
    text +=
        fmt::format("[[tendon]]\nname = \"t{}\"\nsection = {}\nangle = {}\ndistance = [{}, {}]\n",
                    i, 1 + i / 3, 2.1 * i, at_base, at_end);
  Random random(1);
  const Simulation s = bent_arm(text, random);
  const std::vector<Piece> pieces = drawn(s, "t5");
  REQUIRE(pieces.size() == kSections * kDisks);
  for (int k = 0; k < kSections * kDisks; ++k) {
    const int disk = s.id(mjOBJ_GEOM, names::disk(1 + k / kDisks, 1 + k % kDisks));
    const double distance =
        (pieces[static_cast<std::size_t>(k)].to - Vector3d(s.data->geom_xpos + 3 * disk)).norm();
    const double expected = at_base + (at_end - at_base) * (k + 1) / (kSections * kDisks);
    // It is the same along a link.
    CHECK(std::abs(distance - expected) <= (at_base - at_end) / (kSections * kLinks) + kFloat);
  }
}

TEST_CASE("drive routes: a chamber lies in its section, as thick as its area", "[rendering]") {
  const double area = 3e-5;
  std::string text = sections();
  std::vector<Route> drives;
  for (int i = 0; i < 6; ++i) {
    drives.push_back({fmt::format("c{}", i), 1 + i / 3, 2.0 * std::numbers::pi / 3.0 * i, 0.006});
    text += fmt::format(
        "[[chamber]]\nname = \"c{}\"\nsection = {}\nangle = {}\ndistance = 0.006\narea = {}\n", i,
        drives.back().section, drives.back().angle, area);
  }
  Random random(2);
  const Simulation s = bent_arm(text, random);
  for (const Route& drive : drives) {
    const std::vector<Piece> pieces = drawn(s, drive.name);
    check_ends(pieces, at_disks(s, drive, drive.section));
    for (const Piece& piece : pieces)
      CHECK(piece.radius == Approx(std::sqrt(area / std::numbers::pi)));
  }
}

TEST_CASE("drive routes: a load colors all of a tendon red, and only it", "[rendering]") {
  std::string text = sections();
  for (int i = 0; i < 6; ++i) text += tendon({fmt::format("t{}", i), 1 + i / 3, 2.1 * i, 0.008});
  Random random(3);
  const Simulation s = bent_arm(text, random);
  const int actuator = s.id(mjOBJ_ACTUATOR, "t4");
  std::fill_n(s.data->actuator_force, s.model->nu, 0.0);
  const std::array<float, 3> slack = drawn(s, "t4").front().color;
  float red = slack[0];
  for (const double part : {0.1, 0.4, 1.0}) {
    s.data->actuator_force[actuator] = part * s.model->actuator_forcerange[2 * actuator + 1];
    const std::vector<Piece> pieces = drawn(s, "t4");
    for (const Piece& piece : pieces) CHECK(piece.color == pieces.front().color);
    CHECK(pieces.front().color[0] > red);
    red = pieces.front().color[0];
    CHECK(drawn(s, "t3").front().color == slack);
  }
  CHECK(red > 0.85F);
}

TEST_CASE("drive routes: an opaque body hides what is inside it", "[rendering]") {
  std::string text = sections("");
  for (int i = 0; i < 6; ++i)
    text += tendon({fmt::format("t{}", i), 1 + i / 3, 2.1 * i, i % 3 == 0 ? 0.02 : 0.008});
  Random random(4);
  const Simulation s = bent_arm(text, random);
  CHECK(drawn(s, "t1").empty());
  CHECK(drawn(s, "t3").size() == kSections * kLinks);  // outside: from link to link
  Random again(4);
  const Simulation seen = bent_arm(
      sections("color = [0.5, 0.5, 0.5, 0.3]\n") + text.substr(sections("").size()), again);
  CHECK(drawn(seen, "t1").size() == kLinks);
}

TEST_CASE("drive routes: a full scene takes as many pieces as it has room for", "[rendering]") {
  std::string text = sections();
  for (int i = 0; i < 6; ++i) text += tendon({fmt::format("t{}", i), 1 + i / 3, 2.1 * i, 0.008});
  Random random(5);
  const Simulation s = bent_arm(text, random);
  CHECK(drawn(s, "t0", 4).size() == 4);
}
