// What of ros2_control's interface (Jazzy) the controller of links/ros2_control uses, for its test.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#define RCLCPP_ERROR(logger, ...) ((logger).error(__VA_ARGS__))

namespace rclcpp {

struct Logger {
  std::string* last;
  void error(const char* /*format*/, const char* text) const { *last = text; }
};
class Time {
 public:
  explicit Time(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  double seconds_;
};
struct Duration {};
struct SystemDefaultsQoS {};
template <class Message>
struct Subscription {
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(const Message&)> callback;
};

using Value = std::variant<std::string, std::vector<std::string>, double>;
class Parameter {
 public:
  explicit Parameter(Value value) : value_(std::move(value)) {}
  [[nodiscard]] std::string as_string() const { return std::get<std::string>(value_); }
  [[nodiscard]] double as_double() const { return std::get<double>(value_); }
  [[nodiscard]] std::vector<std::string> as_string_array() const {
    return std::get<std::vector<std::string>>(value_);
  }

 private:
  Value value_;
};

struct Node {
  std::map<std::string, Value> parameters;
  std::string error, topic;
  std::shared_ptr<void> subscription;

  [[nodiscard]] Logger get_logger() { return {&error}; }
  [[nodiscard]] Parameter get_parameter(const std::string& name) const {
    return Parameter(parameters.at(name));
  }
  template <class Message, class Callback>
  typename Subscription<Message>::SharedPtr create_subscription(const std::string& name,
                                                                SystemDefaultsQoS /*qos*/,
                                                                Callback callback) {
    auto made = std::make_shared<Subscription<Message>>(Subscription<Message>{callback});
    topic = name;
    subscription = made;
    return made;
  }
};

}  // namespace rclcpp

namespace rclcpp_lifecycle {
struct State {};
}  // namespace rclcpp_lifecycle

namespace hardware_interface {

class LoanedStateInterface {
 public:
  explicit LoanedStateInterface(double* value) : value_(value) {}
  [[nodiscard]] std::optional<double> get_optional() const { return *value_; }

 protected:
  double* value_;
};
class LoanedCommandInterface : public LoanedStateInterface {
 public:
  using LoanedStateInterface::LoanedStateInterface;
  [[nodiscard]] bool set_value(double value) {
    *value_ = value;
    return true;
  }
};

}  // namespace hardware_interface

namespace controller_interface {

enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration {
  interface_configuration_type type;
  std::vector<std::string> names;
};

class ControllerInterface {
 public:
  virtual ~ControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State& previous) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State& previous) = 0;
  virtual return_type update(const rclcpp::Time& time, const rclcpp::Duration& period) = 0;

  void assign_interfaces(std::vector<hardware_interface::LoanedCommandInterface> commands,
                         std::vector<hardware_interface::LoanedStateInterface> states) {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }
  [[nodiscard]] std::shared_ptr<rclcpp::Node> get_node() const { return node_; }
  [[nodiscard]] unsigned get_update_rate() const { return 250; }

 protected:
  template <class T>
  void auto_declare(const std::string& name, const T& value) {
    node_->parameters.try_emplace(name, value);
  }
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

 private:
  std::shared_ptr<rclcpp::Node> node_ = std::make_shared<rclcpp::Node>();
};

}  // namespace controller_interface
