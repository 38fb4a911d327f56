// The controller of a robot file on its own, beside the plugin that runs it in the simulation.

#include <catch2/catch.hpp>
#include <cmath>

#include "simulation/experiment/experiment.hpp"
#include "simulation/rollout/drive_log.hpp"
#include "simulation/rollout/replay.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"
#include "tests/recording/driven_arms.hpp"

using namespace tendril;
using namespace tendril::simulation;
using namespace tendril::test;

namespace {

/// A scene in which the base is turned, or with a ground; with its target.
Experiment experiment_with(const TemporaryFolder& folder, const Case& c) {
  folder.write("arm.toml", c.arm);
  const std::string place = c.is_free ? R"(<geom type="plane" size="3 3 0.1"/><frame>)"
                                      : R"(<frame pos="0 0 0.2" euler="20 60 0">)";
  folder.write("scene.xml", R"(<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="arm" file="arm.toml"/></asset>
  <worldbody>
    <body name="target" mocap="true" pos=")" +
                                std::string(c.is_free ? "0.9 0.6 0.3" : "0.16 0.05 0.24") +
                                R"("/>)" + place +
                                R"(<attach model="arm" body="base" prefix="A_"/></frame>
  </worldbody>
</mujoco>)");
  Experiment experiment = load_experiment(folder.path() / "scene.xml");
  return experiment;
}

RunOptions sensed_run(const std::filesystem::path& recording, double duration = 1.0) {
  RunOptions options;
  options.changes.duration = duration;
  options.changes.settings.push_back(parse_setting("controller.measured=sensors"));
  options.recording = recording;
  return options;
}

/// Runs an experiment whose arm a robot file drives.
RunResult drive(const Experiment& experiment, const std::filesystem::path& file, RunOptions options,
                const DriveOptions& drive_options, DriveLoop::Counts* counts,
                DriveState* state = nullptr) {
  std::unique_ptr<DrivenRobot> driven;
  options.attributes["driven_by"] = file.string();
  options.on_ready = [&](PreparedRun& run) {
    driven = std::make_unique<DrivenRobot>(file, *run.scene.model, *run.data, drive_options, 5);
  };
  options.on_end = [&] {
    if (counts != nullptr) *counts = driven->loop().counts();
    if (state != nullptr) *state = driven->loop().state();
    driven.reset();
  };
  return run_experiment(experiment, options);
}

std::vector<double> last_positions(const std::filesystem::path& file) {
  RolloutReader reader(file);
  const auto row = reader.row(reader.row_count() - 1).qpos;
  return {row.begin(), row.end()};
}

}  // namespace

TEST_CASE("drive: given the readings of a run, it commands what the plugin commanded", "[drive]") {
  const Case c = GENERATE(from_range(cases()));
  CAPTURE(c.name);
  const TemporaryFolder folder;
  const Experiment experiment = experiment_with(folder, c);
  REQUIRE(run_experiment(experiment, sensed_run(folder.path() / "run.h5")).outcome ==
          Outcome::Done);
  RolloutReader reader(folder.path() / "run.h5");
  const DriveComparison result = drive_by_log(reader, folder.path() / "arm.toml", {}, 0);
  CHECK(result.steps == 500);
  CAPTURE(result.equal_steps, result.first_step, result.actuator);
  // What the engine computes of the model from the same numbers may differ in the last digits.
  CHECK(result.largest <= 1e-6);
  CHECK(result.counts.held == 0);
}

TEST_CASE("drive: over a perfect link the arm moves as with the plugin", "[drive]") {
  const Case c = GENERATE(from_range(cases()));
  CAPTURE(c.name);
  const TemporaryFolder folder;
  const Experiment experiment = experiment_with(folder, c);
  REQUIRE(run_experiment(experiment, sensed_run(folder.path() / "run.h5")).outcome ==
          Outcome::Done);
  REQUIRE(drive(experiment, folder.path() / "arm.toml", sensed_run(folder.path() / "driven.h5"), {},
                nullptr)
              .outcome == Outcome::Done);
  const std::vector<double> plugin = last_positions(folder.path() / "run.h5"),
                            driven = last_positions(folder.path() / "driven.h5");
  REQUIRE(plugin.size() == driven.size());
  for (std::size_t i = 0; i < plugin.size(); ++i) CHECK(std::abs(plugin[i] - driven[i]) < 1e-6);
}

TEST_CASE("drive: a driven run repeats bit for bit by its log, whatever the link did", "[drive]") {
  DriveOptions options;
  options.link = {.delay = 0.006, .jitter = 0.008, .loss = 0.15};
  options.safety = {.stale_after = 0.02, .speed_limit = 3.0};
  options.command_bits = 14;
  const Case c = GENERATE(from_range(cases()));
  CAPTURE(c.name);
  const TemporaryFolder folder;
  const Experiment experiment = experiment_with(folder, c);
  DriveLoop::Counts counts;
  const auto recording = folder.path() / "driven.h5";
  REQUIRE(drive(experiment, folder.path() / "arm.toml", sensed_run(recording), options, &counts)
              .outcome == Outcome::Done);
  CHECK(counts.without_message > 50);
  RolloutReader reader(recording);
  const DriveComparison result = drive_by_log(reader, folder.path() / "arm.toml", options, 5);
  CAPTURE(result.first_step, result.actuator, result.first_recorded, result.first_command);
  CHECK(result.equal_steps == result.steps);
  CHECK(drive_by_log(reader, folder.path() / "arm.toml", options, 6).equal_steps < result.steps);
  // The plugin did not drive it.
  CHECK_THROWS_WITH(replay(reader), Catch::Contains("was driven by the controller of"));
}

TEST_CASE("drive: a link that is cut leaves the arm where it was told to be", "[drive]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_with(folder, cases()[0]);
  const bool is_stop = GENERATE(false, true);
  DriveOptions options;
  (is_stop ? options.stop_at : options.cut_at) = 0.3;
  DriveState state{};
  const auto recording = folder.path() / "driven.h5";
  const RunResult result = drive(experiment, folder.path() / "arm.toml", sensed_run(recording, 2.0),
                                 options, nullptr, &state);
  CHECK(state == (is_stop ? DriveState::Stopped : DriveState::Stale));
  REQUIRE(result.statuses.size() == 1);
  CHECK(result.statuses[0].end == ControllerStatus::NotFollowing);
  RolloutReader reader(recording);
  const auto held = reader.row(250).ctrl;
  const std::vector<double> before(held.begin(), held.end());
  const auto end = reader.row(1000).ctrl;
  CHECK(before == std::vector<double>(end.begin(), end.end()));
}

TEST_CASE("drive: a robot file of another robot is refused", "[drive]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_with(folder, cases()[0]);
  const auto refuses = [&](const std::string& file, const std::string& what,
                           const DriveOptions& options = {}) {
    folder.write("other.toml", file);
    CHECK_THROWS_WITH(drive(experiment, folder.path() / "other.toml",
                            sensed_run(folder.path() / "x.h5"), options, nullptr),
                      Catch::Contains(what));
  };
  refuses(sections() + kReach + kBends,
          "other.toml: sensor: bend_s1_y (1): the robot of the scene "
          "has tip_position (3) there");
  refuses("compliance = \"link\"\n" + sections() + kReach + kTracker + kBends,
          "other.toml: actuator: s1_l1_x (servo): the robot of the scene has s1_x (servo) there");
  refuses(sections("bend_command = \"moment\"\n") +
              "[controller]\nplugin = \"tendril.computed_moment\"\ntarget = \"target\"\n" +
              kTracker + kBends,
          "other.toml: actuator: s1_x (force): the robot of the scene has s1_x (servo) there");
  refuses(sections() + kTracker + kBends, "other.toml: controller: missing");
  DriveOptions other;
  other.robot = "B_";
  refuses(cases()[0].arm, "--prefix: B_: must be one of A_", other);
}
