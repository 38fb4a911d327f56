#include "rendering/smooth_body.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>

#include "rendering/offscreen.hpp"
#include "simulation/engine/engine.hpp"
#include "simulation/scene/scene.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

constexpr double kFloat = 1e-6;  // m: what the engine draws has single precision

constexpr const char* kArm = R"(kind = "continuum"
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 5
radius = 0.008
[[section]]
variable_length = 0.12
bend_limit = 2.0
links = 6
radius = 0.006
)";

/// Geoms that the engine draws of a scene.
class Drawn {
 public:
  Drawn(const mjModel& model, mjData& data, int room = 2000) {
    mjv_defaultScene(&scene);
    mjv_makeScene(&model, &scene, room);
    const mjvOption options = image_options();
    mjvCamera camera = image_camera(model);
    mjv_updateScene(&model, &data, &options, nullptr, &camera, mjCAT_ALL, &scene);
  }
  ~Drawn() { mjv_freeScene(&scene); }
  Drawn(const Drawn&) = delete;
  Drawn& operator=(const Drawn&) = delete;

  mjvScene scene;
};

struct Piece {
  int geom;
  double start[3], end[3], axis[3], radius;
};

/// Capsules of the arm, base first: those of a link in the order in which they follow.
/// @param side  1 if their axes point to the tip, -1: to the base
std::vector<Piece> pieces_of(const mjModel& model, const mjvScene& scene, double side = 1.0) {
  std::vector<Piece> pieces;
  for (int i = 0; i < scene.ngeom; ++i) {
    const mjvGeom& geom = scene.geoms[i];
    if (geom.objtype != mjOBJ_GEOM || geom.type != mjGEOM_CAPSULE) continue;
    const int body = model.geom_bodyid[geom.objid];
    if (std::string(mj_id2name(&model, mjOBJ_BODY, body)).find("_l") == std::string::npos) continue;
    Piece piece{.geom = geom.objid, .start = {}, .end = {}, .axis = {}, .radius = geom.size[0]};
    for (int k = 0; k < 3; ++k) {
      piece.axis[k] = side * geom.mat[3 * k + 2];
      piece.start[k] = geom.pos[k] - geom.size[2] * piece.axis[k];
      piece.end[k] = geom.pos[k] + geom.size[2] * piece.axis[k];
    }
    pieces.push_back(piece);
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.geom < b.geom; });
  return pieces;
}

double kink(const Piece& a, const Piece& b) {
  return std::acos(std::clamp(mju_dot3(a.axis, b.axis), -1.0, 1.0));
}

struct Arm {
  TemporaryFolder folder;
  Scene scene = load_scene(folder.write("arm.toml", kArm));
  DataPtr data = make_data(*scene.model);

  /// Bends all hinges of each section alike and moves the slides by a fraction of their range.
  void bend(double angle, double stroke) {
    const mjModel& model = *scene.model;
    for (int joint = 0; joint < model.njnt; ++joint) {
      const bool slides = model.jnt_type[joint] == mjJNT_SLIDE;
      const double* const range = model.jnt_range + 2 * joint;
      data->qpos[model.jnt_qposadr[joint]] =
          slides ? range[0] + stroke * (range[1] - range[0]) : angle;
    }
    mj_forward(&model, data.get());
  }
};

}  // namespace

TEST_CASE(
    "smooth body: goes without a gap through the middles of all links and bends little from piece "
    "to "
    "piece",
    "[view]") {
  const double angle = GENERATE(0.0, 0.03, -0.15), stroke = GENERATE(0.3, 0.6, 1.0);
  CAPTURE(angle, stroke);
  Arm arm;
  arm.bend(angle, stroke);
  const mjModel& model = *arm.scene.model;
  Drawn links(model, *arm.data), body(model, *arm.data);
  SmoothBody(model).draw(body.scene);
  const std::vector<Piece> before = pieces_of(model, links.scene, -1.0);
  const std::vector<Piece> after = pieces_of(model, body.scene);
  REQUIRE(before.size() == 11);
  if (angle == 0.0) CHECK(after.size() == before.size());
  if (std::abs(angle) > 0.1) CHECK(after.size() > 2 * before.size());

  std::size_t link = 0;
  double largest = 0.0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const int owner = model.geom_bodyid[after[i].geom];
    if (i + 1 == after.size() || after[i + 1].geom != after[i].geom) {
      ++link;
      double from_joint[3], across[3];
      const double* const R = arm.data->xmat + 9 * owner;
      const double axis[3] = {R[2], R[5], R[8]};
      mju_sub3(from_joint, after[i].end, arm.data->xpos + 3 * owner);
      mju_cross(across, from_joint, axis);
      CHECK(mju_norm3(across) < kFloat);  // on the link's own axis
    }
    if (i == 0) continue;
    CHECK(mju_dist3(after[i].start, after[i - 1].end) < kFloat);
    largest = std::max(largest, kink(after[i - 1], after[i]));
  }
  CHECK(mju_dist3(after.back().end, before.back().end) < kFloat);
  CHECK(link == before.size());
  CHECK(largest < 2.5 * SmoothBody::kKink);  // a cubic turns more than its mean somewhere
  if (std::abs(angle) > 0.1) CHECK(largest < 0.6 * kink(before[1], before[2]));
}

TEST_CASE("smooth body: a scene without room keeps the links that do not fit", "[view]") {
  Arm arm;
  arm.bend(0.1, 0.5);
  const mjModel& model = *arm.scene.model;
  Drawn plenty(model, *arm.data);
  Drawn full(model, *arm.data, plenty.scene.ngeom + 3);
  SmoothBody(model).draw(full.scene);
  CHECK(full.scene.ngeom <= full.scene.maxgeom);
  std::set<int> geoms;
  for (const Piece& piece : pieces_of(model, full.scene)) geoms.insert(piece.geom);
  CHECK(geoms.size() == 11);
}

TEST_CASE("smooth body: joints of a snake stay as they are", "[view]") {
  const TemporaryFolder folder;
  const Scene scene =
      load_scene(folder.write("snake.toml", "kind = \"snake\"\njoints = 6\nlink_length = 0.06\n"));
  const DataPtr data = make_data(*scene.model);
  mj_forward(scene.model.get(), data.get());
  Drawn before(*scene.model, *data), after(*scene.model, *data);
  SmoothBody(*scene.model).draw(after.scene);
  CHECK(after.scene.ngeom == before.scene.ngeom);
}
