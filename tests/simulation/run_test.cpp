#include "simulation/rollout/run.hpp"

#include <catch2/catch.hpp>
#include <cfenv>
#include <nlohmann/json.hpp>

#include "simulation/experiment/experiment_run.hpp"
#include "simulation/experiment/summary.hpp"
#include "simulation/scene/scene.hpp"
#include "tendril/model_error.hpp"
#include "tendril/recording/rollout_file.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

constexpr const char* kPendulum = R"(<mujoco model="pendulum"><option timestep="0.01"/>
  <worldbody><body name="base" pos="0 0 1"><joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/></body>
    <body name="target" mocap="true"/></worldbody>
  <sensor><jointpos name="angle" joint="swing"/></sensor></mujoco>)";

constexpr const char* kExperiment = R"(scene = "pendulum.xml"
duration = 0.5
[[motion]]
body = "target"
kind = "lissajous"
amplitude = [0.1, 0, 0]
frequency = [1, 0, 0]
[[check]]
metric = "sensor:angle:max"
max = 10
[[check]]
name = "too fast"
metric = "speed_max"
max = 0.001
[vary]
"body.base.mass" = { uniform = [1, 2] }
"body.base.offset" = { uniform = [[0, 0, 0], [0, 0, 0.1]] }
)";

Experiment experiment_in(const TemporaryFolder& folder, const std::string& toml = kExperiment) {
  folder.write("pendulum.xml", kPendulum);
  return load_experiment(folder.write("swing.toml", toml));
}

std::string without_offset(std::string toml) {  // the base has a joint and cannot be shifted
  const std::string line = "\"body.base.offset\" = { uniform = [[0, 0, 0], [0, 0, 0.1]] }\n";
  return toml.erase(toml.find(line), line.size());
}

}  // namespace

TEST_CASE("run: checks are judged and the summary says so", "[run]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_in(folder, without_offset(kExperiment));
  const RunResult result = run_experiment(experiment, {});
  CHECK(result.outcome == Outcome::Done);
  CHECK(result.steps == 50);
  CHECK(result.simulated_time == Approx(0.5));
  REQUIRE(result.checks.size() == 2);
  CHECK(result.checks[0].holds);
  CHECK_FALSE(result.checks[1].holds);
  CHECK_FALSE(result.all_checks_hold());
  CHECK(result.step_times.p50 <= result.step_times.p999);

  const auto summary = nlohmann::json::parse(summary_json(experiment, result));
  CHECK(summary["experiment"] == "swing");
  CHECK(summary["verdict"] == "fail");
  CHECK(summary["checks"][1]["name"] == "too fast");
  CHECK(summary["checks"][1]["holds"] == false);
  CHECK(summary["checks"][0]["before"].is_null());
  CHECK(summary["settings"][0]["key"] == "body.base.mass");
  CHECK(summary["metrics"].contains("real_time_factor"));
  CHECK(summary["steps"] == 50);
}

TEST_CASE("run: the same seed gives the same numbers, another seed others", "[run]") {
  const TemporaryFolder folder;
  // With a spring the mass matters for the motion.
  std::string stiff = kPendulum;
  stiff.replace(stiff.find("axis=\"0 1 0\""), 12, "axis=\"0 1 0\" stiffness=\"3\"");
  const Experiment experiment = experiment_in(folder, without_offset(kExperiment));
  folder.write("pendulum.xml", stiff);
  const auto end_of = [&](std::uint64_t seed) {
    RunOptions options;
    options.changes.seed = seed;
    return run_experiment(experiment, options).checks[0].value;
  };
  CHECK(end_of(1) == end_of(1));
  CHECK(end_of(1) != end_of(2));
}

TEST_CASE("run: the recording holds the initial state, then the state after each step", "[run]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_in(folder, without_offset(kExperiment));
  RunOptions options;
  options.recording = folder.path() / "rollout.h5";
  options.command_line = "tendril run swing.toml";
  options.changes.seed = 5;
  (void)run_experiment(experiment, options);

  RolloutReader reader(options.recording);
  REQUIRE(reader.row_count() == 51);
  CHECK(reader.attributes().at("outcome") == "done");
  CHECK(reader.attributes().at("seed") == "5");
  CHECK(reader.attributes().at("command_line") == options.command_line);
  CHECK(reader.attributes().at("experiment") == experiment.text);
  CHECK(reader.attributes().at("scene_files/pendulum.xml") == kPendulum);

  PreparedRun again = prepare_run(experiment, options.changes);
  const mjModel& m = *again.scene.model;
  mjData& d = *again.data;
  for (std::int64_t i = 0; i <= 50; ++i) {
    if (i > 0) {
      again.motions.apply(d, d.time);
      mj_step(&m, &d);
    }
    const RolloutReader::Row& row = reader.row(i);
    CHECK(row.step == i);
    CHECK(row.time == d.time);
    CHECK(row.qpos.front() == d.qpos[0]);
    CHECK(row.qvel.front() == d.qvel[0]);
    CHECK(row.mocap_pos.front() == d.mocap_pos[0]);
    CHECK(row.sensordata.front() == d.sensordata[0]);
  }
}

TEST_CASE("run: a diverging scene stops, names the joint and closes its recording", "[run]") {
  const TemporaryFolder folder;
  const auto scene = folder.write(
      "boom.xml", R"(<mujoco><option timestep="0.01"><flag eulerdamp="disable"/></option>
    <worldbody><body name="b"><joint name="unstable" type="slide"/><geom size="0.1" mass="1"/></body></worldbody>
    <actuator><general joint="unstable" biastype="affine" biasprm="0.01 0 90"/></actuator></mujoco>)");
  RunOptions options;
  options.recording = folder.path() / "rollout.h5";
  const RunResult result = run_experiment(load_experiment(scene), options);
  CHECK(result.outcome == Outcome::Diverged);
  CHECK_THAT(result.reason,
             Catch::Contains("diverged at step") && Catch::Contains("joint 'unstable'"));
  CHECK(result.steps < 1000);
  RolloutReader reader(options.recording);
  CHECK(reader.attributes().at("outcome") == result.reason);
  CHECK(reader.row_count() == result.steps);  // the initial state and every sane step
}

TEST_CASE("run: a stop request ends the run after the step", "[run]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_in(folder, without_offset(kExperiment));
  std::atomic<bool> stop{true};
  RunOptions options;
  options.stop = &stop;
  const RunResult result = run_experiment(experiment, options);
  CHECK(result.outcome == Outcome::Interrupted);
  CHECK(result.steps == 1);
}

TEST_CASE("run: settings of the command line win, motions included", "[run]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_in(folder, without_offset(kExperiment));
  RunChanges changes;
  changes.settings = {parse_setting("option.timestep=0.005"),
                      parse_setting("motion.target.center=[1, 2, 3]")};
  const PreparedRun run = prepare_run(experiment, changes);
  CHECK(run.timestep == 0.005);
  CHECK(run.steps == 100);
  CHECK(run.data->mocap_pos[1] == 2.0);
  changes.settings = {parse_setting("motion.other.speed=1")};
  CHECK_THROWS_WITH(prepare_run(experiment, changes), Catch::Contains("no motion of this body"));
}

TEST_CASE("run: what another setting, motion or controller would overwrite is refused", "[run]") {
  const TemporaryFolder folder;
  folder.write("arm.toml",
               "kind = \"continuum\"\n[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\n"
               "links = 4\n[tip]\nsuction = 3\n[controller]\nplugin = \"tendril.reach\"\n");
  folder.write("scene.xml", R"(<mujoco><compiler conflict="merge"/>
    <asset><model name="arm" file="arm.toml"/></asset><worldbody>
    <body name="target" mocap="true" pos="0.03 0 0.09"/><attach model="arm" body="base" prefix="A_"/>
    </worldbody><keyframe><key name="away" mpos="0.03 0 0.08"/></keyframe></mujoco>)");
  const auto prepare = [&](const std::string& toml) {
    return prepare_run(load_experiment(folder.write("run.toml", "scene = \"scene.xml\"\n" + toml)),
                       {});
  };
  const auto told = [](const std::string& actuator, const std::string& value) {
    return "[[motion]]\nactuator = \"" + actuator +
           "\"\nkind = \"waypoints\"\ntimes = [0]\nvalues = [" + value + "]\n";
  };
  const std::string here =
      "[[motion]]\nbody = \"target\"\nkind = \"waypoints\"\ntimes = [0]\n"
      "points = [[0.02, 0, 0.09]]\n";
  CHECK_NOTHROW(prepare(told("A_suction", "0.5")));
  CHECK_THROWS_WITH(
      prepare(told("A_s1_x", "0.5")),
      Catch::Contains("run.toml:3: motion: actuator = A_s1_x: is driven by the controller "
                      "tendril.reach of A_") &&
          Catch::EndsWith("the scene has A_suction"));
  CHECK_THROWS_WITH(prepare(told("A_suction", "2")),
                    Catch::Contains("values: 2: must be in the actuator's control range [0, 1]"));
  CHECK_THROWS_WITH(prepare(here + here), Catch::Contains("body = target: has two motions"));

  const std::string shift = "[set]\n\"body.target.offset\" = [0, 0.01, 0]\n";
  CHECK_THROWS_WITH(prepare(shift + here), Catch::Contains("run.toml:3: body.target.offset") &&
                                               Catch::Contains("shift the points"));
  CHECK(prepare("keyframe = \"away\"\n" + shift).data->mocap_pos[1] == 0.01);
  CHECK_THROWS_WITH(prepare("[set]\n\"motion.target.center\" = [0, 0, 0]\n" + here),
                    Catch::Contains("no motion of this body that has this field"));
}

TEST_CASE("run: the actuators said to be driven are those whose controls a controller writes",
          "[run]") {
  const char* const file = GENERATE(
      "reach/reach.xml", "reach/computed_moment.toml", "hand_over/hand_over.toml",
      "tendon_arm/tendon_arm.xml", "soft_arm_pressure/soft_arm_pressure.xml",
      "wrap_grasp/wrap_grasp.xml", "tube_insertion/tube_insertion.xml", "snake_path/snake_path.xml",
      "snake_travel/flat.xml", "youbot_targets/youbot_targets.xml", "mobile_arm/mobile_arm.xml");
  CAPTURE(file);
  const PreparedRun run = prepare_run(load_experiment(std::string("scenes/") + file), {});
  const mjModel& m = *run.scene.model;
  mjData& d = *run.data;
  constexpr double kMark = 0.123456789;
  std::fill_n(d.ctrl, m.nu, kMark);
  mj_forward(&m, &d);
  const std::vector<std::string> drivers = drivers_of(m, run.scene.robots);
  REQUIRE(std::ssize(drivers) == m.nactuator);
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    CAPTURE(object_name(m, mjOBJ_ACTUATOR, static_cast<int>(i)), drivers[i]);
    CHECK(drivers[i].empty() == (d.ctrl[m.actuator_ctrladr[i]] == kMark));
  }
}

TEST_CASE("run: bad experiments are refused before the first step", "[run]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& toml) {
    try {
      (void)run_experiment(experiment_in(folder, toml), {});
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  CHECK_THAT(refused(kExperiment), Catch::Contains("swing.toml:17: body.base.offset"));
  CHECK_THAT(refused("scene = \"none.xml\""),
             Catch::Contains("swing.toml:1: scene") && Catch::Contains("none.xml': No such file"));
  CHECK_THAT(refused("scene = \"pendulum.xml\"\nkeyframe = \"home\""),
             Catch::Contains("swing.toml:2: keyframe = home"));
  CHECK_THAT(
      refused("scene = \"pendulum.xml\"\n[[check]]\nmetric = \"tip_error_end\"\nmax = 1"),
      Catch::Contains(
          "swing.toml:3: check: metric = tip_error_end: no controller of the scene reports"));
  CHECK_THAT(refused("scene = \"pendulum.xml\"\n[[motion]]\nbody = \"base\"\nkind = "
                     "\"circle\"\nradius = 1\nspeed = 1"),
             Catch::Contains("swing.toml:3: motion: body = base: must be a mocap body") &&
                 Catch::Contains("it has target"));
  CHECK_THAT(refused("scene = \"pendulum.xml\"\nduration = 1e6\n[set]\n\"option.timestep\" = 1e-9"),
             Catch::Contains("more than 1e9 steps"));
}

TEST_CASE("run: rounding that another library has set does not move the bits", "[run]") {
  const TemporaryFolder folder;
  const Experiment experiment = experiment_in(folder, without_offset(kExperiment));
  const RunResult usual = run_experiment(experiment, {});
  for (const int rounding : {FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD}) {
    CAPTURE(rounding);
    std::fesetround(rounding);
    const RunResult other = run_experiment(experiment, {});
    const bool is_kept = std::fegetround() == rounding;
    std::fesetround(FE_TONEAREST);
    CHECK(is_kept);
    for (std::size_t i = 0; i < usual.checks.size(); ++i)
      CHECK(other.checks[i].value == usual.checks[i].value);
  }
}

TEST_CASE("run: what is written between two steps and overwritten is told once", "[run]") {
  const Experiment experiment = load_experiment("scenes/reach/reach.toml");
  const RunChanges changes;
  const PreparedRun run = prepare_run(experiment, changes);
  mjModel& model = *run.scene.model;
  mjData& data = *run.data;
  ExperimentRun steps(experiment, run, model, data, changes, "test");
  const std::size_t known = steps.result().notices.size();
  const auto told = [&] {
    const auto& notices = steps.result().notices;
    return std::vector<std::string>(notices.begin() + static_cast<std::ptrdiff_t>(known),
                                    notices.end());
  };
  const int control = mj_name2id(&model, mjOBJ_ACTUATOR, "arm_s1_x");
  const int target = model.body_mocapid[mj_name2id(&model, mjOBJ_BODY, "target")];
  REQUIRE((control >= 0 && target >= 0));

  steps.step();
  steps.step();
  CHECK(told().empty());

  data.time += 0.1;  // a state that was restored, with its inputs
  data.ctrl[control] = 0.1;
  steps.step();
  CHECK(told().empty());

  for (int i = 0; i < 3; ++i) {
    data.ctrl[control] = 0.1;
    steps.step();
  }
  REQUIRE(told().size() == 1);
  CHECK_THAT(
      told().front(),
      Catch::Contains("ctrl of arm_s1_x: 0.1 was written between two steps and is overwritten "
                      "by the controller tendril.reach of arm"));

  data.mocap_pos[3 * target] += 0.05;
  steps.step();
  REQUIRE(told().size() == 2);
  CHECK_THAT(told().back(), Catch::Contains("mocap_pos of target: ") &&
                                Catch::Contains("its motion (scenes/reach/reach.toml:"));
}
