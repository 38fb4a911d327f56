#pragma once

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>

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
#include "python/src/robot_readings.hpp"
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
  PyDriver(const std::filesystem::path& file, const ComputerOptions& options,
           const DriveSafety& safety)
      : file_(file),
        options_(options),
        safety_(safety),
        driver_(make_driver(load_robot(file), options)),
        loop_(*driver_, safety),
        message_(driver_->ports()),
        readings_(driver_->ports()),
        commands_(driver_->ports().actuators.size(), 0.0) {}
  ~PyDriver() { static_cast<void>(end_log()); }
  PyDriver(const PyDriver&) = delete;
  PyDriver& operator=(const PyDriver&) = delete;

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  [[nodiscard]] const ComputerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const DriveSafety& safety() const noexcept { return safety_; }
  [[nodiscard]] const DriveLoop& loop() const noexcept { return loop_; }
  void use_log(std::unique_ptr<StepLog> log) {
    log_ = std::move(log);
    numbers_.resize(message_.size());
  }

  [[nodiscard]] const RobotReadings& readings() const noexcept { return readings_; }
  [[nodiscard]] nb::object commands() const { return array(commands_); }
  void set_commands(nb::handle value) {
    if (log_ && loop_.state() != DriveState::Waiting)
      throw ModelError("commands: must be set before the first message of a driver with a log");
    RobotReadings::read_commands(value, commands_);
  }
  [[nodiscard]] nb::object q() const {
    const Eigen::VectorXd& q = driver_->q();
    return array({q.data(), static_cast<std::size_t>(q.size())});
  }
  [[nodiscard]] nb::object tip() const {
    Output out({}, Axes{4, 4});
    write_pose(driver_->places().tip, out.data());
    return out.take();
  }
  [[nodiscard]] const char* state() const { return to_string(loop_.state()); }
  [[nodiscard]] const char* status() const { return to_string(driver_->report().status); }
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
    DriveLoop::Message message{.readings = readings_.values(), .arrived = readings_.arrived()};
    if (readings) readings_.take(*readings, loop_.state() == DriveState::Waiting);
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
      message_.pack(readings_.values(), message.arrived, {}, commands_, message.target, numbers);
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

  std::filesystem::path file_;
  ComputerOptions options_;
  DriveSafety safety_;
  std::unique_ptr<RobotDriver> driver_;
  DriveLoop loop_;
  RobotMessage message_;         // for the log
  std::vector<double> numbers_;  // of it
  RobotReadings readings_;
  std::vector<double> commands_;
  std::unique_ptr<StepLog> log_;
};

}  // namespace tendril::python
