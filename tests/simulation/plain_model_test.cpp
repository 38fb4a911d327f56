#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "simulation/scene/scene.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model/robot_description.hpp"
#include "tests/model/compiled_model.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;

namespace {

namespace fs = std::filesystem;

constexpr double kTwelveDigits = 1e-9;  // rounding of the printed numbers of a chain, in m
constexpr double kSixDigits = 1e-5;     // of numbers as the engine prints them, relative

std::vector<fs::path> model_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator("models"))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("models: the MJCF beside a robot file is its plain model", "[plain]") {
  const std::vector<fs::path> files = model_files();
  CHECK(files.size() >= 25);
  for (const fs::path& file : files) {
    CAPTURE(file);
    const std::string beside = text_of(fs::path(file).replace_extension(".xml"));
    CHECK(plain_mjcf(file, Integrator::ImplicitFast).mjcf == beside);  // scripts/models writes it
    const test::Simulation alone(beside);
    CHECK(alone.model->nplugin == 0);
    const RobotDescription robot = load_robot(file);
    const auto* const arm = std::get_if<ContinuumDescription>(&robot);
    if (arm == nullptr) continue;
    const ContinuumRobot kinematics = arm->kinematics();
    CHECK(alone.site_pose("tip").isApprox(tip_pose(kinematics, kinematics.straight()),
                                          kTwelveDigits));
  }
}

TEST_CASE("plain model: a scene keeps its bodies and loses its controllers", "[plain]") {
  const std::string file =
      GENERATE("scenes/reach/reach.xml", "scenes/mobile_arm/mobile_arm.xml",
               "scenes/hand_over/hand_over.xml", "scenes/snake_path/snake_path.xml");
  const Scene scene = load_scene(file);
  REQUIRE(scene.model->nplugin > 0);
  const test::Simulation plain(plain_mjcf(file).mjcf);
  const mjModel &is = *plain.model, &was = *scene.model;
  CHECK(is.nplugin == 0);
  CHECK(is.nbody == was.nbody);
  CHECK(is.nq == was.nq);
  CHECK(is.nu == was.nu);
  CHECK(is.ngeom == was.ngeom);
  CHECK(is.opt.timestep == was.opt.timestep);
  CHECK(plain.total_mass() == Approx(mj_getTotalmass(&was)).epsilon(kSixDigits));
  for (int i = 0; i < was.nv; ++i)
    CHECK(is.dof_damping[i] == Approx(was.dof_damping[i]).epsilon(kSixDigits));
}

TEST_CASE("plain model: an integrator comes with the damping that is for it", "[plain]") {
  const char* const file = GENERATE("models/arm_3x10.toml", "models/snake.toml",
                                    "scenes/mobile_arm/mobile_arm.xml", "scenes/reach/reach.xml");
  CAPTURE(file);
  for (const Integrator integrator : {Integrator::Discrete, Integrator::ImplicitFast}) {
    const test::Simulation plain(plain_mjcf(file, integrator).mjcf);
    const bool is_implicit = integrator == Integrator::ImplicitFast;
    CHECK(plain.model->opt.integrator == (is_implicit ? mjINT_IMPLICITFAST : mjINT_DISCRETE));
    // Hinges of an arm have an armature with implicitfast alone.
    int with_armature = 0;
    for (int i = 0; i < plain.model->nv; ++i)
      with_armature += plain.model->dof_armature[i] > 0.0 && plain.model->dof_damping[i] > 0.0;
    const bool is_arm = std::string(file) == "models/arm_3x10.toml";
    if (is_arm) CHECK(with_armature == (is_implicit ? plain.model->nv : 0));
  }
}

TEST_CASE("plain model: friction that the plugin simulates is left out, with a notice", "[plain]") {
  const test::TemporaryFolder folder;
  const auto file = folder.write("arm.toml", R"(
[[section]]
constant_length = 0.1
bend_limit = 1
bend_servo = true
[[tendon]]
angle = 0
distance = 0.005
friction_coefficient = 0.1
[controller]
plugin = "tendril.reach"
)");
  const ModelText plain = plain_mjcf(file);
  REQUIRE(plain.notices.size() == 1);
  CHECK_THAT(plain.notices[0], Catch::Contains("arm.toml: friction_coefficient"));
  CHECK(test::Simulation(plain.mjcf).model->nplugin == 0);
}
