// The log of a robot, as it is drawn.

#include <catch2/catch.hpp>

#include "drive/robot_message.hpp"
#include "rendering/render_recording.hpp"
#include "simulation/drive/drive_recorder.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril::simulation;
using namespace tendril::test;

TEST_CASE("log: a snake on the ground is drawn without contacts, which nothing has measured",
          "[rendering]") {
  const TemporaryFolder folder;
  folder.write(
      "snake.toml",
      "kind = \"snake\"\njoints = 4\nlink_length = 0.1\n[start]\nposition = [0.5, 0.2, 0]\n"
      "[controller]\nplugin = \"tendril.snake\"\n"
      "[[sensor]]\nkind = \"joint_encoder\"\nname = \"encoder\"\n");
  const auto file = folder.path() / "snake.toml", log = folder.path() / "log.h5";
  const DriverSettings settings{.robot = {}, .driver = {.timestep = 0.004}};
  const std::unique_ptr<RobotDriver> driver = make_driver(load_robot(file), settings.driver);
  DriveLoop loop(*driver, settings.safety);
  DriveRecorder recorder(file, log, "a link", "", loop, settings);
  RobotMessage message(driver->ports());
  std::vector<double> numbers(message.size()), commands(4, 0.0);
  const std::vector<double> readings(4, 0.0);
  constexpr bool kArrived[] = {true, true, true, true};
  for (int i = 0; i < 5; ++i) {
    message.pack(readings, kArrived, {}, commands, nullptr, numbers);
    const DriveLoop::Message come{.readings = readings, .arrived = kArrived};
    REQUIRE(loop.step(0.004 * i, &come, commands));
    recorder.take({.time = 0.004 * i, .message = numbers, .commands = commands});
  }
  REQUIRE(recorder.close("done").empty());
  RecordedScene scene(log);
  scene.show(scene.row_count() - 1);
  const int tip = mj_name2id(&scene.model(), mjOBJ_SITE, "tip");
  CHECK(scene.data().site_xpos[3 * tip] == Approx(0.75).margin(1e-3));  // half of five links ahead
  CHECK(scene.data().site_xpos[3 * tip + 1] == Approx(0.2).margin(1e-3));
  CHECK(scene.data().ncon == 0);
  mj_forward(&scene.model(), &scene.data());
  CHECK(scene.data().ncon > 0);
}
