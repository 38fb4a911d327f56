// The controller of links/ros2_control with a stand-in for ros2_control: its steps are those of a
// DriveLoop, and names that do not fit are refused.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "drive/arm_driver.hpp"
#include "links/ros2_control/tendril_controller.cpp"  // NOLINT: a plugin has no header
#include "tests/drive/driven_arm.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace tendril;
using namespace tendril_ros2_control;

namespace {

constexpr double kTimestep = 1.0 / 250.0;
constexpr int kSteps = 400;

const std::string kArm = test::servo_sections(2) + R"([controller]
plugin = "tendril.reach"
target = "target"
velocity_feed_forward = false
gravity_compensation = false
)" + test::kEncoder + R"([[sensor]]
kind = "tip_tracker"
name = "tracker"
rate = 50
noise = [0.001, 0.01]
)";

/// Sections that go where they are commanded to be; a tracker that does not report.
struct Plant {
  std::array<double, 11> readings{};
  std::array<double, 4> commands{};

  Plant() { std::fill(readings.begin() + 4, readings.end(), std::nan("")); }
  void move() {
    constexpr double kSigns[] = {1.0, -1.0, 1.0, -1.0};
    for (std::size_t i = 0; i < 4; ++i)
      readings[i] += kTimestep / 0.02 * (kSigns[i] * commands[i] - readings[i]);
  }
};

struct LoadedController {
  test::TemporaryFolder folder;
  TendrilController own;
  Plant plant;
  std::shared_ptr<rclcpp::Node> node = own.get_node();

  LoadedController() {
    REQUIRE(own.on_init() == CallbackReturn::SUCCESS);
    node->parameters["robot_file"] = folder.write("arm.toml", kArm).string();
    std::vector<std::string> readings;
    for (int i = 0; i < 11; ++i) readings.push_back("arm/reading" + std::to_string(i));
    node->parameters["readings"] = readings;
    node->parameters["commands"] = std::vector<std::string>{"a/p", "b/p", "c/p", "d/p"};
  }
  void begin() {
    REQUIRE(own.on_configure({}) == CallbackReturn::SUCCESS);
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    for (double& command : plant.commands) commands.emplace_back(&command);
    for (double& reading : plant.readings) states.emplace_back(&reading);
    own.assign_interfaces(std::move(commands), std::move(states));
    REQUIRE(own.on_activate({}) == CallbackReturn::SUCCESS);
  }
  void send_target() const {
    PoseStamped message;
    message.pose.position = {0.06, 0.03, 0.17};
    CHECK(node->topic == "~/target");
    static_cast<rclcpp::Subscription<PoseStamped>*>(node->subscription.get())->callback(message);
  }
};

}  // namespace

TEST_CASE("ros2_control: its steps are those of a drive loop", "[links]") {
  LoadedController controller;
  controller.begin();
  CHECK(controller.own.command_interface_configuration().names.size() == 4);
  CHECK(controller.own.state_interface_configuration().names.size() == 11);
  ArmDriver driver(load_as<ContinuumDescription>(controller.folder.path() / "arm.toml"),
                   {.timestep = kTimestep, .are_forces_late = false});
  DriveLoop loop(driver, {.speed_limit = 1.0});
  Plant plant;
  const std::array<bool, 6> all{true, true, true, true, true, true};
  const Eigen::Isometry3d target(Eigen::Translation3d(0.06, 0.03, 0.17));
  for (int i = 0; i < kSteps; ++i) {
    if (i == 10) controller.send_target();
    const rclcpp::Time time(100.0 + i * kTimestep);
    REQUIRE(controller.own.update(time, {}) == return_type::OK);
    DriveLoop::Message message{.readings = plant.readings, .arrived = std::span(all)};
    if (i >= 10) message.target = &target;
    (void)loop.step(time.seconds() - 100.0, &message, plant.commands);
    REQUIRE(controller.plant.commands == plant.commands);
    plant.move();
    controller.plant.move();
  }
  CHECK(Eigen::Map<Eigen::Vector4d>(plant.commands.data()).norm() > 0.2);  // it has moved
  CHECK((driver.seen().X_BE.translation() - target.translation()).norm() < 2e-3);
}

TEST_CASE("ros2_control: without readings it holds, and a step allocates nothing", "[links]") {
  LoadedController controller;
  controller.begin();
  controller.send_target();
  int i = 0;
  const auto step = [&] { return controller.own.update(rclcpp::Time(i++ * kTimestep), {}); };
  for (int k = 0; k < 100; ++k) {
    REQUIRE(step() == return_type::OK);
    controller.plant.move();
  }
  const auto held = controller.plant.commands;
  controller.plant.readings.fill(std::nan(""));
  const test::AllocationCounter counter;
  for (int k = 0; k < 100; ++k) (void)step();
  CHECK(counter.count() == 0);
  const auto later = controller.plant.commands;
  for (int k = 0; k < 100; ++k) (void)step();
  CHECK(controller.plant.commands == later);  // 0.1 s after the last reading nothing moves
  CHECK(held != std::array<double, 4>{});
}

TEST_CASE("ros2_control: what does not fit is refused in one line", "[links]") {
  LoadedController controller;
  const auto refuses = [&](const std::string& text) {
    CHECK(controller.own.on_configure({}) == CallbackReturn::ERROR);
    CHECK_THAT(controller.node->error, Catch::Contains(text));
    CHECK(controller.node->error.find('\n') == std::string::npos);
  };
  controller.node->parameters["commands"] = std::vector<std::string>{"a/p"};
  refuses("commands: has 1 names: must have one for each of s1_y s1_x s2_y s2_x");
  controller.node->parameters["readings"] = std::vector<std::string>{};
  refuses("readings: has 0 names: must have one for each number of bend_s1_y (1)");
  controller.node->parameters["robot_file"] = std::string("none.toml");
  refuses("none.toml");
}
