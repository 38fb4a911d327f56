#include "simulation/drive/drive_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "simulation/drive/driven_robot.hpp"
#include "simulation/engine/engine_log.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril::simulation {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRingSize = 1024;
constexpr int kPoseNumbers = 12;  // rows of a 3 x 4 matrix
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void write_pose(const Eigen::Isometry3d& X, double* position, double* quaternion) {
  const Eigen::Quaterniond q(X.linear());
  std::copy_n(X.translation().data(), 3, position);
  const double wxyz[] = {q.w(), q.x(), q.y(), q.z()};
  std::copy_n(wxyz, 4, quaternion);
}

/// The target body's position and quaternion.
void set_mocap(const mjModel& m, mjData& d, int base, int mocap,
               const RobotDriver::Places& places) {
  Eigen::Isometry3d X_WP = Eigen::Isometry3d::Identity();
  if (!places.base)  // it stands
    X_WP = Eigen::Translation3d(Eigen::Map<const Eigen::Vector3d>(m.body_pos + 3 * base)) *
           Eigen::Quaterniond(m.body_quat[4 * base], m.body_quat[4 * base + 1],
                              m.body_quat[4 * base + 2], m.body_quat[4 * base + 3]);
  write_pose(X_WP * places.target, d.mocap_pos + 3 * mocap, d.mocap_quat + 4 * mocap);
}

template <class Matrix>
std::vector<double> numbers_of(const Matrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

template <class Matrix>
void take_numbers(const Json& json, Matrix& matrix) {
  const auto numbers = json.get<std::array<double, Matrix::SizeAtCompileTime>>();
  std::ranges::copy(numbers, matrix.data());
}

/// The table of sensors without the names of those that nothing has measured.
std::string without_names(const std::string& table, std::span<const std::string> unknown) {
  Json sensors = Json::parse(table);
  for (Json& sensor : sensors)
    if (std::ranges::count(unknown, sensor.at("name").get<std::string>()) > 0)
      sensor["name"] = sensor["quantity"] = "";
  return sensors.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunChanges changes(const RobotDriver& driver, const DriverSettings& settings) {
  RunChanges changes;
  changes.settings = {parse_setting("controller.measured=sensors"),
                      parse_setting(fmt::format("option.timestep={}", settings.driver.timestep))};
  changes.sensors = {{log_sensor::kState, 1},
                     {log_sensor::kLate, 1},
                     {log_sensor::kReceived, 1},
                     {log_sensor::kTip, 3},
                     {log_sensor::kMessage, static_cast<int>(RobotMessage(driver.ports()).size())}};
  return changes;
}

}  // namespace

std::string to_json(const DriverSettings& settings) {
  Json json = {
      {"timestep", settings.driver.timestep},
      {"link_delay", settings.driver.link_delay},
      {"are_forces_late", settings.driver.are_forces_late},
      {"gravity", numbers_of(settings.driver.gravity)},
      {"orientation", settings.driver.R_WB ? Json(numbers_of(*settings.driver.R_WB)) : Json()},
      {"position", settings.driver.p_WB ? Json(numbers_of(*settings.driver.p_WB)) : Json()},
      {"stale_after", settings.safety.stale_after},
      {"speed_limit", settings.safety.speed_limit},  // infinite: null
      {"targets", Json::array()},
      {"robot", settings.robot}};
  for (const TargetTable::Row& row : settings.targets.rows()) {
    const Eigen::Matrix4d X_BG = row.X_BG.matrix().transpose();
    std::vector<double> numbers{row.time};
    numbers.insert(numbers.end(), X_BG.data(), X_BG.data() + kPoseNumbers);
    json["targets"].push_back(numbers);
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

DriverSettings driver_settings(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const auto number = [&](const char* key) {
      return json.at(key).is_null() ? kInfinity : json.at(key).get<double>();
    };
    DriverSettings settings;
    settings.robot = json.at("robot").get<std::string>();
    settings.driver.timestep = number("timestep");
    settings.driver.link_delay = number("link_delay");
    settings.driver.are_forces_late = json.at("are_forces_late").get<bool>();
    take_numbers(json.at("gravity"), settings.driver.gravity);
    if (const Json& given = json.at("orientation"); !given.is_null())  // by columns
      take_numbers(given, settings.driver.R_WB.emplace());
    if (const Json given = json.value("position", Json()); !given.is_null())
      take_numbers(given, settings.driver.p_WB.emplace());
    settings.safety.stale_after = number("stale_after");
    settings.safety.speed_limit = number("speed_limit");
    std::vector<TargetTable::Row> rows;
    for (const Json& one : json.at("targets")) {
      const auto numbers = one.get<std::array<double, 1 + kPoseNumbers>>();
      TargetTable::Row& row = rows.emplace_back();
      row.time = numbers[0];
      for (int i = 0; i < kPoseNumbers; ++i)
        row.X_BG.matrix()(i / 4, i % 4) = numbers[static_cast<std::size_t>(1 + i)];
    }
    settings.targets = TargetTable(std::move(rows));
    return settings;
  } catch (const Json::exception& error) {
    throw ModelError(fmt::format("text driver: {}", error.what()));
  }
}

DriveRecorder::Entry::Entry(const DriveLoop& loop)
    : commands(loop.driver().ports().actuators.size()),
      own(loop.driver().report().own.size()),
      joints(loop.driver().joints().size()),
      copy(loop.driver().view()) {
  message.resize(RobotMessage(loop.driver().ports()).size());
}

DriveRecorder::DriveRecorder(const std::filesystem::path& robot,
                             const std::filesystem::path& recording, const std::string& link,
                             const std::string& command_line, const DriveLoop& loop,
                             const DriverSettings& settings)
    : file_(recording),
      loop_(loop),
      experiment_(load_experiment(robot)),
      run_(prepare_run(experiment_, changes(loop.driver(), settings))) {
  const RobotDriver& driver = loop.driver();
  const mjModel& m = *run_.scene.model;
  const SceneRobot& of = run_.scene.robots.at(0);
  names_ = of.names;
  base_ = of.base;
  if (const int joint = m.body_jntadr[base_]; joint >= 0 && m.jnt_type[joint] == mjJNT_FREE)
    free_ = m.jnt_qposadr[joint];
  if (driver.has_target() && !of.target.empty())
    target_ = m.body_mocapid[mj_name2id(&m, mjOBJ_BODY, of.target.c_str())];
  const auto id = [&](mjtObj type, const std::string& name) {
    const int found = mj_name2id(&m, type, names_(name).c_str());
    if (found < 0)
      throw ModelError(fmt::format("{}: {}: is not in the model", robot.string(), name));
    return found;
  };
  for (const std::string& name : driver.joints()) {
    const int joint = id(mjOBJ_JOINT, name);
    joints_.push_back({m.jnt_qposadr[joint], m.jnt_dofadr[joint]});
  }
  for (const RobotPorts::Actuator& actuator : driver.ports().actuators)
    controls_.push_back(m.actuator_ctrladr[id(mjOBJ_ACTUATOR, actuator.name)]);
  std::vector<std::string> unknown;
  for (const RobotPorts::Channel& channel : driver.ports().channels) {
    if (!channel.is_sensor) {
      const int actuator = mj_name2id(&m, mjOBJ_ACTUATOR, names_(channel.name).c_str());
      activations_.push_back(actuator < 0 ? -1 : m.actuator_actadr[actuator]);
      continue;
    }
    sensor_numbers_ += static_cast<std::size_t>(channel.width);
    unknown.push_back(names_(channel.name));
    unknown_.push_back(columns(channel.name));
    readings_.push_back(columns(channel.name + "_reading"));
  }
  state_ = columns(log_sensor::kState);
  late_ = columns(log_sensor::kLate);
  received_ = columns(log_sensor::kReceived);
  tip_ = columns(log_sensor::kTip);
  message_ = columns(log_sensor::kMessage);
  set_remote_control(&m, run_.data.get(), names_, this);

  std::vector<std::string> notices;
  RolloutAttributes attributes =
      recording_attributes(experiment_, run_, m, 0, command_line, notices);
  attributes["sensors"] = without_names(std::get<std::string>(attributes.at("sensors")), unknown);
  attributes["log"] = link;
  attributes["driver"] = to_json(settings);
  recorder_ = std::make_unique<RunRecorder>(
      m, attributes, [&](const auto& layout, const auto& all, const auto& model_mjb) {
        return std::make_unique<RolloutWriter>(recording, layout, all, model_mjb);
      });
  last_message_.resize(message_.width);
  ring_.reserve(kRingSize);
  for (std::size_t i = 0; i < kRingSize; ++i) ring_.emplace_back(loop);
  thread_ = std::thread([this] { write_all(); });
}

DriveRecorder::~DriveRecorder() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  try {
    set_remote_control(run_.scene.model.get(), run_.data.get(), names_, nullptr);
  } catch (const ModelError&) {  // its controller has failed
  }
}

DriveRecorder::Columns DriveRecorder::columns(const std::string& sensor) const {
  const mjModel& m = *run_.scene.model;
  int id = mj_name2id(&m, mjOBJ_SENSOR, names_(sensor).c_str());
  if (id < 0) id = mj_name2id(&m, mjOBJ_SENSOR, sensor.c_str());
  if (id < 0) throw ModelError(fmt::format("sensor {}: is not in the model", sensor));
  return {static_cast<std::size_t>(m.sensor_adr[id]), static_cast<std::size_t>(m.sensor_dim[id])};
}

void DriveRecorder::wait_for_room() const {
  while (put_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_acquire) ==
         ring_.size())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void DriveRecorder::take(const LoopStep& step) noexcept {
  has_begun_ = has_begun_ || !step.message.empty();
  if (!has_begun_) return;
  const long number = steps_++;
  const std::size_t put = put_.load(std::memory_order_relaxed);
  if (put - taken_.load(std::memory_order_acquire) == ring_.size()) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const RobotDriver& driver = loop_.driver();
  Entry& entry = ring_[put % ring_.size()];
  entry.number = number;
  entry.time = step.time;
  entry.late = step.late;
  entry.duration = step.duration;
  entry.received = !step.message.empty();
  entry.state = loop_.state();
  entry.has_estimate = loop_.counts().steps > loop_.counts().held;
  if (entry.received) std::ranges::copy(step.message, entry.message.begin());
  std::ranges::copy(step.commands, entry.commands.begin());
  driver.joint_states(entry.joints);
  entry.places = driver.places();
  std::ranges::copy(driver.report().own, entry.own.begin());
  entry.report = driver.report();
  entry.report.own = entry.own;
  entry.copy.take(driver.view());
  put_.store(put + 1, std::memory_order_release);
}

void DriveRecorder::write_all() {
  const StandardArithmetic standard;
  const EngineLog log;
  for (;;) {
    const bool ends = ends_;
    const std::size_t taken = taken_.load(std::memory_order_relaxed);
    if (taken == put_.load(std::memory_order_acquire)) {
      if (ends) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    if (problem_.empty()) {
      try {
        write(ring_[taken % ring_.size()]);
      } catch (const std::exception& error) {
        problem_ = error.what();
      }
    }
    taken_.store(taken + 1, std::memory_order_release);
  }
}

void DriveRecorder::write(const Entry& entry) {
  const mjModel& m = *run_.scene.model;
  mjData& d = *run_.data;
  d.time = entry.time;
  if (entry.has_estimate) {
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      d.qpos[joints_[i][0]] = entry.joints[i][0];
      d.qvel[joints_[i][1]] = entry.joints[i][1];
    }
    if (free_ >= 0 && entry.places.base)
      write_pose(*entry.places.base, d.qpos + free_, d.qpos + free_ + 3);
  }
  if (entry.received) std::ranges::copy(entry.message, last_message_.begin());
  for (std::size_t i = 0; i < activations_.size(); ++i)
    if (activations_[i] >= 0) d.act[activations_[i]] = last_message_[sensor_numbers_ + i];
  if (target_ >= 0 && entry.has_estimate) set_mocap(m, d, base_, target_, entry.places);
  for (std::size_t i = 0; i < controls_.size(); ++i) d.ctrl[controls_[i]] = entry.commands[i];
  shown_ = &entry;
  const std::string error = guarded([&] { mj_forward(&m, &d); });
  if (!error.empty()) throw RolloutError(one_line(error));
  for (std::size_t i = 0; i < controls_.size(); ++i) d.ctrl[controls_[i]] = entry.commands[i];
  d.ncon = 0;  // those of the estimate are no measurement

  std::ranges::copy(last_message_, d.sensordata + message_.first);
  const double* reading = last_message_.data();
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    std::fill_n(d.sensordata + unknown_[i].first, unknown_[i].width,
                std::numeric_limits<double>::quiet_NaN());
    std::copy_n(reading, readings_[i].width, d.sensordata + readings_[i].first);
    reading += readings_[i].width;
  }
  d.sensordata[state_.first] = static_cast<double>(entry.state);
  d.sensordata[late_.first] = entry.late;
  d.sensordata[received_.first] = entry.received ? 1.0 : 0.0;
  Eigen::Map<Eigen::Vector3d> tip(d.sensordata + tip_.first);
  tip.setConstant(std::numeric_limits<double>::quiet_NaN());
  if (entry.has_estimate) tip = entry.places.tip.translation();
  recorder_->append(d, entry.number, 1e6 * entry.duration);
  ++rows_;
}

std::string DriveRecorder::close(const std::string& outcome) {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  if (problem_.empty()) {
    try {
      recorder_->close(outcome);
    } catch (const std::exception& error) {
      problem_ = error.what();
    }
  }
  if (problem_.empty() && rows_ == 0) {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    return "nothing has come from the robot: there is no log";
  }
  if (const long lost = lost_; problem_.empty() && lost > 0)
    return fmt::format("{} steps are not in it: the machine was too slow to write them", lost);
  return problem_;
}

void DriveRecorder::exchange(const Sent& /*sent*/, std::span<double> commands) noexcept {
  if (shown_ != nullptr) std::ranges::copy(shown_->commands, commands.begin());
}

RemoteControl::Known DriveRecorder::known() const noexcept {
  Known known;
  if (shown_ != nullptr && shown_->has_estimate)
    known = known_of(shown_->state, shown_->report, shown_->copy.view());
  known.model_is_seen = true;
  return known;
}

}  // namespace tendril::simulation
