// [[fault]]: what is refused, what is recorded, what is true, and that nothing is left of a fault.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "simulation/rollout/replay.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/physical_faults.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::TemporaryFolder;

namespace {

struct RobotScene {
  const char *file, *actuator, *body, *geom;
  std::vector<const char*> channels;
};
const std::vector<RobotScene> kScenes{
    {"scenes/reach/reach.xml",
     "arm_s2_*",
     "arm_s3_l2",
     "floor",
     {"q", "tip", "tip_direction", "target", "q_rate", "moment", "gravity_moment"}},
    {"scenes/tendon_arm/tendon_arm.xml",
     "arm_t1",
     "*_s2_l2",
     "floor",
     {"q", "tendon_length", "tendon_tension"}},
    {"scenes/tube_insertion/tube_insertion.xml",
     "*_feed",
     "*_s1_l2",
     "tube_*",
     {"q", "feed", "tip", "force", "contacts"}},
    {"scenes/snake_path/snake_path.xml",
     "S_joint_3",
     "S_link_4",
     "ring_1_*",
     {"q", "feed", "q_rate", "torque", "gravity_torque", "tip"}},
    {"scenes/youbot_targets/youbot_targets.xml",
     "Y_joint_2",
     "Y_link_2",
     "floor",
     {"q", "base", "tip", "q_rate", "base_velocity", "target"}}};

/// Every kind of fault of measurements on every channel of a scene, then every other kind; `strong`
/// is 0 for none at all.
std::string all_faults(const RobotScene& scene, bool strong) {
  const double s = strong ? 1.0 : 0.0;
  std::string text;
  const auto add = [&](const std::string& fields) { text += "[[fault]]\n" + fields + "\n"; };
  for (const char* channel : scene.channels) {
    const std::string on = fmt::format("channel = \"{}\"\nstart = 0.05\nend = 0.3\n", channel);
    if (std::string_view(channel) == "contacts") {
      add(on + fmt::format("kind = \"dropout\"\nprobability = {}", 0.3 * s));
      continue;
    }
    add(on + fmt::format("kind = \"noise\"\nsigma = {}\ncorrelation_time = 0.02", 1e-4 * s));
    add(on + fmt::format("kind = \"bias\"\nvalue = {}", 2e-4 * s));
    add(on + fmt::format("kind = \"scale\"\nfactor = {}", 1.0 + 1e-3 * s));
    add(on + fmt::format("kind = \"drift\"\nrate = {}", 1e-3 * s));
    if (strong) add(on + "kind = \"quantize\"\nstep = 1e-5");
    add(on + fmt::format("kind = \"rate\"\nperiod = {}", 0.01 * s));
    add(on + fmt::format("kind = \"dropout\"\nprobability = {}\nduration = 0.01", 0.05 * s));
    if (strong) add(on + "kind = \"freeze\"\nstart = 0.2\nend = 0.21");
    add(on + fmt::format("kind = \"delay\"\ntime = {}", 0.01 * s));
  }
  const std::string when = "start = 0.1\nend = 0.25\n";
  const std::string actuator = fmt::format("actuator = \"{}\"\n", scene.actuator);
  const std::string body = fmt::format("body = \"{}\"\n", scene.body);
  add(when + actuator + fmt::format("kind = \"actuator_loss\"\nfactor = {}", 1.0 - 0.5 * s));
  if (strong) add("start = 0.15\nend = 0.2\n" + actuator + "kind = \"actuator_stuck\"");
  add(actuator + fmt::format("kind = \"actuator_delay\"\ntime = {}", 0.008 * s));
  if (std::string_view(scene.channels.back()) != "tip" &&
      std::string_view(scene.channels[1]) != "base")
    add(when + fmt::format("kind = \"stiffness\"\nsections = [1]\nfactor = {}\ndamping_factor = {}",
                           1.0 - 0.3 * s, 1.0 + 0.5 * s));
  add(when +
      fmt::format("kind = \"friction\"\ngeom = \"{}\"\nfactor = {}", scene.geom, 1.0 - 0.5 * s));
  add(when + body + fmt::format("kind = \"payload\"\nmass = {}", 0.01 * s));
  if (strong) add(when + "kind = \"gravity\"\nvalue = [1, 0, -9]");
  add("start = 0.1\n" + body +
      fmt::format("kind = \"kick\"\nforce = [{}, 0, 0]\nduration = 0.05", s));
  // One [[fault]] cannot give a key twice.
  const std::string twice = "start = 0.05\nend = 0.3\nkind = \"freeze\"\n";
  for (std::size_t at = text.find(twice); at != text.npos; at = text.find(twice))
    text.replace(at, twice.size(), "kind = \"freeze\"\n");
  return text;
}

Experiment experiment_of(const TemporaryFolder& folder, const RobotScene& scene,
                         const std::string& faults) {
  const auto file = std::filesystem::absolute(scene.file).string();
  return load_experiment(folder.write(
      "e.toml", fmt::format("scene = \"{}\"\nduration = 0.4\nseed = 3\n{}", file, faults)));
}

struct Recorded {
  std::vector<std::vector<double>> rows;  // qpos, qvel, ctrl
  ReplayResult replay;
};

Recorded record(const Experiment& experiment, const TemporaryFolder& folder) {
  RunOptions options;
  options.recording = folder.path() / "rollout.h5";
  REQUIRE(run_experiment(experiment, options).outcome == Outcome::Done);
  RolloutReader reader(options.recording);
  Recorded recorded;
  for (std::int64_t i = 0; i < reader.row_count(); ++i) {
    const RolloutReader::Row& row = reader.row(i);
    auto& all = recorded.rows.emplace_back(row.qpos.begin(), row.qpos.end());
    all.insert(all.end(), row.qvel.begin(), row.qvel.end());
    all.insert(all.end(), row.ctrl.begin(), row.ctrl.end());
  }
  recorded.replay = replay(reader);
  return recorded;
}

std::vector<std::byte> bytes_of(const mjModel& model) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(mj_sizeModel(&model)));
  mj_saveModel(&model, nullptr, bytes.data(), static_cast<mjtSize>(bytes.size()));
  return bytes;
}

std::string error_of(const std::string& faults, const char* setting = nullptr) {
  const TemporaryFolder folder;
  try {
    const Experiment experiment = experiment_of(folder, kScenes[0], faults);
    RunChanges changes;
    if (setting) changes.settings.push_back(parse_setting(setting));
    (void)PhysicalFaults(prepare_run(experiment, changes).faults,
                         *prepare_run(experiment, changes).scene.model);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("faults: a recording with every kind of fault replays bit for bit", "[faults]") {
  for (const RobotScene& scene : kScenes) {
    CAPTURE(scene.file);
    const TemporaryFolder folder;
    const Recorded faulty = record(experiment_of(folder, scene, all_faults(scene, true)), folder);
    CHECK(faulty.replay.identical());
    CHECK(faulty.replay.compared_steps > 100);
    const Recorded without = record(experiment_of(folder, scene, ""), folder);
    CHECK(faulty.rows != without.rows);
    // Strengths of 0 are no faults.
    const Recorded weak = record(experiment_of(folder, scene, all_faults(scene, false)), folder);
    CHECK(weak.rows == without.rows);
  }
}

TEST_CASE("faults: nothing is left of a fault that has ended", "[faults]") {
  for (const RobotScene& scene : kScenes) {
    CAPTURE(scene.file);
    const TemporaryFolder folder;
    PreparedRun run = prepare_run(experiment_of(folder, scene, all_faults(scene, true)), {});
    mjModel& model = *run.scene.model;
    PhysicalFaults faults(run.faults, model);
    const std::vector<std::byte> before = bytes_of(model);
    bool changed = false;
    for (const double time : {0.0, 0.12, 0.17, 0.22, 0.3}) {
      run.data->time = time;
      faults.apply(model, *run.data);
      if (time > 0.0 && time < 0.3) changed = changed || bytes_of(model) != before;
    }
    CHECK(changed);
    CHECK(bytes_of(model) == before);
    CHECK(std::all_of(run.data->xfrc_applied, run.data->xfrc_applied + 6 * model.nbody,
                      [](mjtNum force) { return force == 0.0; }));
  }
}

TEST_CASE("faults: errors are of the truth, measured and measured_tip are what the controller sees",
          "[faults]") {
  const TemporaryFolder folder;
  const Experiment experiment =
      experiment_of(folder, kScenes[0],
                    "[[fault]]\nkind = \"bias\"\nchannel = \"tip\"\nvalue = [0.03, 0, 0]\n"
                    "[[fault]]\nkind = \"bias\"\nchannel = \"q\"\nvalue = 0.1\n"
                    "[[fault]]\nkind = \"bias\"\nchannel = \"target\"\nvalue = [0, 0, 0.02]\n");
  PreparedRun run = prepare_run(experiment, {});
  const mjModel& model = *run.scene.model;
  mjData& data = *run.data;
  const auto sensor = [&](const char* name) {
    return data.sensordata + model.sensor_adr[mj_name2id(&model, mjOBJ_SENSOR, name)];
  };
  for (int i = 0; i < 200; ++i) mj_step(&model, &data);
  mj_forward(&model, &data);
  const int tip = mj_name2id(&model, mjOBJ_SITE, "arm_tip");
  const int target = mj_name2id(&model, mjOBJ_BODY, "target");
  const int base = mj_name2id(&model, mjOBJ_BODY, "arm_base");
  CHECK(*sensor("arm_tip_error") ==
        Approx(mju_dist3(data.site_xpos + 3 * tip, data.xpos + 3 * target)).margin(1e-12));
  mjtNum offset[3], local[3];
  mju_sub3(offset, data.site_xpos + 3 * tip, data.xpos + 3 * base);
  mju_mulMatTVec3(local, data.xmat + 9 * base, offset);
  CHECK(sensor("arm_measured_tip")[0] == Approx(local[0] + 0.03).margin(1e-12));
  CHECK(sensor("arm_measured_tip")[2] == Approx(local[2]).margin(1e-12));
  CHECK(std::abs(sensor("arm_measured")[0] - sensor("arm_command")[0]) > 0.05);
}

TEST_CASE("faults: a stuck servo pulls with its last setpoint", "[faults]") {
  const TemporaryFolder folder;
  PreparedRun run = prepare_run(
      experiment_of(folder, kScenes[0],
                    "[[fault]]\nkind = \"actuator_stuck\"\nactuator = \"arm_s1_y\"\nstart = 0.1\n"),
      {});
  mjModel& model = *run.scene.model;
  mjData& data = *run.data;
  PhysicalFaults faults(run.faults, model);
  const int servo = mj_name2id(&model, mjOBJ_ACTUATOR, "arm_s1_y");
  const mjtNum gain = model.actuator_gainprm[mjNGAIN * servo];
  mjtNum held = 0.0;
  for (int i = 0; i < 100; ++i) {
    if (data.time < 0.1 + 0.5 * model.opt.timestep) held = data.ctrl[servo];  // of the step before
    faults.apply(model, data);
    mj_step(&model, &data);
  }
  const mjtNum* const bias = model.actuator_biasprm + mjNBIAS * servo;
  mj_forward(&model, &data);
  const mjtNum force =
      gain * held + bias[1] * data.actuator_length[servo] + bias[2] * data.actuator_velocity[servo];
  const mjtNum* const range = model.actuator_forcerange + 2 * servo;
  CHECK(std::abs(force) > 0.01);
  CHECK(data.actuator_force[servo] == Approx(mju_clip(force, range[0], range[1])).epsilon(1e-9));
}

TEST_CASE("faults: names, settings and lists", "[faults]") {
  const std::string two =
      "[[fault]]\nname = \"camera\"\nkind = \"noise\"\nchannel = \"tip\"\nsigma = 0.1\n"
      "[[fault]]\nkind = \"delay\"\nchannel = \"q\"\ntime = 0.1\n";
  const std::vector<Override> settings{{"fault.camera.sigma", Value::parse("0.2"), "--set"},
                                       {"fault.*.start", Value::parse("1.5"), "--set"}};
  const auto faults = parse_faults(two, "e.toml", settings);
  REQUIRE(faults.size() == 2);
  CHECK(std::get<fault::Noise>(faults[0].of_measurement()->kind).sigma == std::vector<double>{0.2});
  CHECK(faults[1].name == "2");
  CHECK(faults[0].start == 1.5);
  CHECK(faults[1].start == 1.5);
  const auto again = parse_faults(faults_text(faults), "faults");
  REQUIRE(again.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(again[i].text == faults[i].text);
  const MeasurementFaultList list = parse_measurement_faults(measurement_faults_text(faults, 42));
  CHECK(list.seed == 42);
  CHECK(list.faults.size() == 2);

  const std::vector<Override> of_one{{"fault.camera.robot", Value::parse("left_"), "--set"}};
  const std::string text = measurement_faults_text(parse_faults(two, "e.toml", of_one), 42);
  CHECK(parse_measurement_faults(text, "left_").faults.size() == 2);
  CHECK(parse_measurement_faults(text, "right_").faults.size() == 1);
}

TEST_CASE("faults: what is wrong is reported in one line", "[faults]") {
  const std::string noise = "[[fault]]\nkind = \"noise\"\nchannel = \"tip\"\n";
  const struct {
    std::string faults;
    const char* told;
    const char* setting = nullptr;
  } cases[] = {
      {"[[fault]]\nkind = \"nois\"", "fault 1: kind = 'nois': must be one of noise, bias, scale"},
      {"[[fault]]\nname = \"x\"", "fault 1: kind: is missing"},
      {"[[fault]]\nkind = \"noise\"\nsigma = 1", "channel: is missing"},
      {"[[fault]]\nkind = \"noise\"\nchannel = \"nose\"\nsigma = 1",
       "channel = 'nose': must be one of q, feed, base, tip, tip_direction, target, force, "
       "contacts, q_rate, "
       "base_velocity, moment, gravity_moment, torque, gravity_torque, tendon_length, "
       "tendon_tension"},
      {noise, "sigma: is missing"},
      {noise + "sigma = -1", "sigma = -1: must be in [0, 1e9]"},
      {noise + "sigma = \"a\"", "sigma = 'a': must be a number"},
      {noise + "sigma = [1, 2]", "has a list of 2 numbers: must have 1 or 3"},
      {noise + "sigma = 1\nfactor = 2", "unknown key 'factor'"},
      {noise + "sigma = 1\nstart = 2\nend = 1", "end = 1: must be > start"},
      {noise + "sigma = 1\nname = \"a.b\"", "must be a word"},
      {noise + "sigma = 1\nname = \"a\"\n" + noise + "sigma = 1\nname = \"a\"",
       "name = a: another fault has this name"},
      {noise + "sigma = 1\nrobot = \"segment_\"",
       "no controller of the scene measures it; robots: \"arm_\""},
      {"[[fault]]\nkind = \"bias\"\nchannel = \"base\"\nvalue = 1",
       "channel = base: no controller of the scene measures it"},
      {"[[fault]]\nkind = \"bias\"\nchannel = \"tendon_tension\"\nvalue = 1",
       "channel = tendon_tension: no controller of the scene measures it"},
      {"[[fault]]\nkind = \"bias\"\nchannel = \"torque\"\nvalue = 1",
       "channel = torque: no controller of the scene measures it"},
      {"[[fault]]\nkind = \"bias\"\nchannel = \"contacts\"\nvalue = 1",
       "contacts have only the kind dropout"},
      {"[[fault]]\nkind = \"delay\"\nchannel = \"q\"\ntime = 3", "time = 3: must be in [0, 2]"},
      {"[[fault]]\nkind = \"dropout\"\nchannel = \"q\"\nprobability = 1.5",
       "probability = 1.5: must be in [0, 1]"},
      {"[[fault]]\nkind = \"actuator_loss\"\nactuator = \"segment\"\nfactor = 0",
       "actuator = segment: the scene has no such actuator"},
      {"[[fault]]\nkind = \"actuator_delay\"\nactuator = \"*\"\ntime = 0.1\nstart = 1",
       "start = 1: must not be given"},
      {"[[fault]]\nkind = \"actuator_delay\"\nactuator = \"segment\"\ntime = 0.1",
       "actuator = segment: the scene has no such actuator"},
      {"[[fault]]\nkind = \"friction\"\ngeom = \"wall\"\nfactor = 1",
       "geom = wall: the scene has no such geom"},
      {"[[fault]]\nkind = \"friction\"\ngeom = \"floor\"\nfactor = 1\nvalue = 1", "factor"},
      {"[[fault]]\nkind = \"payload\"\nbody = \"arm_s1_l1\"\nmass = -5", "some must be left"},
      {"[[fault]]\nkind = \"stiffness\"\nfactor = 2\nsections = [9]",
       "the scene has no such sections"},
      {"[[fault]]\nkind = \"kick\"\nbody = \"arm_s1_l1\"\nforce = [1, 0, 0]",
       "duration: is missing"},
      {"[[fault]]\nkind = \"gravity\"\nvalue = 3", "value = 3: must be"},
      {noise + "sigma = 1", "must be fault.<name>.<field>; the experiment has the faults 1",
       "fault.camera.sigma=1"},
      {"", "the experiment has no [[fault]]", "fault.camera.sigma=1"},
      {noise + "sigma = 1", "sigma = -2: must be in [0, 1e9]", "fault.1.sigma=-2"}};
  for (const auto& one : cases) {
    CAPTURE(one.faults);
    const std::string error = error_of(one.faults, one.setting);
    CHECK_THAT(error, Catch::Contains(one.told));
    CHECK(error.find('\n') == error.npos);
  }
}

TEST_CASE("sensors: the seed of a run is that of the readings", "[faults]") {
  for (const auto& [seed, text] : {std::pair(std::uint64_t{0}, "0"), {7, "7"}}) {
    const Scene scene = load_scene("scenes/sensors/sensors.xml", {}, {}, seed);
    REQUIRE(scene.robots.size() == 1);
    CHECK(scene.robots[0].config(*scene.model, "sensor_seed") == text);
  }
  const Scene other = load_scene("scenes/reach/reach.xml", {}, {}, 7);  // has no sensors
  CHECK(other.robots.at(0).config(*other.model, "sensor_seed").empty());
}

TEST_CASE("sensors: a rate above that of the scene's steps is refused", "[faults]") {
  const std::vector<Setting> slow{{"option.timestep", Value::parse("0.02"), "--set"}};
  CHECK_THROWS_WITH(
      load_scene("scenes/sensors/sensors.xml", slow),
      Catch::Contains("arm.toml:88: sensor gratings: rate = 100: must be at most 50 Hz, one "
                      "sample in each timestep of 0.02 s"));
}
