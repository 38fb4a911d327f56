#include "simulation/rollout/drive_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "simulation/drive/drive_recorder.hpp"
#include "simulation/engine/engine.hpp"
#include "simulation/rollout/recorded_model.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {

namespace {

constexpr std::int64_t kProgressRows = 100;

/// Compares the commands of a driver with recorded ones, step by step.
class Comparison {
 public:
  explicit Comparison(const RobotPorts& ports) : ports_(ports) {}

  /// @param controls  addresses of the commands in `recorded`
  void add(std::int64_t step, std::span<const double> recorded, std::span<const int> controls,
           std::span<const double> commands) {
    bool is_equal = true;
    for (std::size_t k = 0; k < controls.size(); ++k) {
      const RobotPorts::Actuator& actuator = ports_.actuators[k];
      const auto& [low, high] = actuator.range;
      const auto address = static_cast<std::size_t>(controls[k]);
      // As the engine does.
      const double then = std::clamp(recorded[address], low, high),
                   now = std::clamp(commands[k], low, high);
      if (std::bit_cast<std::uint64_t>(then) == std::bit_cast<std::uint64_t>(now)) continue;
      if (is_equal && result_.first_step < 0) {
        result_.first_step = step;
        result_.first_index = address;
        result_.first_recorded = then;
        result_.first_command = now;
      }
      is_equal = false;
      const double range = high - low;
      const double difference = std::abs(then - now) / (std::isfinite(range) ? range : 1.0);
      if (difference <= result_.largest) continue;
      result_.largest = difference;
      result_.actuator = actuator.name;
    }
    ++result_.steps;
    if (is_equal) ++result_.equal_steps;
  }
  [[nodiscard]] DriveComparison result(const DriveLoop& loop) const {
    DriveComparison result = result_;
    result.counts = loop.counts();
    return result;
  }

 private:
  const RobotPorts& ports_;
  DriveComparison result_;
};

/// A text of the recording.
std::string text_of(const RolloutReader& reader, const char* name) {
  const auto found = reader.attributes().find(name);
  return found == reader.attributes().end() ? std::string() : found->second;
}

/// First column and width of a sensor of the recorded model.
std::span<const double> numbers_of(const mjModel& m, const char* sensor,
                                   const RolloutReader::Row& row, const std::string& file) {
  const int id = mj_name2id(&m, mjOBJ_SENSOR, sensor);
  if (id < 0) throw RolloutFormatError(fmt::format("{}: sensor {}: missing", file, sensor));
  return std::span(row.sensordata)
      .subspan(static_cast<std::size_t>(m.sensor_adr[id]),
               static_cast<std::size_t>(m.sensor_dim[id]));
}

/// Gives a driver what the robot's driver was told.
DriveComparison repeat(RolloutReader& reader, RobotDescription robot,
                       const DriverSettings& settings,
                       const std::function<void(std::int64_t, double)>& on_progress) {
  reader.require_rows();
  const std::string file = reader.file().string();
  const ModelPtr model = recorded_model(reader);
  const std::unique_ptr<RobotDriver> driver = make_driver(std::move(robot), settings.driver);
  const RobotPorts& ports = driver->ports();
  DriveLoop loop(*driver, settings.safety);
  RobotMessage message(ports);
  std::vector<int> controls;
  for (const RobotPorts::Actuator& actuator : ports.actuators) {
    const int id = mj_name2id(model.get(), mjOBJ_ACTUATOR, actuator.name.c_str());
    if (id < 0)
      throw ModelError(
          fmt::format("{}: actuator {}: must be one of the recording's: {}", file, actuator.name,
                      object_names(*model, mjOBJ_ACTUATOR, static_cast<int>(model->nu))));
    controls.push_back(model->actuator_ctrladr[id]);
  }
  std::vector<double> commands(controls.size(), 0.0);
  Comparison comparison(ports);
  const std::int64_t rows = reader.row_count();
  std::int64_t step = reader.row(0).step;
  for (std::int64_t i = 0; i < rows; ++i, ++step) {
    const RolloutReader::Row& row = reader.row(i);
    if (row.step != step)
      throw RolloutFormatError(fmt::format("{}: row {}: step {}, must be {}: every step is needed",
                                           file, i, row.step, step));
    const std::span<const double> numbers = numbers_of(*model, log_sensor::kMessage, row, file);
    if (numbers.size() != message.size())
      throw ModelError(fmt::format(
          "{}: messages of {} numbers: the sensors and actuators of the robot file make {}", file,
          numbers.size(), message.size()));
    const bool any = numbers_of(*model, log_sensor::kReceived, row, file)[0] != 0.0;
    const double state = numbers_of(*model, log_sensor::kState, row, file)[0];
    if (state == static_cast<double>(DriveState::Stopped)) loop.stop();
    (void)step_by_message(loop, row.time, message, any ? numbers : std::span<const double>(),
                          settings.targets.at(row.time), commands);
    comparison.add(row.step, row.ctrl, controls, commands);
    if (on_progress && i % kProgressRows == 0) on_progress(i, row.time);
  }
  return comparison.result(loop);
}

/// The log of a robot says how its link was.
void require_no_link(const DriveOptions& options) {
  const DriveOptions none;
  const bool is_none =
      options.link.delay == none.link.delay && options.link.jitter == none.link.jitter &&
      options.link.loss == none.link.loss && options.command_bits == none.command_bits &&
      options.cut_at == none.cut_at && options.stop_at == none.stop_at &&
      options.safety.stale_after == none.safety.stale_after &&
      options.safety.speed_limit == none.safety.speed_limit;
  if (!is_none)
    throw ModelError("the log of a robot has its link and its limits: without such options");
}

}  // namespace

bool is_drive_log(const RolloutReader& reader) { return !text_of(reader, "driver").empty(); }

DriveComparison repeat_drive(RolloutReader& reader,
                             const std::function<void(std::int64_t, double)>& on_progress) {
  const DriverSettings settings = driver_settings(text_of(reader, "driver"));
  return repeat(reader, parse_configured(settings.robot, ""), settings, on_progress);
}

DriveComparison drive_by_log(RolloutReader& reader, const std::filesystem::path& file,
                             const DriveOptions& options, std::uint64_t seed,
                             const std::function<void(std::int64_t, double)>& on_progress) {
  if (is_drive_log(reader)) {
    require_no_link(options);
    return repeat(reader, load_robot(file), driver_settings(text_of(reader, "driver")),
                  on_progress);
  }
  reader.require_rows();
  const ModelPtr model = recorded_model(reader);
  mjModel& m = *model;
  const DataPtr data = make_data(m);
  mjData& d = *data;
  const auto set = [](std::span<const double> from, mjtNum* to) { std::ranges::copy(from, to); };
  const auto set_state = [&](const RolloutReader::Row& row) {
    d.time = row.time;
    set(row.qpos, d.qpos);
    set(row.qvel, d.qvel);
    set(row.act, d.act);
    set(row.ctrl, d.ctrl);
    set(row.plugin_state, d.plugin_state);
  };
  set_state(reader.row(0));
  DrivenRobot driven(file, m, d, options, seed);
  Comparison comparison(driven.loop().driver().ports());
  std::vector<double> commands(driven.controls().size());
  const std::int64_t rows = reader.row_count();
  for (std::int64_t i = 1; i < rows; ++i) {
    const RolloutReader::Row& row = reader.row(i);
    set(row.mocap_pos, d.mocap_pos);
    set(row.mocap_quat, d.mocap_quat);
    mj_forward(&m, &d);  // the plugin reads the sensors of the state before
    for (std::size_t k = 0; k < commands.size(); ++k) commands[k] = d.ctrl[driven.controls()[k]];
    comparison.add(row.step, row.ctrl, driven.controls(), commands);
    set_state(row);
    if (on_progress && i % kProgressRows == 0) on_progress(i, row.time);
  }
  return comparison.result(driven.loop());
}

}  // namespace tendril::simulation
