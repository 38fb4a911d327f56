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
#include <vector>

#include "drive/robot_message.hpp"
#include "python/src/robots.hpp"
#include "simulation/drive/drive_recorder.hpp"
#include "tendril/model_error.hpp"

namespace tendril::python {
namespace {

/// A driver, the newest readings of its robot, and the log of what it does.
class PyDriver {
 public:
  PyDriver(const std::filesystem::path& file, const ArmDriver::Options& options,
           const DriveSafety& safety, const std::optional<std::filesystem::path>& log)
      : driver_(load_as<ContinuumDescription>(file), options),
        loop_(driver_, safety),
        message_(driver_),
        readings_(driver_.reading_count(), 0.0),
        arrived_(std::make_unique<bool[]>(driver_.sensor_count())),
        commands_(driver_.actuators().size(), 0.0) {
    if (!log) return;
    numbers_.resize(message_.size());
    recorder_ = std::make_unique<simulation::DriveRecorder>(
        file, *log, "td.Driver", "", loop_,
        simulation::DriverSettings{
            .robot = driver_.robot().text, .driver = options, .safety = safety});
  }
  ~PyDriver() { static_cast<void>(end_log()); }
  PyDriver(const PyDriver&) = delete;
  PyDriver& operator=(const PyDriver&) = delete;

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
    if (recorder_ && loop_.state() != DriveState::Waiting)
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
    if (recorder_) throw ModelError("reset: a log is of one drive: make another driver");
    loop_.reset();
  }
  void close() {
    const std::string problem = end_log();
    if (!problem.empty()) throw RolloutError(problem);
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
    if (!recorder_) {
      (void)loop_.step(time, readings ? &message : nullptr, commands_);
      return commands();
    }
    const auto begin = std::chrono::steady_clock::now();
    std::span<double> numbers;
    if (readings) {
      numbers = numbers_;
      message_.pack(readings_, message.arrived, {}, commands_, message.target, numbers);
    }
    (void)loop_.step(time, readings ? &message : nullptr, commands_);
    const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - begin;
    {
      const nb::gil_scoped_release unlocked;
      recorder_->wait_for_room();
    }
    recorder_->take(
        {.time = time, .duration = duration.count(), .message = numbers, .commands = commands_});
    return commands();
  }

  static ArmDriver::Options options(double timestep, double link_delay, nb::handle orientation,
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
    if (!recorder_) return {};
    const nb::gil_scoped_release unlocked;
    const std::string problem =
        recorder_->close(loop_.state() == DriveState::Running ? "done" : to_string(loop_.state()));
    recorder_.reset();
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

  ArmDriver driver_;
  DriveLoop loop_;
  RobotMessage message_;         // for the log
  std::vector<double> numbers_;  // of it
  std::vector<double> readings_;
  std::unique_ptr<bool[]> arrived_;
  std::vector<double> commands_;
  std::unique_ptr<simulation::DriveRecorder> recorder_;
};

}  // namespace

void bind_driver(nb::module_& module) {
  nb::class_<PyDriver>(
      module, "Driver",
      "The controller of a robot file on the robot's own computer: readings in, commands of the "
      "actuators\nout, once in a step. As `tendril drive` and `tendril::DriveLoop`; without the "
      "engine.")
      .def(
          "__init__",
          [](PyDriver* self, const std::filesystem::path& file, double timestep, double link_delay,
             double stale_after, std::optional<double> speed_limit, nb::object orientation,
             nb::object gravity, const std::optional<std::filesystem::path>& log) {
            DriveSafety safety{.stale_after = stale_after};
            if (speed_limit) safety.speed_limit = *speed_limit;
            new (self) PyDriver(file, PyDriver::options(timestep, link_delay, orientation, gravity),
                                safety, log);
          },
          nb::arg("file"), nb::kw_only(), nb::arg("timestep"), nb::arg("link_delay") = 0.0,
          nb::arg("stale_after") = 0.1, nb::arg("speed_limit") = 1.0,
          nb::arg("orientation") = nb::none(), nb::arg("gravity") = nb::none(),
          nb::arg("log") = nb::none(),
          nb::sig("def __init__(self, file: str | os.PathLike[str], *, timestep: float, "
                  "link_delay: float = 0.0, stale_after: float = 0.1, speed_limit: float | None = "
                  "1.0, orientation: " TENDRIL_LIKE " | None = None, gravity: " TENDRIL_LIKE
                  " | None = None, log: str | os.PathLike[str] | None = None) -> None"),
          ":param file: robot file of a continuum arm with sensors and a controller\n"
          ":param timestep: of the steps, s\n"
          ":param link_delay: from a reading to when its command acts: the link's, both ways, s\n"
          ":param stale_after: commands are held without a message for so long, s\n"
          ":param speed_limit: largest speed of a command, ranges of its actuator per second; "
          "None: none\n"
          ":param orientation: (3, 3): of the base in the world; default: upright\n"
          ":param gravity: (3,): in the world, m/s^2; default: 0, 0, -9.81\n"
          ":param log: recording that the steps are written to, as by `tendril drive`, from the "
          "first message\non; it is whole after `close`; None: none\n"
          ":raises ModelError: another file, or a controller that needs a scene or contacts")
      .def_prop_ro("readings", &PyDriver::readings, nb::sig("def readings(self) -> list[str]"),
                   "Names: of the sensors as in recordings, then of what the actuators tell: feed, "
                   "feed_rate, spin, spin_rate, pressures of chambers.")
      .def_prop_ro("widths", &PyDriver::widths, nb::sig("def widths(self) -> list[int]"),
                   "Numbers of each reading; an orientation is a quaternion w, x, y, z.")
      .def_prop_ro("actuators", &PyDriver::actuators, nb::sig("def actuators(self) -> list[str]"),
                   "Names, in the order of the commands.")
      .def_prop_ro("ranges", &PyDriver::ranges, nb::sig("def ranges(self) -> " TENDRIL_ARRAY),
                   "(actuators, 2): limits of the commands; infinite: none.")
      .def_prop_rw("commands", &PyDriver::commands, &PyDriver::set_commands,
                   nb::for_getter(nb::sig("def commands(self) -> " TENDRIL_ARRAY)),
                   nb::for_setter(nb::sig("def commands(self, value: " TENDRIL_LIKE ") -> None")),
                   "(actuators,): in force. To be set to where the actuators are before the first "
                   "step.")
      .def_prop_ro("q", &PyDriver::q, nb::sig("def q(self) -> " TENDRIL_ARRAY),
                   "Coordinates u, v (and s) of the sections as estimated, rad, m.")
      .def_prop_ro("tip", &PyDriver::tip, nb::sig("def tip(self) -> " TENDRIL_ARRAY),
                   "(4, 4): pose of the tip as estimated, base frame.")
      .def_prop_ro("state", &PyDriver::state, nb::sig("def state(self) -> str"),
                   "\"running\", \"waiting for the robot\", \"stopped\", or why commands are held.")
      .def_prop_ro("status", &PyDriver::status, nb::sig("def status(self) -> str"),
                   "What the controller says of its task: \"working\", \"finished\", ...")
      .def("step", &PyDriver::step, nb::arg("time"), nb::arg("readings") = nb::none(),
           nb::arg("target") = nb::none(),
           nb::sig("def step(self, time: float, readings: dict[str, " TENDRIL_LIKE
                   "] | None = None, target: " TENDRIL_LIKE " | None = None) -> " TENDRIL_ARRAY),
           "Makes a step.\n\n"
           ":param time: s, from any start\n"
           ":param readings: those that have come since the last step; None: no message has\n"
           ":param target: (4, 4): its pose in the frame of the base; None: as before\n"
           ":returns: (actuators,): the commands, held where the state is not \"running\"\n"
           ":raises ModelError: a name that is no reading, a wrong shape")
      .def("stop", &PyDriver::stop, nb::sig("def stop(self) -> None"),
           "Emergency stop: commands are held until a reset.")
      .def("reset", &PyDriver::reset, nb::sig("def reset(self) -> None"),
           "Back to before the first step; commands stay. Not with a log.")
      .def("close", &PyDriver::close, nb::sig("def close(self) -> None"),
           "Ends the log; the driver goes on without one.\n\n"
           ":raises RecordingError: it is not whole, or no message has come and there is none");
}

}  // namespace tendril::python
