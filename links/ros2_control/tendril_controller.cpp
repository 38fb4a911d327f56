// A controller of ros2_control that runs the controller of a robot file;
// docs/guide/ros2_control.md.
#include <algorithm>
#include <controller_interface/controller_interface.hpp>
#include <geometry_msgs/msg/pose_stamped.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <pluginlib/class_list_macros.hpp>
#include <realtime_tools/realtime_buffer.hpp>
#include <string>
#include <vector>

#include "drive/drive_loop.hpp"
#include "tendril/model_error.hpp"

namespace tendril_ros2_control {

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using geometry_msgs::msg::PoseStamped;

/// The state interfaces `readings` are the numbers of the robot's readings, the command interfaces
/// `commands` its actuators, both in the order of the robot file. `update` allocates nothing.
class TendrilController : public controller_interface::ControllerInterface {
 public:
  CallbackReturn on_init() override {
    auto_declare<std::string>("robot_file", "");
    auto_declare<std::vector<std::string>>("readings", {});
    auto_declare<std::vector<std::string>>("commands", {});
    auto_declare<double>("link_delay", 0.0);
    auto_declare<double>("stale_after", 0.1);
    auto_declare<double>("speed_limit", 1.0);
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override {
    return {controller_interface::interface_configuration_type::INDIVIDUAL, command_names_};
  }
  InterfaceConfiguration state_interface_configuration() const override {
    return {controller_interface::interface_configuration_type::INDIVIDUAL, reading_names_};
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State& /*previous*/) override {
    const auto node = get_node();
    const auto number = [&](const char* name) { return node->get_parameter(name).as_double(); };
    try {
      reading_names_ = node->get_parameter("readings").as_string_array();
      command_names_ = node->get_parameter("commands").as_string_array();
      const std::string file = node->get_parameter("robot_file").as_string();
      driver_ = tendril::make_driver(tendril::load_robot(file),
                                     tendril::ComputerOptions{.timestep = 1.0 / get_update_rate(),
                                                              .link_delay = number("link_delay"),
                                                              .are_forces_late = false});
      loop_ = std::make_unique<tendril::DriveLoop>(
          *driver_, tendril::DriveSafety{.stale_after = number("stale_after"),
                                         .speed_limit = number("speed_limit")});
      require_names();
    } catch (const tendril::ModelError& error) {
      RCLCPP_ERROR(node->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    readings_.assign(reading_names_.size(), 0.0);
    before_ = readings_;
    commands_.assign(command_names_.size(), 0.0);
    arrived_ = std::make_unique<bool[]>(driver_->ports().sensor_count);
    has_rate_.clear();
    for (const tendril::RobotSensor& sensor : driver_->sensors())
      has_rate_.insert(has_rate_.end(), sensor.sensors.size(), sensor.rate > 0.0);
    target_ = node->create_subscription<PoseStamped>(
        "~/target", rclcpp::SystemDefaultsQoS(),
        [this](const PoseStamped& message) { newest_target_.writeFromNonRT(message); });
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State& /*previous*/) override {
    loop_->reset();
    start_.reset();
    newest_target_.writeFromNonRT(std::nullopt);
    return CallbackReturn::SUCCESS;
  }

  return_type update(const rclcpp::Time& time, const rclcpp::Duration& /*period*/) override {
    if (!start_) start_ = time.seconds();
    const bool any = read();
    for (std::size_t i = 0; i < commands_.size(); ++i)
      if (const auto now = command_interfaces_[i].get_optional()) commands_[i] = *now;
    tendril::DriveLoop::Message message{.readings = readings_,
                                        .arrived = {arrived_.get(), driver_->ports().sensor_count}};
    Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();
    if (const std::optional<PoseStamped>& target = *newest_target_.readFromRT()) {
      const auto& [position, q] = target->pose;
      X_BG.translation() = Eigen::Vector3d(position.x, position.y, position.z);
      X_BG.linear() = Eigen::Quaterniond(q.w, q.x, q.y, q.z).normalized().toRotationMatrix();
      message.target = &X_BG;
    }
    if (loop_->step(time.seconds() - *start_, any ? &message : nullptr, commands_))
      for (std::size_t i = 0; i < commands_.size(); ++i)
        if (!command_interfaces_[i].set_value(commands_[i])) return return_type::ERROR;
    return loop_->state() == tendril::DriveState::Fault ? return_type::ERROR : return_type::OK;
  }

 private:
  /// Throws ModelError for other names than the robot has numbers.
  void require_names() const {
    std::string readings, commands;
    for (const auto& channel : driver_->ports().channels)
      readings += " " + channel.name + " (" + std::to_string(channel.width) + ")";
    for (const auto& actuator : driver_->ports().actuators) commands += " " + actuator.name;
    if (reading_names_.size() != driver_->ports().reading_count)
      throw tendril::ModelError("readings: has " + std::to_string(reading_names_.size()) +
                                " names: must have one for each number of" + readings);
    if (command_names_.size() != driver_->ports().actuators.size())
      throw tendril::ModelError("commands: has " + std::to_string(command_names_.size()) +
                                " names: must have one for each of" + commands);
  }

  /// Reads the state interfaces. Of a sensor with a `rate`, a reading is new when it has changed.
  /// Returns whether there is any.
  bool read() noexcept {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    bool any = false;
    for (std::size_t i = 0; i < readings_.size(); ++i) {
      before_[i] = readings_[i];
      readings_[i] = state_interfaces_[i].get_optional().value_or(kNone);
      any |= std::isfinite(readings_[i]);
    }
    std::size_t first = 0, sensor = 0;
    for (const auto& channel : driver_->ports().channels) {
      const auto width = static_cast<std::size_t>(channel.width);
      if (channel.is_sensor) {
        const bool has_changed = !std::equal(readings_.begin() + static_cast<long>(first),
                                             readings_.begin() + static_cast<long>(first + width),
                                             before_.begin() + static_cast<long>(first));
        arrived_[sensor] = has_changed || !has_rate_[sensor];
        ++sensor;
      }
      first += width;
    }
    return any;
  }

  std::unique_ptr<tendril::RobotDriver> driver_;
  std::unique_ptr<tendril::DriveLoop> loop_;
  std::vector<std::string> reading_names_, command_names_;
  std::vector<double> readings_, before_, commands_;
  std::vector<bool> has_rate_;  // of each sensor
  std::unique_ptr<bool[]> arrived_;
  std::optional<double> start_;
  rclcpp::Subscription<PoseStamped>::SharedPtr target_;
  realtime_tools::RealtimeBuffer<std::optional<PoseStamped>> newest_target_;
};

}  // namespace tendril_ros2_control

PLUGINLIB_EXPORT_CLASS(tendril_ros2_control::TendrilController,
                       controller_interface::ControllerInterface)
