#pragma once

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drive/drive_loop.hpp"
#include "drive/real_time_loop.hpp"
#include "drive/robot_message.hpp"
#include "python/src/robots.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {

/// The log of a driver: of tendril._sim, because it draws the robot with the engine.
class StepLog {
 public:
  StepLog() = default;
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;
  virtual ~StepLog() = default;
  virtual void take(const LoopStep& step) = 0;
  /// Returns what went wrong; empty: nothing did.
  virtual std::string close(const std::string& outcome) = 0;
};

/// A driver, the newest readings of its robot, and the log of what it does.
class PyDriver {
 public:
  PyDriver(const std::filesystem::path& file, const ArmDriver::Options& options,
           const DriveSafety& safety)
      : file_(file),
        options_(options),
        safety_(safety),
        driver_(load_as<ContinuumDescription>(file), options),
        loop_(driver_, safety),
        message_(driver_),
        readings_(driver_.reading_count(), 0.0),
        arrived_(std::make_unique<bool[]>(driver_.sensor_count())),
        commands_(driver_.actuators().size(), 0.0) {}
  ~PyDriver() { static_cast<void>(end_log()); }
  PyDriver(const PyDriver&) = delete;
  PyDriver& operator=(const PyDriver&) = delete;

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  [[nodiscard]] const ArmDriver::Options& options() const noexcept { return options_; }
  [[nodiscard]] const DriveSafety& safety() const noexcept { return safety_; }
  [[nodiscard]] const DriveLoop& loop() const noexcept { return loop_; }
  void use_log(std::unique_ptr<StepLog> log) {
    log_ = std::move(log);
    numbers_.resize(message_.size());
  }

  [[nodiscard]] std::vector<std::string> readings() const {
    std::vector<std::string> names;
    for (const ArmDriver::Channel& channel : driver_.channels()) names.push_back(channel.name);
    return names;
  }
  [[nodiscard]] std::vector<int> widths() const {
    std::vector<int> all;
    for (const ArmDriver::Channel& channel : driver_.channels()) all.push_back(channel.width);
    return all;
  }
  [[nodiscard]] std::vector<std::string> actuators() const {
    std::vector<std::string> names;
    for (const ArmDriver::Actuator& actuator : driver_.actuators()) names.push_back(actuator.name);
    return names;
  }
  [[nodiscard]] nb::object ranges() const {
    Output out({driver_.actuators().size()}, Axes{2});
    double* next = out.data();
    for (const ArmDriver::Actuator& actuator : driver_.actuators())
      for (const double limit : actuator.range) *next++ = limit;
    return out.take();
  }
  [[nodiscard]] nb::object commands() const { return array(commands_); }
  void set_commands(nb::handle value) {
    if (log_ && loop_.state() != DriveState::Waiting)
      throw ModelError("commands: must be set before the first message of a driver with a log");
    const Input input("commands", value, Axes{commands_.size()});
    input.require_leading({});
    input.require_finite();
    std::ranges::copy(input.all(), commands_.begin());
  }
  [[nodiscard]] nb::object q() const {
    const Eigen::VectorXd& q = driver_.seen().q;
    return array({q.data(), static_cast<std::size_t>(q.size())});
  }
  [[nodiscard]] nb::object tip() const {
    Output out({}, Axes{4, 4});
    write_pose(driver_.seen().X_BE, out.data());
    return out.take();
  }
  [[nodiscard]] const char* state() const { return to_string(loop_.state()); }
  [[nodiscard]] const char* status() const { return to_string(driver_.report().status); }
  void stop() { loop_.stop(); }
  void reset() {
    if (log_) throw ModelError("reset: a log is of one drive: make another driver");
    loop_.reset();
  }
  void close() {
    const std::string problem = end_log();
    if (problem.empty()) return;
    const nb::object type = nb::module_::import_("tendril._errors").attr("RecordingError");
    PyErr_SetString(type.ptr(), problem.c_str());
    throw nb::python_error();
  }

  nb::object step(double time, const std::optional<nb::dict>& readings, nb::handle target) {
    if (!std::isfinite(time)) throw ModelError("time: must be finite");
    DriveLoop::Message message{.readings = readings_,
                               .arrived = {arrived_.get(), driver_.sensor_count()}};
    if (readings) take(*readings);
    Eigen::Isometry3d X_BG = Eigen::Isometry3d::Identity();
    if (!target.is_none()) {
      const Input pose("target", target, Axes{4, 4});
      pose.require_leading({});
      pose.require_finite();
      X_BG = pose_of(pose.all());
      message.target = &X_BG;
    }
    const auto begin = std::chrono::steady_clock::now();
    std::span<double> numbers;
    if (log_ && readings) {
      numbers = numbers_;
      message_.pack(readings_, message.arrived, {}, commands_, message.target, numbers);
    }
    (void)loop_.step(time, readings ? &message : nullptr, commands_);
    if (log_) {
      const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - begin;
      const nb::gil_scoped_release unlocked;
      log_->take(
          {.time = time, .duration = duration.count(), .message = numbers, .commands = commands_});
    }
    return commands();
  }

  static ArmDriver::Options options_of(double timestep, double link_delay, nb::handle orientation,
                                       nb::handle gravity) {
    ArmDriver::Options all{
        .timestep = timestep, .link_delay = link_delay, .are_forces_late = false};  // of a robot
    if (!gravity.is_none()) {
      const Input g("gravity", gravity, Axes{3});
      g.require_leading({});
      g.require_finite();
      all.gravity = Eigen::Vector3d(g.all().data());
    }
    if (orientation.is_none()) return all;
    const Input R("orientation", orientation, Axes{3, 3});
    R.require_leading({});
    R.require_finite();
    all.R_WB = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(R.all().data());
    constexpr double kTolerance = 1e-6;
    if (!(all.R_WB.transpose() * all.R_WB).isIdentity(kTolerance) || all.R_WB.determinant() < 0.0)
      throw ModelError("orientation: must be a rotation matrix");
    return all;
  }

 private:
  /// Returns what went wrong.
  std::string end_log() {
    if (!log_) return {};
    const nb::gil_scoped_release unlocked;
    const std::string problem =
        log_->close(loop_.state() == DriveState::Running ? "done" : to_string(loop_.state()));
    log_.reset();
    return problem;
  }

  static nb::object array(std::span<const double> numbers) {
    Output out({numbers.size()}, {});
    std::ranges::copy(numbers, out.data());
    return out.take();
  }

  /// Takes the readings that have come. The first message has those of the actuators.
  void take(const nb::dict& given) {
    std::size_t found = 0, first = 0, sensor = 0;
    for (const ArmDriver::Channel& channel : driver_.channels()) {
      const auto width = static_cast<std::size_t>(channel.width);
      const bool is_given = given.contains(channel.name.c_str());
      if (is_given) {
        ++found;
        const nb::object value = given[channel.name.c_str()];
        const Input input(channel.name.c_str(), value, channel.width == 1 ? Axes{} : Axes{width});
        input.require_leading({});
        std::ranges::copy(input.all(), readings_.begin() + static_cast<std::ptrdiff_t>(first));
      } else if (!channel.is_sensor && loop_.state() == DriveState::Waiting) {
        throw ModelError("readings: has no " + channel.name +
                         ": the first message must have those of the actuators");
      }
      if (channel.is_sensor) arrived_[sensor++] = is_given;
      first += width;
    }
    if (found == given.size()) return;
    for (const auto [key, value] : given) {
      const auto name = nb::cast<std::string>(nb::str(key));
      if (std::ranges::none_of(driver_.channels(), [&](const auto& c) { return c.name == name; }))
        throw ModelError("readings: " + name + ": is no reading of the robot");
    }
  }

  std::filesystem::path file_;
  ArmDriver::Options options_;
  DriveSafety safety_;
  ArmDriver driver_;
  DriveLoop loop_;
  RobotMessage message_;         // for the log
  std::vector<double> numbers_;  // of it
  std::vector<double> readings_;
  std::unique_ptr<bool[]> arrived_;
  std::vector<double> commands_;
  std::unique_ptr<StepLog> log_;
};

}  // namespace tendril::python
