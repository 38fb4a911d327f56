#include "simulation/families/families.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include "simulation/experiment/experiment.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

std::filesystem::path written(const TemporaryFolder& folder, const std::string& family,
                              std::uint64_t seed, double difficulty) {
  const std::vector<GeneratedFile> files = generate_scene(family, seed, difficulty);
  for (const GeneratedFile& file : files) folder.write(file.name, file.text);
  return folder.path() / files.front().name;
}

}  // namespace

TEST_CASE("families: every scene loads without a notice, at every difficulty", "[families]") {
  for (const Family& family : families()) {
    for (const double difficulty : {0.0, 0.5, 1.0}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        CAPTURE(family.name, difficulty, seed);
        const TemporaryFolder folder;
        const Experiment experiment =
            load_experiment(written(folder, family.name, seed, difficulty));
        CHECK(experiment.checks.size() >= 2);
        const Scene scene = load_scene(experiment.scene);
        CHECK(scene.notices.empty());
        const DataPtr data = make_data(*scene.model);
        CHECK(distant_targets(*scene.model, *data, scene.robots).empty());
      }
    }
  }
}

TEST_CASE("families: a seed is one scene, another seed another", "[families]") {
  for (const Family& family : families()) {
    CAPTURE(family.name);
    std::set<std::string> texts;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto files = generate_scene(family.name, seed, 0.5);
      const auto again = generate_scene(family.name, seed, 0.5);
      std::string all;
      for (std::size_t i = 0; i < files.size(); ++i) {
        CHECK(files[i].text == again[i].text);
        all += files[i].text;
      }
      texts.insert(all);
    }
    CHECK(texts.size() == 20);
  }
}

TEST_CASE("families: at the start nothing touches what the robot shall not touch", "[families]") {
  for (const char* family :
       {"cable", "clutter", "maze", "mobile_clutter", "moving", "path", "reach_around", "shelf",
        "touch", "tube", "coil", "two_arms", "winding_tube"}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(family, seed);
      const TemporaryFolder folder;
      const Experiment experiment = load_experiment(written(folder, family, seed, 1.0));
      const Scene scene = load_scene(experiment.scene);
      const DataPtr data = make_data(*scene.model);
      if (!experiment.keyframe.empty()) {
        const int key = mj_name2id(scene.model.get(), mjOBJ_KEY, experiment.keyframe.c_str());
        REQUIRE(key >= 0);
        mj_resetDataKeyframe(scene.model.get(), data.get(), key);
      }
      mj_forward(scene.model.get(), data.get());
      CHECK(data->ncon == 0);
    }
  }
}

TEST_CASE("families: what is refused, and how it is said", "[families]") {
  CHECK_THROWS_WITH(
      generate_scene("swamp", 0, 0.5),
      "family: swamp: must be one of cable, clutter, coil, maze, mobile_clutter, moving, path, "
      "pole, reach_around, shelf, touch, tube, two_arms, underactuated, vessel, "
      "winding_tube");
  CHECK_THROWS_WITH(generate_scene("pole", 0, 1.5), "--difficulty: 1.5: must be in [0, 1]");
  CHECK_THROWS_WITH(generate_scene("pole", 0, std::nan("")), Catch::Contains("must be in [0, 1]"));
}

TEST_CASE("families: no arc without contact reaches the target of reach_around", "[families]") {
  // Every free shape of the rod is an arc; its tip on a fine grid of curvature and length.
  constexpr double kNear = 0.004, kRodRadius = 0.01;  // [m]
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    const TemporaryFolder folder;
    const Scene scene =
        load_scene(load_experiment(written(folder, "reach_around", seed, 0.5)).scene);
    const mjModel* const m = scene.model.get();
    const DataPtr data = make_data(*m);
    mj_forward(m, data.get());
    const int target = mj_name2id(m, mjOBJ_BODY, "target");
    const Eigen::Map<const Eigen::Vector3d> goal(data->xpos + 3 * target);
    const auto is_free = [&](double x, double y) {  // in the boxes' plane, by their own distances
      for (int g = 0; g < m->ngeom; ++g) {
        const char* const name = mj_id2name(m, mjOBJ_GEOM, g);
        if (name == nullptr || std::string(name).rfind("box_", 0) != 0) continue;
        const mjtNum* const R = data->geom_xmat + 9 * g;
        const double dx = x - data->geom_xpos[3 * g], dy = y - data->geom_xpos[3 * g + 1];
        const double u = std::abs(R[0] * dx + R[3] * dy) - m->geom_size[3 * g];
        const double v = std::abs(R[1] * dx + R[4] * dy) - m->geom_size[3 * g + 1];
        if (std::hypot(std::max(u, 0.0), std::max(v, 0.0)) < kRodRadius - 1e-3) return false;
      }
      return true;
    };
    int near = 0;
    bool reached = false;
    constexpr double kStep = 0.002;  // of the length [m]
    for (double k = -15.7; k <= 15.7; k += 0.01) {
      const auto point = [k](double s) {
        const double u = k * s;
        return std::abs(u) < 1e-9 ? Eigen::Vector2d(0.0, s)
                                  : Eigen::Vector2d((1.0 - std::cos(u)) / k, std::sin(u) / k);
      };
      const double most = std::min(1.15, std::numbers::pi / std::max(std::abs(k), 1e-9));
      for (double length = 0.0; length <= most; length += kStep) {
        if ((point(length) - goal.head<2>()).norm() > kNear) continue;
        ++near;
        bool free = true;
        for (double s = 0.0; s <= length && free; s += kStep)
          free = is_free(point(s).x(), point(s).y());
        reached = reached || free;
      }
    }
    CHECK(near > 0);  // the grid is fine enough to meet it
    CHECK(!reached);
  }
}
