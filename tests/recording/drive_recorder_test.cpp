// The log of a robot that a driver drives: what is in it, and that the driver repeats it.

#include "simulation/drive/drive_recorder.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "drive/arm_driver.hpp"
#include "simulation/rollout/drive_log.hpp"
#include "simulation/rollout/recorded_model.hpp"
#include "simulation/rollout/replay.hpp"
#include "simulation/rollout/run.hpp"
#include "tendril/model_error.hpp"
#include "tests/recording/driven_arms.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace tendril;
using namespace tendril::simulation;
using namespace tendril::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTimestep = 0.004;
constexpr int kSteps = 400, kFirst = 7, kStop = 370;

/// A robot whose readings wander, some of which are lost, late or no numbers, and its driver.
struct WanderingRobot {
  explicit WanderingRobot(const std::filesystem::path& file)
      : owned(make_driver(load_robot(file), settings.driver)),
        driver(*owned),
        loop(driver, settings.safety),
        message(driver.ports()),
        robot_side(driver.ports()) {
    settings.robot = driver.text();
    readings.resize(driver.ports().reading_count);
    arrived = std::make_unique<bool[]>(driver.ports().sensor_count);
    commands.resize(driver.ports().actuators.size());
    numbers.resize(message.size());
  }

  /// Makes a step as run_real_time does.
  LoopStep step(int i) {
    std::normal_distribution<double> normal;
    for (double& x : readings) x = 0.98 * x + 2e-4 * normal(random);
    for (std::size_t k = 0; k < driver.ports().sensor_count; ++k) arrived[k] = random() % 3 == 0;
    if (i == 100) readings[0] = kNan;
    if (i == 101) readings[0] = 0.0;
    const Eigen::Isometry3d target(Eigen::Translation3d(0.05 + 1e-4 * i, 0.02, 0.15));
    const auto sensors = static_cast<std::size_t>(
        std::ranges::count_if(driver.ports().channels, [](const auto& c) { return c.is_sensor; }));
    std::size_t first = readings.size() - (driver.ports().channels.size() - sensors);
    robot_side.pack(std::span(readings).first(first), {arrived.get(), driver.ports().sensor_count},
                    std::span(readings).subspan(first), commands, i % 50 < 25 ? &target : nullptr,
                    numbers);
    any = i >= kFirst && random() % 4 != 0 && !(i >= 200 && i < 230);
    if (i == kFirst || i == 100) any = true;
    if (i == kStop) loop.stop();
    const auto come = any ? std::span<const double>(numbers) : std::span<const double>();
    time = kTimestep * i + 1e-4 * static_cast<double>(random() % 100) / 100.0;
    (void)step_by_message(loop, time, message, come, settings.targets.at(time), commands);
    return {.time = time, .late = 1e-4, .duration = 2e-4, .message = come, .commands = commands};
  }

  DriverSettings settings{
      .robot = {},
      .driver = {.timestep = kTimestep, .link_delay = 0.004, .are_forces_late = false},
      .safety = {.stale_after = 0.05, .speed_limit = 2.0},
      .targets = TargetTable(
          {{.time = 0.0, .X_BG = Eigen::Isometry3d(Eigen::Translation3d(0.04, 0.01, 0.17))},
           {.time = 0.6, .X_BG = Eigen::Isometry3d(Eigen::Translation3d(-0.04, 0.02, 0.17))}})};
  std::unique_ptr<RobotDriver> owned;
  RobotDriver& driver;
  DriveLoop loop;
  RobotMessage message, robot_side;
  std::mt19937 random{7};
  std::vector<double> readings, commands, numbers;
  std::unique_ptr<bool[]> arrived;
  bool any = false;
  double time = 0.0;
};

}  // namespace

TEST_CASE("robot log: a driver repeats it bit for bit, whatever came", "[drive]") {
  const Case c = GENERATE(from_range(cases()));
  CAPTURE(c.name);
  const TemporaryFolder folder;
  folder.write("arm.toml", c.arm);
  const auto file = folder.path() / "arm.toml", recording = folder.path() / "log.h5";
  WanderingRobot drive(file);
  DriveRecorder recorder(file, recording, "a link", "command", drive.loop, drive.settings);
  std::vector<std::vector<double>> commands;
  for (int i = 0; i < kSteps; ++i) {
    recorder.take(drive.step(i));
    if (i >= kFirst) commands.push_back(drive.commands);
  }
  REQUIRE(recorder.close("done").empty());
  CHECK(drive.loop.counts().discarded == 1);
  CHECK(drive.loop.state() == DriveState::Stopped);

  RolloutReader reader(recording);
  REQUIRE(reader.row_count() == kSteps - kFirst);
  CHECK(is_drive_log(reader));
  const ModelPtr model = recorded_model(reader);
  for (std::int64_t i = 0; i < reader.row_count(); ++i) {
    for (std::size_t k = 0; k < drive.commands.size(); ++k) {
      const int id =
          mj_name2id(model.get(), mjOBJ_ACTUATOR, drive.driver.ports().actuators[k].name.c_str());
      REQUIRE(id >= 0);
      REQUIRE(reader.row(i).ctrl[static_cast<std::size_t>(model->actuator_ctrladr[id])] ==
              commands[static_cast<std::size_t>(i)][k]);
    }
  }
  const ReplayResult result = replay(reader);
  CHECK(result.identical());
  CHECK(result.compared_steps == kSteps - kFirst);
  CHECK(drive_by_log(reader, file, {}, 0).equal_steps == kSteps - kFirst);

  // Another robot gives other commands; another link cannot be.
  const std::string table = "[controller]\n";
  folder.write("other.toml",
               std::string(c.arm).replace(c.arm.find(table), table.size(), table + c.other + "\n"));
  const DriveComparison other = drive_by_log(reader, folder.path() / "other.toml", {}, 0);
  CHECK(other.equal_steps < other.steps);
  CHECK(other.first_step >= 0);
  DriveOptions late;
  late.link.delay = 0.01;
  CHECK_THROWS_WITH(drive_by_log(reader, file, late, 0),
                    Catch::Contains("the log of a robot has its link and its limits"));
}

TEST_CASE("robot log: has the readings as they came and the pose that was estimated", "[drive]") {
  const Case c = GENERATE(from_range(cases()));
  CAPTURE(c.name);
  const TemporaryFolder folder;
  folder.write("arm.toml", c.arm);
  const auto file = folder.path() / "arm.toml", recording = folder.path() / "log.h5";
  WanderingRobot drive(file);
  DriveRecorder recorder(file, recording, "a link", "command", drive.loop, drive.settings);
  std::vector<double> tip_errors;
  std::vector<std::vector<std::array<double, 2>>> joints;
  std::vector<double> first_readings, received;
  double newest = 0.0;
  for (int i = 0; i < kSteps; ++i) {
    recorder.take(drive.step(i));
    if (i < kFirst) continue;
    joints.emplace_back(drive.driver.joints().size());
    drive.driver.joint_states(joints.back());
    tip_errors.push_back(drive.driver.report().tip_error);
    if (drive.any) newest = drive.readings[0];
    first_readings.push_back(newest);
    received.push_back(drive.any ? 1.0 : 0.0);
  }
  REQUIRE(recorder.close("done").empty());

  RolloutReader reader(recording);
  const ModelPtr model = recorded_model(reader);
  const auto address = [&](const std::string& sensor) {
    const int id = mj_name2id(model.get(), mjOBJ_SENSOR, sensor.c_str());
    REQUIRE(id >= 0);
    return static_cast<std::size_t>(model->sensor_adr[id]);
  };
  const std::string name = drive.driver.ports().channels[0].name;
  const std::size_t reading = address(name + "_reading"), ideal = address(name);
  for (std::int64_t i = 0; i < reader.row_count(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const RolloutReader::Row& row = reader.row(i);
    REQUIRE(row.sensordata[address("driver_received")] == received[k]);
    if (std::isfinite(first_readings[k])) REQUIRE(row.sensordata[reading] == first_readings[k]);
    REQUIRE(std::isnan(row.sensordata[ideal]));
    const std::vector<std::string> names = drive.driver.joints();
    for (std::size_t j = 0; j < names.size(); ++j) {
      const int id = mj_name2id(model.get(), mjOBJ_JOINT, names[j].c_str());
      REQUIRE(row.qpos[static_cast<std::size_t>(model->jnt_qposadr[id])] == joints[k][j][0]);
      REQUIRE(row.qvel[static_cast<std::size_t>(model->jnt_dofadr[id])] == joints[k][j][1]);
    }
    if (mj_name2id(model.get(), mjOBJ_SENSOR, "tip_error") >= 0)
      REQUIRE(row.sensordata[address("tip_error")] == tip_errors[k]);
  }
  const auto names = nlohmann::json::parse(reader.attributes().at("sensors"));
  for (const auto& sensor : names) CHECK(sensor.at("name") != name);
}

TEST_CASE("robot log: shows the arm that the readings are of", "[drive]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", sections() + kReach + kTracker + kBends);
  const auto file = folder.path() / "arm.toml", recording = folder.path() / "log.h5";
  RunOptions options;
  options.changes.duration = 1.0;
  options.recording = folder.path() / "run.h5";
  REQUIRE(run_experiment(load_experiment(file), options).outcome == Outcome::Done);
  RolloutReader run(options.recording);
  const ModelPtr model = recorded_model(run);

  WanderingRobot drive(file);
  drive.settings.driver = {.timestep = model->opt.timestep};
  ArmDriver driver(load_as<ContinuumDescription>(file), drive.settings.driver);
  DriveLoop loop(driver, drive.settings.safety);
  RobotMessage message(driver.ports()), robot_side(driver.ports());
  DriveRecorder recorder(file, recording, "a link", "", loop, drive.settings);
  std::vector<double> numbers(message.size());
  for (std::int64_t i = 1; i < run.row_count(); ++i) {
    const RolloutReader::Row& row = run.row(i);
    std::vector<double> readings;
    for (const RobotPorts::Channel& channel : driver.ports().channels) {
      const int id = mj_name2id(model.get(), mjOBJ_SENSOR, (channel.name + "_reading").c_str());
      REQUIRE(id >= 0);
      for (int k = 0; k < channel.width; ++k)
        readings.push_back(row.sensordata[static_cast<std::size_t>(model->sensor_adr[id] + k)]);
    }
    const auto arrived = std::make_unique<bool[]>(driver.ports().sensor_count);
    std::fill_n(arrived.get(), driver.ports().sensor_count, true);
    const Eigen::Isometry3d target(
        Eigen::Translation3d(row.mocap_pos[0], row.mocap_pos[1], row.mocap_pos[2]));
    robot_side.pack(readings, {arrived.get(), driver.ports().sensor_count}, {}, row.ctrl, &target,
                    numbers);
    const DriveLoop::Message received = message.unpack(numbers);
    std::vector<double> commands = row.ctrl;
    (void)loop.step(row.time, &received, commands);
    recorder.take({.time = row.time, .message = numbers, .commands = commands});
  }
  REQUIRE(recorder.close("done").empty());
  RolloutReader log(recording);
  REQUIRE(log.row_count() == run.row_count() - 1);
  const DataPtr data = make_data(*model);
  const int tip = mj_name2id(model.get(), mjOBJ_SITE, "tip");
  const auto tip_of = [&](const std::vector<double>& qpos) {
    std::ranges::copy(qpos, data->qpos);
    mj_kinematics(model.get(), data.get());
    return Eigen::Vector3d(data->site_xpos + 3 * tip);
  };
  const Eigen::Vector3d start = tip_of(run.row(0).qpos);
  const Eigen::Vector3d end = tip_of(run.row(run.row_count() - 1).qpos);
  REQUIRE((end - start).norm() > 0.02);
  for (std::int64_t i = 100; i < log.row_count(); ++i)
    REQUIRE((tip_of(log.row(i).qpos) - tip_of(run.row(i).qpos)).norm() < 0.01 * 0.2);
  CHECK(log.row(log.row_count() - 1).mocap_pos == run.row(run.row_count() - 1).mocap_pos);
}

TEST_CASE("robot log: taking a step over allocates nothing; nothing has come, no rows", "[drive]") {
  const TemporaryFolder folder;
  folder.write("arm.toml", cases()[0].arm);
  const auto file = folder.path() / "arm.toml";
  WanderingRobot drive(file);
  DriveRecorder recorder(file, folder.path() / "log.h5", "a link", "", drive.loop, drive.settings);
  LoopStep silence;
  silence.commands = drive.commands;
  recorder.take(silence);
  SECTION("a step") {
    const LoopStep step = drive.step(kFirst);
    const AllocationCounter counter;
    recorder.take(step);
    CHECK(counter.count() == 0);
  }
  SECTION("nothing") {
    CHECK(recorder.close("done").find("there is no log") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "log.h5"));
  }
}
