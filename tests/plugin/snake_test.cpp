// Snakes in the engine: what is measured, saving and restoring, faults, prefixes, bad settings.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/plugin/test_scenes.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril::test;

namespace {

std::string snake(const std::string& settings, const std::string& more = "") {
  return "kind = \"snake\"\njoints = 8\nlink_length = 0.06\n" + more +
         "[start]\nposition = [0, 0, 0.001]\n[controller]\nplugin = \"tendril.snake\"\n" + settings;
}

std::string scene() {
  return R"(<mujoco model="snakes">
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
  <asset><model name="snake" file="snake.toml"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 0.1"/>
    <attach model="snake" body="base" prefix="S_"/>
    <body name="goal" mocap="true" pos="0.6 0.4 0"/>
  </worldbody>
</mujoco>)";
}

ModelPtr load(const std::string& toml) {
  load_tendril();
  return load_scene_text(scene(), {{"snake.toml", toml}});
}

std::string refusal(const std::string& toml) {
  load_tendril();
  std::string error;
  CHECK_FALSE(try_load_scene(scene(), {{"snake.toml", toml}}, error));
  return error;
}

}  // namespace

TEST_CASE("snake plugin: measures joints, margin and the way it went", "[plugin]") {
  const ModelPtr model = load(snake("gait = \"sidewinding\"\n"));
  const DataPtr data = make_data(model);
  step(model, data, 1500);
  CHECK(sensor(model, data, "S_status")[0] == 0.0);
  const auto measured = sensor(model, data, "S_measured");
  const auto command = sensor(model, data, "S_command");
  REQUIRE(measured.size() == 8);
  REQUIRE(command.size() == 8);
  double margin = 10.0;
  for (std::size_t j = 0; j < 8; ++j) {
    CHECK(measured[j] == Approx(command[j]).margin(0.5));  // servos lag
    margin = std::min(margin, 1.5707963267948966 - std::abs(measured[j]));
  }
  CHECK(sensor(model, data, "S_joint_margin")[0] == Approx(margin).margin(1e-9));
  CHECK(sensor(model, data, "S_upright")[0] > 0.7);
  CHECK(sensor(model, data, "S_speed")[0] > 0.02);
  CHECK(std::abs(sensor(model, data, "S_rise")[0]) < 0.05);
}

TEST_CASE("snake plugin: a copy and a restored state continue bit for bit", "[plugin]") {
  const ModelPtr model = load(snake("target = \"goal\"\n"));
  const DataPtr data = make_data(model);
  step(model, data, 700);
  REQUIRE(data->ncon > 0);
  const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
  const DataPtr other = make_data(model);
  step(model, other, 33);
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  step(model, data, 400);
  step(model, copy, 400);
  step(model, other, 400);
  CHECK(same_bits(full_state(model, data), full_state(model, copy)));
  CHECK(same_bits(full_state(model, data), full_state(model, other)));
}

TEST_CASE("snake plugin: a step allocates nothing, a reset begins again", "[plugin]") {
  const ModelPtr model = load(snake("goals = [1, 1]\n"));
  const DataPtr data = make_data(model), fresh = make_data(model);
  step(model, data, 200);
  {
    const AllocationCounter counter;
    mj_forward(model.get(), data.get());
    CHECK(counter.count() == 0);
  }
  mj_resetData(model.get(), data.get());
  step(model, data, 100);
  step(model, fresh, 100);
  CHECK(same_bits(full_state(model, data), full_state(model, fresh)));
}

TEST_CASE("snake plugin: follows a mocap body", "[plugin]") {
  const ModelPtr model = load(snake("target = \"goal\"\ngoal_tolerance = 0.15\n"));
  const DataPtr data = make_data(model);
  for (int k = 0; k < 15000 && sensor(model, data, "S_status")[0] == 0.0; ++k)
    mj_step(model.get(), data.get());
  CHECK(sensor(model, data, "S_status")[0] == 1.0);
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "S_base");
  CHECK(std::hypot(data->subtree_com[3 * base] - 0.6, data->subtree_com[3 * base + 1] - 0.4) <
        0.16);
}

TEST_CASE("snake plugin: a carriage does not move and the chain waves", "[plugin]") {
  load_tendril();
  const ModelPtr model = load(
      "kind = \"snake\"\njoints = 8\nlink_length = 0.06\n[base]\nkind = \"carriage\"\nfeed = 1\n"
      "[start]\nfeed = 0.5\n[controller]\nplugin = \"tendril.snake\"\ngait = \"serpenoid\"\n");
  const DataPtr data = make_data(model);
  mj_resetDataKeyframe(model.get(), data.get(), 0);
  step(model, data, 1000);
  CHECK(sensor(model, data, "S_status")[0] == 0.0);
  CHECK(data->qpos[0] == Approx(0.5).margin(0.02));
}

namespace {

/// A free snake of 0.54 m before a wall; `more` is in the world.
std::string walled(const std::string& more) {
  std::string text = scene();
  const std::string floor = R"(<geom name="floor" type="plane" size="3 3 0.1"/>)";
  text.replace(text.find(floor), floor.size(),
               floor + R"(<geom name="wall" type="box" pos="0.9 0.3 0.1" size="0.02 0.5 0.1"/>
    <site name="place" pos="1.7 0.4 0"/>)" +
                   more);
  return text;
}
std::string among(const std::string& settings) {
  return snake("gait = \"sidewinding\"\navoidance = true\n" + settings);
}
std::string refusal_among(const std::string& more, const std::string& settings) {
  load_tendril();
  std::string error;
  CHECK_FALSE(try_load_scene(walled(more), {{"snake.toml", among(settings)}}, error));
  return error;
}

}  // namespace

TEST_CASE("snake plugin: goes to a site behind a wall that it has found by itself", "[plugin]") {
  load_tendril();
  const ModelPtr model =
      load_scene_text(walled(""), {{"snake.toml", among("target = \"place\"\n")}});
  const DataPtr data = make_data(model);
  mj_resetDataKeyframe(model.get(), data.get(), 0);
  const int wall = mj_name2id(model.get(), mjOBJ_GEOM, "wall");
  bool touched = false;
  for (int k = 0; k < 30000 && sensor(model, data, "S_status")[0] == 0.0; ++k) {
    mj_step(model.get(), data.get());
    for (int c = 0; c < data->ncon; ++c)
      touched |= data->contact[c].geom[0] == wall || data->contact[c].geom[1] == wall;
  }
  CHECK(sensor(model, data, "S_status")[0] == 1.0);
  CHECK_FALSE(touched);
  const int base = mj_name2id(model.get(), mjOBJ_BODY, "S_base");
  CHECK(std::hypot(data->subtree_com[3 * base] - 1.7, data->subtree_com[3 * base + 1] - 0.4) <
        0.12);
}

TEST_CASE("snake plugin: on its way, a copy and a restored state continue bit for bit",
          "[plugin]") {
  load_tendril();
  const ModelPtr model =
      load_scene_text(walled(""), {{"snake.toml", among("goals = [1.7, 0.4]\n")}});
  const DataPtr data = make_data(model), other = make_data(model);
  step(model, data, 700);
  const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  for (const DataPtr* d : {&data, &copy, &other}) step(model, *d, 400);
  CHECK(same_bits(full_state(model, data), full_state(model, copy)));
  CHECK(same_bits(full_state(model, data), full_state(model, other)));
}

TEST_CASE("snake plugin: what is refused among obstacles", "[plugin]") {
  CHECK_THAT(refusal_among("", ""), Catch::Contains("avoidance: needs a target"));
  CHECK_THAT(refusal_among("", "target = \"nowhere\"\n"),
             Catch::Contains("target = nowhere: must be a body or a site of the scene"));
  CHECK_THAT(refusal_among("", "target = \"S_tip\"\n"),
             Catch::Contains("target = S_tip: must be stationary"));
  CHECK_THAT(
      refusal_among(R"(<geom name="egg" type="ellipsoid" pos="1.7 0.4 0" size="0.2 0.1 0.1"/>)",
                    "target = \"place\"\n"),
      Catch::Contains("target = place: must not be in an obstacle"));
  CHECK_THAT(
      refusal_among(R"(<geom name="egg" type="ellipsoid" pos="1.7 0.4 0" size="0.2 0.1 0.1"/>)",
                    "target = \"place\"\nobstacles = \"ball\"\n"),
      Catch::Contains("obstacles = ball: must be a geom or a body"));
  std::string ring;
  for (int k = 0; k < 12; ++k)
    ring += "<geom type=\"cylinder\" size=\"0.05 0.1\" pos=\"" +
            std::to_string(1.7 + 0.6 * std::cos(k * 0.5236)) + " " +
            std::to_string(0.4 + 0.6 * std::sin(k * 0.5236)) + " 0.1\"/>";
  CHECK_THAT(refusal_among(ring, "target = \"place\"\n"),
             Catch::Contains("target = place: there is no path that is"));
  // What hangs above, lies in the ground or can move is no obstacle.
  load_tendril();
  CHECK_NOTHROW(load_scene_text(walled(R"(<geom type="box" pos="1.7 0.4 0.5" size="0.3 0.3 0.1"/>
                <geom type="box" pos="1.7 0.4 -0.1" size="0.3 0.3 0.1"/>
                <body pos="1.7 0.4 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>)"),
                                {{"snake.toml", among("target = \"place\"\n")}}));
}

TEST_CASE("snake plugin: a path on the ground from a table", "[plugin]") {
  load_tendril();
  // As the text of a file, `{ file = "path.csv" }`.
  CHECK_NOTHROW(load(snake("ground_path = \"\"\"0, 0\n0.5, 0.1\n1, 0.4\n\"\"\"\n")));
  CHECK_THAT(refusal(snake("ground_path = \"\"\"x,y\n0,0\n1,0\n\"\"\"\n")),
             Catch::Contains("ground_path = x: must be finite numbers"));
}

TEST_CASE("snake plugin: a height field is refused by its name", "[plugin]") {
  load_tendril();
  std::string text = walled(R"(<geom name="hills" type="hfield" hfield="hills"/>)");
  text.replace(text.find("<asset>"), 7,
               R"(<asset><hfield name="hills" nrow="3" ncol="3" size="1 1 0.1 0.1"/>)");
  std::string error;
  CHECK_FALSE(try_load_scene(text, {{"snake.toml", among("target = \"place\"\n")}}, error));
  CHECK_THAT(error, Catch::Contains("obstacles: geom hills: "));
}

TEST_CASE("snake plugin: a target that leaves its place is no longer one", "[plugin]") {
  load_tendril();
  const ModelPtr model =
      load_scene_text(walled(R"(<body name="mark" mocap="true" pos="1.7 0.4 0"/>)"),
                      {{"snake.toml", among("target = \"mark\"\n")}});
  const DataPtr data = make_data(model);
  step(model, data, 100);
  CHECK(sensor(model, data, "S_status")[0] == 0.0);
  const int mark = mj_name2id(model.get(), mjOBJ_BODY, "mark");
  data->mocap_pos[3 * model->body_mocapid[mark]] += 0.3;
  step(model, data, 2);
  CHECK(sensor(model, data, "S_status")[0] == 4.0);
}

namespace {

/// Returns a snake on a carriage, straight, at 1 g; 8 links of 60 mm.
std::string fed_snake(const std::string& settings) {
  return "kind = \"snake\"\njoints = 8\nlink_length = 0.06\ngain = 300\ntorque_limit = 12\n"
         "[base]\nkind = \"carriage\"\nfeed = 0.5\n[controller]\nplugin = \"tendril.snake\"\n"
         "mode = \"path\"\nspeed = 0.1\nstart_delay = 0.2\n" +
         settings;
}

/// High above the floor, rotated about z.
ModelPtr load_fed(const std::string& settings) {
  load_tendril();
  std::string text = scene();
  const std::string attach = R"(<attach model="snake" body="base" prefix="S_"/>)";
  text.replace(text.find(attach), attach.size(),
               R"(<frame pos="0 0 1" euler="0 0 90">)" + attach + "</frame>");
  const std::string place = R"(pos="0.6 0.4 0")";
  text.replace(text.find(place), place.size(), R"(pos="0.08 0.85 1.03")");
  return load_scene_text(text, {{"snake.toml", fed_snake(settings)}});
}

constexpr const char* kFedWaypoints =
    "waypoints = [0.5, 0, 0,  0.56, 0, 0.002,  0.62, 0, 0.01,  0.68, 0, 0.026,  0.74, 0, 0.05,  "
    "0.8, 0, 0.08]\n";

}  // namespace

TEST_CASE("snake plugin: a fed snake follows its path at 1 g as at 0 g", "[plugin]") {
  const auto worst = [](const char* more, bool has_gravity) {
    const ModelPtr model = load_fed(std::string(kFedWaypoints) + more);
    if (!has_gravity) model->opt.gravity[2] = 0.0;
    const DataPtr data = make_data(model);
    double error = 0.0;
    for (int i = 0; i < 3000; ++i) {
      mj_step(model.get(), data.get());
      error = std::max(error, sensor(model, data, "S_path_error")[0]);
    }
    CHECK(sensor(model, data, "S_status")[0] == 1.0);
    CHECK(sensor(model, data, "S_progress")[0] > 0.999);
    // The base's x axis is the world's y: the head ends where the last waypoint is.
    const int tip = mj_name2id(model.get(), mjOBJ_SITE, "S_tip");
    CHECK(data->site_xpos[3 * tip + 1] == Approx(0.8).margin(error + 1e-3));
    CHECK(data->site_xpos[3 * tip + 2] == Approx(1.08).margin(error + 1e-3));
    return error;
  };
  const double free = worst("", false), heavy = worst("", true);
  CHECK(heavy == Approx(free).margin(1e-4));
  // The weight bends the root joint by m g L/2 / gain = 9 mrad: 4.5 mm at the head.
  CHECK(worst("gravity_factor = 0\n", true) > free + 2e-3);
}

TEST_CASE("snake plugin: a fed snake's copy and restored state continue bit for bit", "[plugin]") {
  const ModelPtr model = load_fed("target = \"goal\"\n");
  const DataPtr data = make_data(model);
  step(model, data, 700);
  const DataPtr copy(mj_copyData(nullptr, model.get(), data.get()));
  const DataPtr other = make_data(model);
  step(model, other, 33);
  mj_setState(model.get(), other.get(), full_state(model, data).data(), mjSTATE_INTEGRATION);
  {
    const AllocationCounter counter;
    mj_forward(model.get(), data.get());
    CHECK(counter.count() == 0);
  }
  step(model, data, 1500);
  step(model, copy, 1500);
  step(model, other, 1500);
  CHECK(data->qpos[0] > 0.2);
  CHECK(sensor(model, data, "S_path_error")[0] < 7.5e-3);  // of the sharpest turn
  CHECK(same_bits(full_state(model, data), full_state(model, copy)));
  CHECK(same_bits(full_state(model, data), full_state(model, other)));
}

TEST_CASE("snake plugin: bad paths are refused when the scene is loaded", "[plugin]") {
  CHECK_THAT(refusal(fed_snake("waypoints = [0.5, 0, 0,  0.6, 0, 0,  0.5, 0.01, 0]\n")),
             Catch::Contains("S_controller") &&
                 Catch::Contains("waypoints: point 3 lies behind the head"));
  CHECK_THAT(refusal(fed_snake("target = \"goal\"\ngait = \"helix\"\n")),
             Catch::Contains("gait: needs mode = gait"));
  CHECK_THAT(refusal(snake("mode = \"path\"\ntarget = \"goal\"\n")),
             Catch::Contains("mode = path: needs base.kind = \"carriage\""));
}

TEST_CASE("snake plugin: bad settings are refused with instance, key and value", "[plugin]") {
  CHECK_THAT(refusal(snake("gait = \"hop\"\n")),
             Catch::Contains("S_controller") && Catch::Contains("gait = hop: must be one of"));
  CHECK_THAT(refusal(snake("target = \"nowhere\"\n")),
             Catch::Contains("target = nowhere: must be the name of a mocap body"));
  CHECK_THAT(refusal(snake("speeed = 1\n")), Catch::Contains("speeed"));
  CHECK_THAT(refusal(snake("", "joints = 7\n")), Catch::Contains("snake.toml"));
}
