#include "drive/drive_loop.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "drive/arm_driver.hpp"
#include "drive/robot_message.hpp"
#include "tendril/kinematics/forward_kinematics.hpp"
#include "tendril/model_error.hpp"
#include "tests/drive/driven_arm.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::test;

namespace {

constexpr double kStep = 0.002;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Commands bends alone: no feed-forward for a lag, or a load, that the plant below does not have.
const std::string kReach =
    "[controller]\nplugin = \"tendril.reach\"\ntarget = \"target\"\n"
    "velocity_feed_forward = false\ngravity_compensation = false\n";

ContinuumDescription arm(const std::string& more = kReach + kEncoder,
                         const std::string& sections = servo_sections(2)) {
  return parse_as<ContinuumDescription>(sections + more, "arm.toml");
}

/// An arm that goes where it is commanded to be, with a short lag.
struct Plant {
  explicit Plant(const ArmDriver& driver)
      : bends(driver.ports().reading_count, 0.0),
        readings(bends),
        arrived(std::make_unique<bool[]>(driver.ports().sensor_count)),
        commands(driver.ports().actuators.size(), 0.0),
        sensors(driver.ports().sensor_count) {
    std::fill_n(arrived.get(), sensors, true);
    target.translation() << 0.06, 0.03, 0.17;
  }
  /// A section's servos turn about y and x, its encoders read the bends u about y and v about -x.
  void follow() {
    constexpr double kLag = 0.02;  // s
    for (std::size_t i = 0; i + 1 < bends.size(); i += 2) {
      bends[i] += kStep / kLag * (commands[i] - bends[i]);
      bends[i + 1] += kStep / kLag * (-commands[i + 1] - bends[i + 1]);
    }
    readings = bends;
  }
  DriveLoop::Message message() {
    return {.readings = readings, .arrived = {arrived.get(), sensors}, .target = &target};
  }

  std::vector<double> bends, readings;
  std::unique_ptr<bool[]> arrived;
  std::vector<double> commands;
  std::size_t sensors;
  Eigen::Isometry3d target = Eigen::Isometry3d::Identity();
};

}  // namespace

TEST_CASE("drive loop: nothing moves before the robot has said where it is", "[drive]") {
  ArmDriver driver(arm(), {});
  DriveLoop loop(driver, {});
  Plant plant(driver);
  const std::vector<double> before = plant.commands;
  for (int k = 0; k < 100; ++k) CHECK_FALSE(loop.step(k * kStep, nullptr, plant.commands));
  CHECK(loop.state() == DriveState::Waiting);
  DriveLoop::Message blind = plant.message();
  blind.target = nullptr;
  CHECK_FALSE(loop.step(0.2, &blind, plant.commands));  // nor where its target is
  CHECK(plant.commands == before);
  const DriveLoop::Message message = plant.message();
  CHECK(loop.step(0.202, &message, plant.commands));
  CHECK(loop.state() == DriveState::Running);
}

TEST_CASE("drive loop: a cut link holds the commands, and a restored one goes on", "[drive]") {
  ArmDriver driver(arm(), {});
  DriveLoop loop(driver, {.stale_after = 0.05});
  Plant plant(driver);
  int k = 0;
  const auto run = [&](int steps, bool linked) {
    for (const int end = k + steps; k < end; ++k) {
      plant.follow();
      const DriveLoop::Message message = plant.message();
      (void)loop.step(k * kStep, linked ? &message : nullptr, plant.commands);
    }
  };
  run(100, true);
  run(26, false);
  CHECK(loop.state() == DriveState::Stale);
  const std::vector<double> held = plant.commands;
  run(1000, false);
  CHECK(plant.commands == held);
  CHECK(loop.counts().longest_silence == Approx(1026 * kStep));
  run(1, true);
  CHECK(loop.state() == DriveState::Running);
  // It goes on from where it was: no jump.
  for (std::size_t i = 0; i < held.size(); ++i) CHECK(std::abs(plant.commands[i] - held[i]) < 0.02);
  run(3000, true);
  CHECK(driver.report().arrived);
}

TEST_CASE("drive loop: an emergency stop holds until a reset", "[drive]") {
  ArmDriver driver(arm(), {});
  DriveLoop loop(driver, {});
  Plant plant(driver);
  const DriveLoop::Message message = plant.message();
  for (int k = 0; k < 50; ++k) (void)loop.step(k * kStep, &message, plant.commands);
  loop.stop();
  const std::vector<double> held = plant.commands;
  for (int k = 50; k < 500; ++k) CHECK_FALSE(loop.step(k * kStep, &message, plant.commands));
  CHECK(loop.state() == DriveState::Stopped);
  CHECK(plant.commands == held);
  loop.reset();
  CHECK(loop.step(1.0, &message, plant.commands));
}

TEST_CASE("drive loop: no command goes beyond its range or its speed", "[drive]") {
  ArmDriver driver(arm(), {});
  const double limit = 0.05;  // ranges/s
  DriveLoop loop(driver, {.speed_limit = limit});
  Plant plant(driver);
  for (int k = 0; k < 2000; ++k) {
    plant.follow();
    const std::vector<double> before = plant.commands;
    const DriveLoop::Message message = plant.message();
    (void)loop.step(k * kStep, &message, plant.commands);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto& [low, high] = driver.ports().actuators[i].range;
      CHECK(std::abs(plant.commands[i] - before[i]) <= limit * (high - low) * kStep * (1 + 1e-9));
      CHECK(plant.commands[i] >= low);
      CHECK(plant.commands[i] <= high);
    }
  }
  CHECK(loop.counts().limited > 100);
}

TEST_CASE("drive loop: a wait for the target is no time to move in", "[drive]") {
  ArmDriver driver(arm(), {});
  const double limit = 0.05;  // ranges/s
  DriveLoop loop(driver, {.speed_limit = limit});
  Plant plant(driver);
  const std::vector<double> before = plant.commands = {0.5, 0.5, 0.5, 0.5};
  DriveLoop::Message message = plant.message();
  message.target = nullptr;
  for (int k = 0; k < 1000; ++k) CHECK_FALSE(loop.step(k * kStep, &message, plant.commands));
  message.target = &plant.target;
  REQUIRE(loop.step(1000 * kStep, &message, plant.commands));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& [low, high] = driver.ports().actuators[i].range;
    CHECK(std::abs(plant.commands[i] - before[i]) <= limit * (high - low) * kStep * (1 + 1e-9));
  }
}

TEST_CASE("drive loop: numbers that are not finite did not come", "[drive]") {
  ArmDriver with(arm(), {}), without(arm(), {});
  DriveLoop damaged(with, {}), missing(without, {});
  Plant a(with), b(without);
  for (int k = 0; k < 500; ++k) {
    a.follow();
    b.follow();
    const bool is_bad = k % 7 == 3;
    if (is_bad) a.readings[1] = kNaN;
    b.arrived[1] = !is_bad;
    const DriveLoop::Message to_a = a.message(), to_b = b.message();
    (void)damaged.step(k * kStep, &to_a, a.commands);
    (void)missing.step(k * kStep, &to_b, b.commands);
    REQUIRE(a.commands == b.commands);
  }
  CHECK(damaged.counts().discarded == 71);
  a.target.translation().x() = kNaN;  // the last one stays
  const DriveLoop::Message message = a.message();
  CHECK(damaged.step(500 * kStep, &message, a.commands));
  CHECK(std::isfinite(a.commands[0]));
}

TEST_CASE("arm driver: the tip of a model that follows its commands reaches the target",
          "[drive]") {
  ArmDriver driver(arm(), {.gravity = Eigen::Vector3d::Zero()});
  DriveLoop loop(driver, {});
  Plant plant(driver);
  for (int k = 0; k < 4000; ++k) {
    plant.follow();
    const DriveLoop::Message message = plant.message();
    (void)loop.step(k * kStep, &message, plant.commands);
  }
  const ContinuumRobot robot = arm().kinematics();
  const std::vector<SectionState> states{
      state_from_bend_vector(plant.bends[0], plant.bends[1], 0.0),
      state_from_bend_vector(plant.bends[2], plant.bends[3], 0.0)};
  const Eigen::Isometry3d tip = tip_pose(robot, states, {});
  CHECK((tip.translation() - plant.target.translation()).norm() < 1e-3);
}

TEST_CASE("drive loop: a step allocates nothing", "[drive]") {
  ArmDriver driver(arm(), {});
  DriveLoop loop(driver, {.speed_limit = 1.0});
  Plant plant(driver);
  const DriveLoop::Message message = plant.message();
  (void)loop.step(0.0, &message, plant.commands);
  const AllocationCounter counter;
  for (int k = 1; k < 200; ++k)
    (void)loop.step(k * kStep, k % 3 ? &message : nullptr, plant.commands);
  CHECK(counter.count() == 0);
}

TEST_CASE("arm driver: what cannot be driven is refused in one line", "[drive]") {
  const auto refuses = [](const std::string& more, const std::string& what,
                          ComputerOptions options = {}) {
    CHECK_THROWS_WITH(ArmDriver(arm(more), options), Catch::Contains(what));
  };
  refuses(kEncoder, "controller: missing");
  refuses(kReach, "no [[sensor]] that tells the shape");
  refuses("[controller]\nplugin = \"mine.reach\"\n" + kEncoder,
          "plugin = mine.reach: must be a controller of the library");
  refuses("[controller]\nplugin = \"tendril.reach\"\nspeeed = 1\n" + kEncoder,
          "speeed: is no setting of tendril.reach");
  refuses("[controller]\nplugin = \"tendril.reach\"\ntarget = \"t\"\navoidance = true\n" + kEncoder,
          "of which the robot knows nothing");
  refuses(kReach + kEncoder, "timestep", {.timestep = 0.0});
  refuses(kReach + kEncoder, "link_delay", {.link_delay = -1.0});
  ArmDriver driver(arm(), {});
  CHECK_THROWS_WITH(DriveLoop(driver, {.stale_after = 0.0}), Catch::Contains("stale_after"));
  CHECK_THROWS_WITH(DriveLoop(driver, {.speed_limit = -1.0}), Catch::Contains("speed_limit"));
}

TEST_CASE("robot message: no new reading is lost with a message", "[drive]") {
  const ArmDriver driver(arm(kReach + "[base]\nfeed = 0.1\n" + kEncoder), {});
  REQUIRE(driver.ports().sensor_count == 4);
  REQUIRE(driver.ports().reading_count == 6);  // feed and its rate
  RobotMessage robot(driver.ports()), computer(driver.ports());
  std::vector<double> message(robot.size());
  const std::vector<double> drives{5.0, 0.5}, commands{1, 2, 3, 4, 0.1};
  const auto send = [&](double a, bool new_a, double b, bool new_b) {
    const bool arrived[4] = {new_a, new_b};
    robot.pack(std::vector<double>{a, b, 0.0, 0.0}, arrived, drives, commands, nullptr, message);
  };
  send(1.0, true, 2.0, false);
  DriveLoop::Message got = computer.unpack(message);
  CHECK(got.arrived[0]);
  CHECK_FALSE(got.arrived[1]);
  CHECK(got.readings[4] == 5.0);
  CHECK(std::ranges::equal(computer.commands(message), commands));
  CHECK(got.target == nullptr);
  send(1.0, false, 3.0, true);  // is lost
  send(1.5, true, 3.0, false);
  got = computer.unpack(message);
  CHECK(got.arrived[0]);
  CHECK(got.arrived[1]);
  CHECK(got.readings[1] == 3.0);
  send(1.5, false, 3.0, false);
  got = computer.unpack(message);
  CHECK_FALSE(got.arrived[0]);
  CHECK_FALSE(got.arrived[1]);
  Eigen::Isometry3d target = Eigen::Isometry3d::Identity();
  target.translation() << 1, 2, 3;
  const bool none[4] = {};
  robot.pack(std::vector<double>(4, 0.0), none, drives, commands, &target, message);
  got = computer.unpack(message);
  REQUIRE(got.target != nullptr);
  CHECK(got.target->isApprox(target));
}
