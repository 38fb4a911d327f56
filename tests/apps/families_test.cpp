#include "apps/host/generate/families.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>

#include "apps/host/engine/scene.hpp"
#include "apps/host/experiment/experiment.hpp"
#include "tendril/model_error.hpp"
#include "tests/apps/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::host;
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
        CHECK(distant_targets(*scene.model, *data).empty());
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
       {"clutter", "maze", "mobile_clutter", "path", "reach_around", "shelf", "tube", "coil"}) {
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
  CHECK_THROWS_WITH(generate_scene("swamp", 0, 0.5),
                    "family: swamp: must be one of clutter, coil, maze, mobile_clutter, path, pole, "
                    "reach_around, shelf, tube");
  CHECK_THROWS_WITH(generate_scene("pole", 0, 1.5), "--difficulty: 1.5: must be in [0, 1]");
  CHECK_THROWS_WITH(generate_scene("pole", 0, std::nan("")), Catch::Contains("must be in [0, 1]"));
}
