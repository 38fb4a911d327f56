#include "apps/tendril/window/view_source.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "simulation/rollout/replay.hpp"
#include "tendril/model_error.hpp"
#include "tests/rendering/recorded_pendulum.hpp"

using namespace tendril;
using namespace tendril::simulation;
using tendril::test::pendulum_in;
using tendril::test::recorded_pendulum;
using tendril::test::TemporaryFolder;

namespace {

constexpr auto kEnough = std::chrono::minutes(1);
const double kNotKnown = std::nan("");

LiveRun live_pendulum(const TemporaryFolder& folder) { return LiveRun(pendulum_in(folder)); }

}  // namespace

TEST_CASE("history: a stretch keeps its largest values and the oldest stretches are dropped",
          "[view]") {
  ViewHistory history(0.1, 3);
  for (int i = 0; i < 100; ++i) {
    history.add(
        {.time = 0.01 * i, .tip_error = i == 75 ? 9.0 : 1.0, .wall_force = i == 85 ? 7.0 : 0.0});
  }
  REQUIRE(history.points().size() == 3);
  double peak_error = 0.0, peak_force = 0.0;
  for (const auto& point : history.points()) {
    peak_error = std::max(peak_error, point.tip_error);
    peak_force = std::max(peak_force, point.wall_force);
  }
  CHECK(peak_error == 9.0);
  CHECK(peak_force == 7.0);
  history.add({.time = 0.0, .tip_error = kNotKnown, .wall_force = 0.0});  // the run was reset
  CHECK(history.points().size() == 1);
  history.add({.time = 0.01, .tip_error = 2.0, .wall_force = kNotKnown});
  CHECK(history.points().front().tip_error == 2.0);
  CHECK(history.points().front().wall_force == 0.0);
}

TEST_CASE("live run: simulated time follows the time asked for, parts of a step included",
          "[view]") {
  const TemporaryFolder folder;
  LiveRun run = live_pendulum(folder);
  double passed = 0.0;
  for (int frame = 0; frame < 30; ++frame) passed += run.advance(1.0 / 60.0, kEnough);
  CHECK(passed == Approx(0.5).margin(0.0101));  // one step
  CHECK(run.data().time == Approx(passed));
  CHECK(run.stopped().empty());
}

TEST_CASE("live run: a small budget bounds the computing and drops the rest", "[view]") {
  const TemporaryFolder folder;
  LiveRun run = live_pendulum(folder);
  CHECK(run.advance(5.0, std::chrono::nanoseconds(1)) == Approx(0.01));
  CHECK(run.advance(0.01, kEnough) == Approx(0.01));
}

TEST_CASE("live run: reset starts the same run again, bit for bit", "[view]") {
  const TemporaryFolder folder;
  LiveRun run = live_pendulum(folder);
  run.step(40);
  const double angle = run.data().qpos[0], target = run.data().mocap_pos[0];
  run.switch_motions(false);
  run.reset();
  CHECK(run.data().time == 0.0);
  CHECK(run.motions_on());
  CHECK(run.history().points().size() == 1);
  run.step(40);
  CHECK(run.data().qpos[0] == angle);
  CHECK(run.data().mocap_pos[0] == target);
}

TEST_CASE("live run: a body that a hand has taken remains where the hand puts it", "[view]") {
  const TemporaryFolder folder;
  LiveRun run = live_pendulum(folder);
  run.switch_motions(false);
  run.act_before_steps([](const mjModel&, mjData& d) { d.mocap_pos[2] = 0.7; });
  run.step(5);
  CHECK(run.data().mocap_pos[2] == 0.7);
  CHECK(run.data().mocap_pos[0] == Approx(0.0).margin(1e-12));
}

TEST_CASE("live run: a divergence stops it and says where, reset makes it run again", "[view]") {
  const TemporaryFolder folder;
  LiveRun run = live_pendulum(folder);
  run.act_before_steps(
      [](const mjModel&, mjData& d) { d.qfrc_applied[0] = d.time > 0.1 ? 1e30 : 0.0; });
  run.advance(1.0, kEnough);
  CHECK_THAT(run.stopped(), Catch::Contains("step") && Catch::Contains("t = 0.1"));
  const double time = run.data().time;
  CHECK(run.advance(1.0, kEnough) == 0.0);
  CHECK(run.data().time == time);
  run.act_before_steps({});
  run.reset();
  CHECK(run.stopped().empty());
  CHECK(run.advance(0.1, kEnough) == Approx(0.1));
}

TEST_CASE("live run: the wall force at rest is the weight on the floor", "[view]") {
  // A sphere, declared a robot, lies on the floor and on nothing else.
  const TemporaryFolder folder;
  const auto file = folder.write(
      "sphere.xml",
      R"(<mujoco><custom><tuple name="robot"><element objtype="body" objname="base"/></tuple></custom>
    <worldbody><geom type="plane" size="1 1 0.1"/>
    <body name="base" pos="0 0 0.1"><freejoint/><geom size="0.1" mass="2"/></body></worldbody></mujoco>)");
  LiveRun run(load_experiment(file));
  run.advance(2.0, kEnough);
  CHECK(run.signals().wall_force(run.data()) == Approx(2.0 * 9.81).epsilon(1e-3));
  CHECK(run.history().points().back().wall_force == Approx(2.0 * 9.81).epsilon(1e-2));
}

TEST_CASE("live run: controls by hand are in force until they are given back", "[view]") {
  LiveRun run(load_experiment(std::string(TENDRIL_TEST_SCENES) + "/reach/reach.toml"));
  run.step(200);
  const double present = run.data().ctrl[0];
  run.controls[0] = {.command = present + 0.05, .by_hand = true};
  const double others = run.data().ctrl[1];
  run.step(50);
  CHECK(run.data().ctrl[0] == present + 0.05);
  CHECK(run.data().ctrl[1] != others);  // the controller computes on
  run.controls[0].by_hand = false;
  run.step(1);
  CHECK(run.data().ctrl[0] != present + 0.05);
  run.controls[0].by_hand = true;
  run.reset();
  CHECK_FALSE(run.controls[0].by_hand);
}

TEST_CASE("live run: a fault without strength, injected and taken back, changes no bit", "[view]") {
  const std::string file = std::string(TENDRIL_TEST_SCENES) + "/reach/reach.toml";
  LiveRun undisturbed(load_experiment(file)), run(load_experiment(file));
  run.step(100);
  run.inject("kind = \"bias\"\nchannel = \"tip\"\nvalue = 0");
  run.step(100);
  run.inject("kind = \"noise\"\nchannel = \"q\"\nsigma = 0");
  run.inject("kind = \"actuator_loss\"\nactuator = \"*\"\nfactor = 1");
  run.step(100);
  CHECK(run.injected().size() == 3);
  run.take_back();
  run.step(100);
  undisturbed.step(400);
  const auto size = static_cast<std::size_t>(run.model().nq) * sizeof(mjtNum);
  CHECK(std::memcmp(run.data().qpos, undisturbed.data().qpos, size) == 0);
  CHECK(run.history().points().back().tip_error == undisturbed.history().points().back().tip_error);
  CHECK(run.checks().back().value == undisturbed.checks().back().value);
}

TEST_CASE("live run: injected faults act at once and leave the model as it was", "[view]") {
  const std::string file = std::string(TENDRIL_TEST_SCENES) + "/reach/reach.toml";
  LiveRun undisturbed(load_experiment(file)), run(load_experiment(file));
  const auto gains = [&] {
    return std::vector<double>(run.model().actuator_gainprm,
                               run.model().actuator_gainprm + mjNGAIN * run.model().nactuator);
  };
  const std::vector<double> sound = gains();
  undisturbed.step(220);
  run.step(200);
  SECTION("of the body, then of a measurement") {
    run.inject("kind = \"actuator_loss\"\nactuator = \"*\"\nfactor = 0.5");
    run.step(10);
    CHECK(gains() != sound);
    run.inject("kind = \"freeze\"\nchannel = \"tip\"");
    CHECK(gains() != sound);
    run.step(10);
  }
  SECTION("of a measurement") {
    run.inject("kind = \"bias\"\nchannel = \"tip\"\nvalue = 0.01");
    run.step(20);
  }
  CHECK(run.data().qpos[0] != undisturbed.data().qpos[0]);
  run.take_back();
  run.step(1);
  CHECK(gains() == sound);
  run.reset();
  run.step(220);
  CHECK(run.data().qpos[0] == undisturbed.data().qpos[0]);
}

TEST_CASE("live run: what a fault cannot be is refused and changes nothing", "[view]") {
  const TemporaryFolder folder;
  LiveRun run(pendulum_in(folder));
  CHECK_THROWS_AS(run.inject("kind = \"freeze\"\nchannel = \"tip\""), ModelError);
  CHECK_THROWS_AS(run.inject("kind = \"actuator_stuck\"\nactuator = \"none\""), ModelError);
  CHECK_THROWS_AS(run.inject("kind = \"actuator_delay\"\nactuator = \"*\"\ntime = 0.1"),
                  ModelError);
  CHECK(run.injected().empty());
  run.step(1);
  CHECK(run.stopped().empty());
}

TEST_CASE("live run: a recording begun on the way plays, and replays bit for bit", "[view]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "rollout.h5";
  double angle = 0.0;
  {
    LiveRun run(load_experiment(std::string(TENDRIL_TEST_SCENES) + "/reach/reach.toml"));
    run.step(100);
    run.start_recording(file);
    CHECK(run.recorded_since());
    run.step(300);
    angle = run.data().qpos[0];
    run.reset();  // ends it
    CHECK_FALSE(run.recorded_since());
    run.step(10);
  }
  Playback playback(file);
  CHECK(playback.outcome() == "done");
  CHECK(playback.row_count() == 301);
  CHECK(playback.range()->first > 0.0);
  playback.step(300);
  CHECK(playback.data().qpos[0] == angle);
  RolloutReader reader(file);
  CHECK(replay(reader).identical());
}

TEST_CASE("playback: plays at the speed asked for, stops at the end and seeks", "[view]") {
  const TemporaryFolder folder;
  Playback playback(recorded_pendulum(folder));
  CHECK(playback.range()->first == 0.0);
  CHECK(playback.range()->second == Approx(1.0));
  CHECK(playback.outcome() == "done");
  // Frames much shorter than a row must add up.
  for (int i = 0; i < 100; ++i) playback.advance(0.003, kEnough);
  CHECK(playback.data().time == Approx(0.3).margin(0.0051));
  CHECK(playback.stopped().empty());
  playback.advance(100.0, kEnough);
  CHECK(playback.row() == 100);
  CHECK_FALSE(playback.stopped().empty());
  playback.seek(0.42);
  CHECK(playback.row() == 42);
  playback.step(-2);
  CHECK(playback.row() == 40);
  playback.step(-100);
  CHECK(playback.row() == 0);
  playback.step(1);
  playback.reset();
  CHECK(playback.data().time == 0.0);
}

TEST_CASE("playback: its history covers the whole recording from the start", "[view]") {
  const TemporaryFolder folder;
  Playback playback(recorded_pendulum(folder));
  const auto& points = playback.history().points();
  REQUIRE_FALSE(points.empty());
  CHECK(points.front().time == 0.0);
  CHECK(points.back().time == Approx(1.0).margin(0.0101));
  double largest = 0.0;
  for (const auto& point : points) largest = std::max(largest, point.wall_force);
  CHECK(largest > 1.0);  // the pendulum hits the floor
}

TEST_CASE("centerlines: a robot's links are found in order with their tip", "[view]") {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "arm.xml",
      R"(<mujoco><custom><tuple name="A_robot"><element objtype="body" objname="A_base"/></tuple></custom>
    <worldbody><body name="A_base"><body name="A_s1_l1">
    <geom size="0.01"/><body name="A_s1_l2" pos="0 0 0.1"><geom size="0.01"/><body name="A_s2_l1" pos="0 0 0.1">
    <geom size="0.02"/><site name="A_tip" pos="0 0 0.05"/></body></body></body></body>
    <body name="A_s1_l1_target"/></worldbody></mujoco>)");
  const PreparedRun run = prepare_run(load_experiment(file), {});
  const mjModel& model = *run.scene.model;
  const Centerlines centerlines(model);
  REQUIRE(centerlines.robots().size() == 1);
  const auto& robot = centerlines.robots()[0];
  REQUIRE(robot.bodies.size() == 3);
  CHECK(std::strcmp(mj_id2name(&model, mjOBJ_BODY, robot.bodies[2]), "A_s2_l1") == 0);
  CHECK(robot.tip_site >= 0);
  CHECK(robot.radius == 0.02);

  // The drawn line is as long as the arm from the middle of its first link; a full scene is left as
  // it is.
  mjvScene scene;
  mjv_defaultScene(&scene);
  mjv_makeScene(&model, &scene, 3);
  const float color[4] = {1, 0, 0, 1};
  centerlines.draw(*run.data, scene, color);
  CHECK(scene.ngeom == 3);
  double length = 0.0;
  for (int i = 0; i < scene.ngeom; ++i) length += 2.0 * scene.geoms[i].size[2];
  CHECK(length == Approx(0.25).epsilon(1e-5));
  centerlines.draw(*run.data, scene, color);
  CHECK(scene.ngeom == 3);
  mjv_freeScene(&scene);
}
