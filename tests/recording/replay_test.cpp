#include "simulation/rollout/replay.hpp"

#include <mujoco/mujoco.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "plugin/binary_model.hpp"
#include "simulation/experiment/experiment.hpp"
#include "simulation/rollout/recorded_model.hpp"
#include "simulation/rollout/run.hpp"
#include "simulation/scene/scene.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;

namespace {

constexpr std::int64_t kSteps = 600;

// Spheres on a floor, one of them pulled by a mocap body and one pushed by an actuator with a
// state.
constexpr const char* kScene = R"(<mujoco>
  <option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="10"/>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="hand" mocap="true" pos="0 0 .2"/>
    <body name="a" pos="0 0 .11"><freejoint/><geom type="sphere" size=".05" mass=".1"/></body>
    <body name="b" pos=".03 0 .25"><freejoint/><geom type="sphere" size=".05" mass=".1"/></body>
    <body pos=".3 0 .05"><joint name="slide" type="slide" axis="1 0 0"/>
      <geom type="box" size=".03 .03 .03" mass=".2"/></body>
  </worldbody>
  <equality><weld body1="hand" body2="b"/></equality>
  <actuator><general joint="slide" dyntype="filter" dynprm=".1" gainprm="3"/></actuator>
  <sensor><accelerometer site="s"/><jointpos joint="slide"/></sensor>
</mujoco>)";

ModelPtr model_of(std::string xml) {
  const std::size_t at = xml.find("<geom type=\"box\"");
  xml.insert(at, "<site name=\"s\"/>");
  char error[1000] = "";
  mjSpec* spec = mj_parseXMLString(xml.c_str(), nullptr, error, sizeof(error));
  REQUIRE_THAT(error, Catch::Equals(""));
  ModelPtr model(mj_compile(spec, nullptr));
  mj_deleteSpec(spec);
  REQUIRE(model);
  return model;
}

// What a row is made of, for a test to change before it is written.
struct RowCopy {
  std::int64_t step;
  double time;
  std::vector<double> qpos, qvel, ctrl, act, sensordata, mocap_pos, mocap_quat, integration;
};

// Records kSteps of the scene by the rules of the row; `change` sees each row before it is written.
void record(const std::filesystem::path& file, const std::function<void(RowCopy&)>& change = {}) {
  load_engine();
  const ModelPtr model = model_of(kScene);
  const mjModel& m = *model;
  const DataPtr data = make_data(m);
  mjData& d = *data;
  std::vector<std::byte> mjb(static_cast<std::size_t>(mj_sizeModel(&m)));
  mj_saveModel(&m, nullptr, mjb.data(), static_cast<mjtSize>(mjb.size()));
  const RolloutLayout layout{.nq = static_cast<int>(m.nq),
                             .nv = static_cast<int>(m.nv),
                             .nu = static_cast<int>(m.nu),
                             .na = static_cast<int>(m.na),
                             .nsensordata = static_cast<int>(m.nsensordata),
                             .npluginstate = 0,
                             .nmocap = static_cast<int>(m.nmocap),
                             .nintegration = mj_stateSize(&m, mjSTATE_INTEGRATION),
                             .integration_interval = 100};
  RolloutWriter writer(
      file, layout, {{"mujoco_version", mj_versionString()}, {"tendril_version", version()}}, mjb);
  for (std::int64_t step = 0; step <= kSteps; ++step) {
    if (step > 0) {
      const double t = d.time;
      d.mocap_pos[0] = 0.1 * std::sin(5 * t);
      d.mocap_pos[2] = 0.2 - 0.1 * t;
      d.ctrl[0] = std::cos(7 * t);
      mj_step(&m, &d);
    }
    const auto copy = [](const mjtNum* values, mjtSize count) {
      return std::vector<double>(values, values + count);
    };
    RowCopy row{step,
                d.time,
                copy(d.qpos, m.nq),
                copy(d.qvel, m.nv),
                copy(d.ctrl, m.nu),
                copy(d.act, m.na),
                copy(d.sensordata, m.nsensordata),
                copy(d.mocap_pos, 3 * m.nmocap),
                copy(d.mocap_quat, 4 * m.nmocap),
                {}};
    if (step % 100 == 0) {
      row.integration.resize(static_cast<std::size_t>(layout.nintegration));
      mj_getState(&m, &d, row.integration.data(), mjSTATE_INTEGRATION);
    }
    if (change) change(row);
    writer.append({.step = row.step,
                   .time = row.time,
                   .qpos = row.qpos,
                   .qvel = row.qvel,
                   .ctrl = row.ctrl,
                   .act = row.act,
                   .sensordata = row.sensordata,
                   .plugin_state = {},
                   .mocap_pos = row.mocap_pos,
                   .mocap_quat = row.mocap_quat,
                   .contacts = {},
                   .integration_state = row.integration});
  }
  writer.close("done");
}

double next_up(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}

}  // namespace

TEST_CASE("replay: a recording with contacts, a moving hand and an actuator is identical",
          "[rollout]") {
  const test::TemporaryFolder folder;
  record(folder.path() / "rollout.h5");
  RolloutReader reader(folder.path() / "rollout.h5");
  std::int64_t reported = 0;
  const ReplayResult result = replay(reader, [&](std::int64_t steps, double) { reported = steps; });
  CHECK(result.identical());
  CHECK(result.rows == kSteps + 1);
  CHECK(result.compared_steps == kSteps);
  CHECK(result.same_versions());
  CHECK(reported > 0);
}

TEST_CASE("replay: one changed bit is found at its step, field and index", "[rollout]") {
  struct Case {
    const char* field;
    std::int64_t step;
    std::size_t index;
    std::vector<double> RowCopy::*values;
  };
  const auto c = GENERATE(values<Case>({{"qpos", 37, 3, &RowCopy::qpos},
                                        {"qvel", 599, 12, &RowCopy::qvel},
                                        {"act", 1, 0, &RowCopy::act},
                                        {"sensordata", 255, 2, &RowCopy::sensordata},
                                        {"integration", 300, 40, &RowCopy::integration}}));
  CAPTURE(c.field);
  const test::TemporaryFolder folder;
  double original = 0.0;
  record(folder.path() / "rollout.h5", [&](RowCopy& row) {
    if (row.step != c.step) return;
    double& value = (row.*c.values)[c.index];
    original = value;
    value = next_up(value);
  });
  RolloutReader reader(folder.path() / "rollout.h5");
  const ReplayResult result = replay(reader);
  REQUIRE_FALSE(result.identical());
  CHECK(result.first_difference->field == c.field);
  CHECK(result.first_difference->step == c.step);
  CHECK(result.first_difference->index == static_cast<std::int64_t>(c.index));
  CHECK(result.first_difference->replayed == original);
  CHECK(result.first_difference->recorded == next_up(original));
  CHECK(result.compared_steps == c.step - 1);
}

TEST_CASE("replay: another mocap pose or control than was in force shows in the step after",
          "[rollout]") {
  const auto values = GENERATE(&RowCopy::mocap_pos, &RowCopy::ctrl);
  const test::TemporaryFolder folder;
  record(folder.path() / "rollout.h5", [&](RowCopy& row) {
    if (row.step == 120) (row.*values)[0] += 1e-3;
  });
  RolloutReader reader(folder.path() / "rollout.h5");
  const ReplayResult result = replay(reader);
  REQUIRE_FALSE(result.identical());
  CHECK(result.first_difference->step == 120);
}

TEST_CASE("replay: a recording with a gap, without rows or without a model is refused",
          "[rollout]") {
  const test::TemporaryFolder folder;
  record(folder.path() / "gap.h5", [](RowCopy& row) { row.step += row.step > 50 ? 1 : 0; });
  RolloutReader gap(folder.path() / "gap.h5");
  CHECK_THROWS_WITH(replay(gap), Catch::Contains("row 51: step 52, must be 51"));

  { RolloutWriter(folder.path() / "empty.h5", {}, {}, {}).close("done"); }
  RolloutReader empty(folder.path() / "empty.h5");
  CHECK_THROWS_WITH(replay(empty), Catch::Contains("no rows"));

  {
    const std::byte junk[100] = {};
    const double state[] = {1.0};
    RolloutWriter writer(folder.path() / "junk.h5", {.nintegration = 1},
                         {{"mujoco_version", "9.9"}}, junk);
    RolloutRow row;
    row.integration_state = state;
    writer.append(row);
    writer.close("done");
  }
  RolloutReader junk(folder.path() / "junk.h5");
  CHECK_THROWS_WITH(replay(junk), Catch::Contains("model_mjb") && Catch::Contains("9.9"));

  RolloutReader original(folder.path() / "gap.h5");
  RolloutLayout layout = original.layout();
  layout.nmocap = 2;
  RolloutWriter(folder.path() / "sizes.h5", layout, {}, original.model_mjb()).close("done");
  CHECK_THROWS_WITH(recorded_model(RolloutReader(folder.path() / "sizes.h5")),
                    Catch::Contains("mocap: 2 values a row, the recorded model has 1"));
}

TEST_CASE("replay: runs of the shipped scenes with their controllers are identical", "[rollout]") {
  const auto scene = GENERATE("scenes/reach/reach.xml", "scenes/tube_insertion/tube_insertion.xml");
  CAPTURE(scene);
  const test::TemporaryFolder folder;
  RunOptions options;
  options.changes.duration = 2.0;
  options.recording = folder.path() / "rollout.h5";
  const RunResult run = run_experiment(load_experiment(scene), options);
  REQUIRE(run.outcome == Outcome::Done);
  RolloutReader reader(options.recording);
  CHECK(reader.layout().npluginstate > 0);
  const ReplayResult result = replay(reader);
  CHECK(result.identical());
  CHECK(result.compared_steps == run.steps);
}

TEST_CASE("replay: a recording of a process with other plugin slots is identical", "[rollout]") {
  const test::TemporaryFolder folder;
  RunOptions options;
  options.changes.duration = 0.5;
  options.recording = folder.path() / "rollout.h5";
  REQUIRE(run_experiment(load_experiment("scenes/reach/reach.xml"), options).outcome ==
          Outcome::Done);
  RolloutReader original(options.recording);

  // The same recording with a slot number that exists nowhere, and with another plugin name.
  const ModelPtr model = recorded_model(original);
  REQUIRE(model->nplugin == 1);
  model->plugin[0] = 1000;
  std::vector<std::byte> mjb(static_cast<std::size_t>(mj_sizeModel(model.get())));
  mj_saveModel(model.get(), nullptr, mjb.data(), static_cast<mjtSize>(mjb.size()));
  const auto copy = [&](const std::string& name, const std::string& plugins,
                        std::span<const std::byte> binary) {
    RolloutWriter writer(
        folder.path() / name, original.layout(),
        {{"plugins", plugins}, {"mujoco_version", "9.9"}, {"tendril_version", version()}}, binary);
    for (std::int64_t i = 0; i < original.row_count(); ++i) writer.append(original.row(i).view());
    writer.close("done");
    return RolloutReader(folder.path() / name);
  };
  RolloutReader other_slots = copy("slots.h5", "tendril.reach", mjb);
  CHECK(replay(other_slots).identical());

  RolloutReader unknown = copy("unknown.h5", "my.controller", mjb);
  CHECK_THROWS_WITH(replay(unknown),
                    Catch::Contains("my.controller") && Catch::Contains("--plugin FILE.so"));
  RolloutReader nameless = copy("nameless.h5", "", mjb);
  CHECK_THROWS_WITH(replay(nameless), Catch::Contains("1 plugin instances"));
  RolloutReader cut = copy("cut.h5", "tendril.reach", std::span(mjb).first(mjb.size() - 4));
  CHECK_THROWS_WITH(replay(cut), Catch::Contains("model_mjb") && Catch::Contains("its length"));
  std::vector<std::byte> huge = mjb;
  huge[20 + 7] = std::byte{0x7f};  // the highest byte of nq
  RolloutReader too_large = copy("huge.h5", "tendril.reach", huge);
  CHECK_THROWS_WITH(replay(too_large), Catch::Contains("out of range"));
  mjb[12] ^= std::byte{1};  // the version
  RolloutReader newer = copy("newer.h5", "tendril.reach", mjb);
  CHECK_THROWS_WITH(replay(newer), Catch::Contains("version 4000000") && Catch::Contains("9.9"));
}

TEST_CASE("replay: a model whose indices are not its own is refused by name", "[rollout]") {
  const Scene scene = load_scene("scenes/reach/reach.xml");
  mjModel* const model = scene.model.get();
  const auto saved = [&] {
    std::vector<std::byte> mjb(static_cast<std::size_t>(mj_sizeModel(model)));
    mj_saveModel(model, nullptr, mjb.data(), static_cast<mjtSize>(mjb.size()));
    return mjb;
  };
  std::vector<std::byte> whole = saved();
  CHECK(bind_plugins(whole, "tendril.reach", UnknownPlugin::Refuse).empty());

  mjModel& m = *model;
  const struct {
    const char* name;
    int* entry;
    std::vector<int> values;
  } wrong[] = {
      {"body_treeid", m.body_treeid + m.nbody - 1, {-2, 1000, static_cast<int>(m.ntree)}},
      {"body_parentid",
       m.body_parentid + m.nbody - 1,
       {-1, static_cast<int>(m.nbody) - 1, 1 << 30}},
      {"jnt_actuatorid", m.jnt_actuatorid, {-2, static_cast<int>(m.nactuator)}},
      {"jnt_type", m.jnt_type, {-1, 4, 1 << 30}},
      {"dof_jntid", m.dof_jntid, {-1, static_cast<int>(m.njnt), static_cast<int>(m.njnt) - 1}},
      {"dof_Madr", m.dof_Madr, {-1, static_cast<int>(m.nM)}},
      {"body_geom", m.body_geomnum + m.nbody - 1, {-1, 1000, 1 << 30}},
      {"geom_dataid|geom_type", m.geom_type, {mjGEOM_MESH, mjGEOM_HFIELD, -1, mjNGEOMTYPES}},
      {"bvh_nodeid", m.bvh_nodeid, {-2, static_cast<int>(m.ngeom)}},
      {"bvh_child", m.bvh_child, {-2, static_cast<int>(m.nbvh)}},
      {"actuator_history", m.actuator_history, {-1, 1, 1 << 30}},
      {"sensor_plugin", m.sensor_plugin, {-2, static_cast<int>(m.nplugin)}},
      {"plugin_state", m.plugin_statenum, {-1, static_cast<int>(m.npluginstate) + 1, 1 << 30}},
      {"name_pluginadr", m.name_pluginadr, {-1, static_cast<int>(m.nnames)}},
      {"names_map", m.names_map, {-2, static_cast<int>(m.nbody), 1 << 30}},
      {"M_colind", m.M_colind, {-1, static_cast<int>(m.nv)}},
      {"M_row", m.M_rownnz, {-1, 1 << 30}},
      {"tree_dof", m.tree_dofnum, {0, -1, 1 << 30}},
  };
  for (const auto& [name, entry, values] : wrong) {
    const int right = *entry;
    for (const int value : values) {
      CAPTURE(name, value);
      *entry = value;
      std::vector<std::byte> mjb = saved();
      CHECK_THAT(
          bind_plugins(mjb, "tendril.reach", UnknownPlugin::Refuse),
          Catch::Matches(std::string("(") + name + R"()\w*(\[\d+\] = .*must be in .*|: .*))"));
    }
    *entry = right;
  }
  std::vector<std::byte> flagged = saved();
  m.jnt_limited[1] = !m.jnt_limited[1];  // a change of one byte tells where the array is
  const std::vector<std::byte> changed = saved();
  const auto at =
      std::mismatch(flagged.begin(), flagged.end(), changed.begin()).first - flagged.begin();
  m.jnt_limited[1] = !m.jnt_limited[1];
  flagged[static_cast<std::size_t>(at)] = std::byte{2};
  CHECK(bind_plugins(flagged, "tendril.reach", UnknownPlugin::Refuse) ==
        "jnt_limited[1] = 2: must be in [0, 1]");
  flagged = saved();
  m.flg_gravcomp = !m.flg_gravcomp;  // before the arrays
  const std::vector<std::byte> other = saved();
  m.flg_gravcomp = !m.flg_gravcomp;
  *std::mismatch(flagged.begin(), flagged.end(), other.begin()).first = std::byte{3};
  CHECK(bind_plugins(flagged, "tendril.reach", UnknownPlugin::Refuse) ==
        "its flags must be 0 or 1");
  m.names[m.nnames - 1] = 'x';
  std::vector<std::byte> endless = saved();
  CHECK(bind_plugins(endless, "tendril.reach", UnknownPlugin::Refuse) ==
        "names: must end with a zero");
}
