#include "simulation/drive/driven_robot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "plugin/bound_mechanism.hpp"
#include "plugin/robot_binding.hpp"
#include "simulation/engine/engine.hpp"
#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

SceneRobot robot_in(const mjModel& model, const std::string& label) {
  std::vector<std::string> labels;
  std::vector<SceneRobot> robots = robots_of(model);
  for (SceneRobot& robot : robots) {
    labels.push_back(robot.names.label());
    if ((label.empty() && robots.size() == 1) || robot.names.label() == label) return robot;
  }
  if (label.empty())
    throw ModelError(robots.empty()
                         ? std::string("the scene has no robot that a controller drives")
                         : fmt::format("--prefix: the scene has {} robots: must be one of "
                                       "{}",
                                       robots.size(), fmt::join(labels, ", ")));
  throw ModelError(fmt::format("--prefix: {}: must be one of {}", label, fmt::join(labels, ", ")));
}

/// What the file says that the scene's robot does not have, or the other way round.
void require_same_parts(const std::string& file, const RobotDescription& told,
                        const RobotDescription& real) {
  const auto kind = [](const RobotDescription& robot) {
    return std::visit([]<class D>(const D&) { return D::kKind; }, robot);
  };
  if (told.index() != real.index())
    throw ModelError(fmt::format("{}: kind = \"{}\": the robot of the scene is of kind = \"{}\"",
                                 file, kind(told), kind(real)));
  const auto sensors = [](const RobotDescription& robot) {
    std::vector<std::string> names;
    for (const RobotSensor& sensor : sensors_of(robot))
      for (const EngineSensor& one : sensor.sensors)
        names.push_back(fmt::format("{} ({})", one.name, one.width));
    return names;
  };
  const auto require = [&](const char* what, const std::vector<std::string>& ours,
                           const std::vector<std::string>& theirs) {
    if (ours == theirs) return;
    const auto [a, b] = std::ranges::mismatch(ours, theirs);
    throw ModelError(
        fmt::format("{}: {}: {}: the robot of the scene has {} there: both must have "
                    "the same {}s in the same order",
                    file, what, a == ours.end() ? "none more" : *a,
                    b == theirs.end() ? "none more" : *b, what));
  };
  require("sensor", sensors(told), sensors(real));
  const auto actuators = [](const RobotDescription& robot) {
    const Mechanism mechanism = robot_mechanism(robot);
    std::vector<std::string> names;
    for (const std::string& name : driven_actuators(robot)) {
      const auto index = static_cast<std::size_t>(mechanism.actuator(name));
      const std::array<double, 3>& bias = mechanism.actuators[index].bias;
      const bool is_servo = bias != std::array<double, 3>{};
      names.push_back(fmt::format("{} ({})", name, is_servo ? "servo" : "force"));
    }
    return names;
  };
  require("actuator", actuators(told), actuators(real));
}

/// Where the base of a robot is, of a free snake at the start. Throws ModelError if joints move
/// that of another one.
Eigen::Isometry3d base_pose(const mjModel& model, mjData& data, const SceneRobot& robot) {
  const auto* const snake = std::get_if<SnakeDescription>(&robot.description);
  const bool is_free = snake != nullptr && snake->base == SnakeBase::Free;
  const std::optional<Eigen::Matrix3d> standing = standing_orientation(&model, robot.base);
  if (!is_free && !standing)
    throw ModelError("the base of the scene's robot moves: it must stand to be driven");
  mj_kinematics(&model, &data);
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  X_WB.translation() = ConstVector3(data.xpos + 3 * robot.base);
  X_WB.linear() = standing ? *standing : ConstMatrix3(data.xmat + 9 * robot.base);
  return X_WB;
}

}  // namespace

DrivenRobot::DrivenRobot(const std::filesystem::path& file, const mjModel& model, mjData& data,
                         DriveOptions options, std::uint64_t seed)
    : model_(model), data_(data), options_(std::move(options)) {
  require_valid(options_.link);
  const SceneRobot robot = robot_in(model, options_.robot);
  names_ = robot.names;
  RobotDescription told = load_robot(file);
  require_same_parts(file.string(), told, robot.description);
  if (auto* const arm = std::get_if<ContinuumDescription>(&told))
    arm->integrator = std::get<ContinuumDescription>(robot.description).integrator;
  if (options_.command_bits < 0 || options_.command_bits > 32)
    throw ModelError(
        fmt::format("--bits: {}: must be an integer in [0, 32]", options_.command_bits));
  const Eigen::Isometry3d X_WB = base_pose(model, data, robot);
  const ComputerOptions settings{
      .timestep = model.opt.timestep,
      .numerical_damping_time = numerical_damping_time(&model),
      .link_delay = 2.0 * (options_.link.delay + options_.link.jitter / 2.0),
      .gravity = compensated_gravity(&model, true),
      .R_WB = X_WB.linear(),
      .p_WB = X_WB.translation()};
  try {
    driver_ = make_driver(std::move(told), settings);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", file.string(), error.what()));
  }
  if (driver_->has_target() && robot.target.empty())
    throw ModelError(
        fmt::format("{}: controller: target = {}: the robot of the scene follows no "
                    "target, so that it cannot tell where it is",
                    file.string(), driver_->target_name()));
  loop_ = std::make_unique<DriveLoop>(*driver_, options_.safety);
  options_.link.seed = seed;
  message_ = std::make_unique<RobotMessage>(driver_->ports());
  received_message_ = std::make_unique<RobotMessage>(driver_->ports());
  const std::size_t actuators = driver_->ports().actuators.size();
  up_ = std::make_unique<SimulatedLink>(message_->size(), options_.link, settings.timestep, "up");
  down_ = std::make_unique<SimulatedLink>(actuators, options_.link, settings.timestep, "down");
  sent_.resize(message_->size());
  received_.resize(message_->size());
  commands_.resize(actuators);
  received_commands_.resize(actuators);
  for (const RobotPorts::Actuator& actuator : driver_->ports().actuators)
    controls_.push_back(
        model.actuator_ctrladr[mj_name2id(&model, mjOBJ_ACTUATOR, names_(actuator.name).c_str())]);
  set_remote_control(&model, &data, names_, this);
}

DrivenRobot::~DrivenRobot() { set_remote_control(&model_, &data_, names_, nullptr); }

void DrivenRobot::exchange(const Sent& sent, std::span<double> commands) noexcept {
  message_->pack(sent.readings, sent.arrived, sent.drives, commands, sent.target, sent_);
  const bool is_cut = sent.time >= options_.cut_at;
  if (!is_cut) up_->send(sent.time, sent_);
  if (sent.time >= options_.stop_at) loop_->stop();
  const bool any = up_->receive(sent.time, received_);
  const auto come = any ? std::span<const double>(received_) : std::span<const double>();
  if (step_by_message(*loop_, sent.time, *received_message_, come, nullptr, commands_) && !is_cut)
    down_->send(sent.time, commands_);
  if (!down_->receive(sent.time, received_commands_)) {
    ++lost_commands_;
    return;
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    commands[i] = received_commands_[i];
    const auto& [low, high] = driver_->ports().actuators[i].range;
    if (options_.command_bits == 0 || !std::isfinite(high - low)) continue;
    const double step = std::ldexp(high - low, -options_.command_bits);
    commands[i] = low + step * std::round((commands[i] - low) / step);
  }
}

RemoteControl::Known DrivenRobot::known() const noexcept {
  return known_of(loop_->state(), driver_->report(), driver_->view());
}

RemoteControl::Known known_of(DriveState state, const ControllerReport& report,
                              const ControllerView& view) noexcept {
  switch (state) {
    case DriveState::Waiting:
      return {};
    case DriveState::Running:
      return {.status = report.status, .report = &report, .view = view};
    case DriveState::Stale:
    case DriveState::Stopped:
      return {.status = ControllerStatus::NotFollowing, .report = &report, .view = view};
    case DriveState::Fault:
      break;
  }
  return {.status = ControllerStatus::Fault};
}

}  // namespace tendril::simulation
