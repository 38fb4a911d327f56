#include "drive/arm_driver.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "binding/arm_controllers.hpp"
#include "controllers/interface/scene_query.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model_error.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

const ControllerKind& kind_of(const ContinuumDescription& robot) {
  const std::string& name = robot.controller.plugin;
  if (name.empty()) throw ModelError("controller: missing: must be a table of the robot file");
  const std::vector<ControllerKind>& kinds = built_in_controllers();
  const auto kind = std::ranges::find(kinds, name, &ControllerKind::name);
  if (kind == kinds.end())
    throw ModelError(robot.controller.origin + ": controller: plugin = " + name +
                     ": must be a controller of the library");
  return *kind;
}

/// The settings of the file; the controller sees its sensors whatever is in it.
Settings settings_of(const ContinuumDescription& robot, const ControllerKind& kind,
                     std::span<const SettingInfo> rows) {
  Settings::Texts texts;
  for (const ControllerConfig::Setting& setting : robot.controller.settings) {
    if (std::ranges::none_of(rows, [&](const auto& row) { return row.name == setting.key; }))
      throw ModelError(setting.origin + ": controller: " + setting.key + ": is no setting of " +
                       kind.name);
    if (setting.key != "measured") texts.emplace_back(setting.key, setting.value);
  }
  texts.emplace_back("measured", "sensors");
  return Settings(rows, std::move(texts));
}

RobotSizes sizes(const ContinuumDescription& robot) {
  return {robot.kinematics().coordinate_count(), tendon_count(robot)};
}

}  // namespace

/// The robot knows nothing of its scene but where its target is.
class ArmDriver::Scene final : public SceneQuery {
 public:
  Scene(const Settings& settings, std::string& name) : settings_(settings), name_(name) {}
  void measure_target(const char* setting) override {
    name_ = settings_.text(setting);
    has_target_ = !name_.empty();
  }
  [[nodiscard]] MeasuredObstacles measure_obstacles(const char* setting, double) override {
    refuse(setting);
  }
  [[nodiscard]] Obstacles standing_obstacles(const char* setting) override { refuse(setting); }
  [[nodiscard]] std::vector<Solid> solids(const char* setting) override { refuse(setting); }
  [[nodiscard]] bool has_target() const noexcept { return has_target_; }

 private:
  [[noreturn]] static void refuse(const char* setting) {
    throw ModelError(std::string(setting) +
                     ": obstacles are of a scene, of which the robot knows nothing");
  }

  const Settings& settings_;
  std::string& name_;
  bool has_target_ = false;
};

ArmDriver::ArmDriver(ContinuumDescription robot, const Options& options)
    : link_delay_(options.link_delay),
      robot_(std::move(robot)),
      measurement_(sizes(robot_)),
      command_(sizes(robot_)) {
  if (!(options.timestep > 0.0 && std::isfinite(options.timestep)))
    throw ModelError("timestep = " + std::to_string(options.timestep) + " s: must be positive");
  if (!(options.link_delay >= 0.0 && std::isfinite(options.link_delay)))
    throw ModelError("link_delay = " + std::to_string(options.link_delay) +
                     " s: must be at least 0");
  robot_.timestep = options.timestep;
  robot_.numerical_damping_time = options.numerical_damping_time;
  if (options.numerical_damping_time == 0.0) robot_.integrator = Integrator::ImplicitFast;
  require_sampled(robot_.sensors, options.timestep);
  for (RobotSensor& sensor : robot_.sensors) {
    sensor.delay += options.link_delay;
    for (EngineSensor& one : sensor.sensors) one.is_late = one.is_late && options.are_forces_late;
  }
  kind_ = &kind_of(robot_);
  rows_ = all_settings(*kind_);
  settings_.emplace(settings_of(robot_, *kind_, rows_));
  mechanism_ = robot_mechanism(robot_);
  mechanism_.numerical_damping_time = options.numerical_damping_time;
  scene_ = std::make_unique<Scene>(*settings_, target_name_);
  controller_ = make_arm_controller(*kind_, *settings_, robot_,
                                    {options.timestep, options.numerical_damping_time}, *scene_);
  if (controller_ == nullptr)
    throw ModelError("robot: kind = continuum: must be a kind of robot that " + kind_->name +
                     " controls");
  require_sensed_contacts(*kind_, controller_->needs_contacts(), robot_);
  const bool compensates = settings_->flag("gravity_compensation");
  loop_ = std::make_unique<ArmLoop>(
      mechanism_, robot_,
      ArmMechanics::Options{
          .gravity = compensates ? options.gravity : Eigen::Vector3d(Eigen::Vector3d::Zero()),
          .velocity_feed_forward = settings_->flag("velocity_feed_forward"),
          .commands = controller_->commands()},
      true, controller_->needs_contacts(), measurement_);
  loop_->use_sensors(mechanism_, robot_, options.gravity, options.R_WB);
  measurement_.timestep = options.timestep;
  command_.tension = Eigen::VectorXd::Zero(measurement_.tendon_tension.size());
  state_ = loop_->mechanics().make_state();
  state_.R_WB = options.R_WB;
  tendon_commands_.resize(loop_->model().tendons.size());
  own_values_.resize(static_cast<std::size_t>(
      std::ranges::count_if(kind_->quantities, [](const Quantity& q) { return q.is_own(); })));

  for (const RobotSensor& sensor : robot_.sensors)
    for (const EngineSensor& one : sensor.sensors) {
      channels_.push_back({one.name, one.width, true});
      sensor_numbers_ += static_cast<std::size_t>(one.width);
    }
  sensor_count_ = channels_.size();
  for (const ArmLoop::DriveReading& reading : loop_->drive_readings())
    channels_.push_back({reading.name, 1, false});
  reading_count_ = sensor_numbers_ + channels_.size() - sensor_count_;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const int index : loop_->model().actuators) {
    const Mechanism::Actuator& of = mechanism_.actuators[static_cast<std::size_t>(index)];
    const bool is_limited = of.command_range[1] > of.command_range[0];
    actuators_.push_back(
        {of.name, is_limited ? of.command_range : std::array<double, 2>{-kInfinity, kInfinity}});
  }
  memory_.resize(static_cast<std::size_t>(controller_->memory_size() + loop_->layout().size()));
  next_ = memory_;
  reset();
}

ArmDriver::~ArmDriver() = default;

bool ArmDriver::has_target() const noexcept { return scene_->has_target(); }

std::span<double> ArmDriver::own(std::vector<double>& memory) const noexcept {
  return std::span(memory).subspan(static_cast<std::size_t>(controller_->memory_size()));
}

void ArmDriver::reset() noexcept {
  controller_->reset(
      std::span(memory_).first(static_cast<std::size_t>(controller_->memory_size())));
  loop_->layout().reset(own(memory_));
  std::ranges::copy(memory_, next_.begin());
  report_ = {.own = own_values_};
  fault_.clear();
}

bool ArmDriver::step(double time, std::span<const double> readings, std::span<const bool> arrived,
                     const Eigen::Isometry3d* target, std::span<double> commands) noexcept {
  const StandardArithmetic standard;
  if (report_.status == ControllerStatus::Fault) return false;
  std::ranges::copy(memory_, next_.begin());
  loop_->read_drives(readings.subspan(sensor_numbers_), own(memory_), state_, tendon_commands_);
  for (JointState* const joint : {&state_.feed, &state_.spin})
    joint->position += link_delay_ * joint->velocity;
  loop_->sense(readings.first(sensor_numbers_), arrived, tendon_commands_, own(next_), state_);
  measurement_.time = time;
  loop_->measure(state_, tendon_commands_, own(next_), measurement_);
  loop_->sense_contacts(state_, *controller_, own(next_), measurement_);
  measurement_.has_target = target != nullptr;
  if (target != nullptr) measurement_.X_BG = *target;
  forget(command_, controller_->commands(), measurement_.q);
  std::ranges::fill(own_values_, 0.0);
  report_ = {.own = own_values_};
  const auto size = static_cast<std::size_t>(controller_->memory_size());
  try {
    controller_->update(measurement_, std::span(memory_).first(size), std::span(next_).first(size),
                        command_, report_);
    if (!is_finite(command_)) fault_ = "its command is not finite";
  } catch (const std::exception& error) {
    fault_ = error.what();
  } catch (...) {
    fault_ = "unknown error";
  }
  if (!fault_.empty()) {
    report_ = {.own = own_values_};
    report_.status = ControllerStatus::Fault;
    return false;
  }
  loop_->setpoints(state_, measurement_, command_, own(next_), commands);
  for (std::size_t i = 0; i < commands.size(); ++i)
    commands[i] = std::clamp(commands[i], actuators_[i].range[0], actuators_[i].range[1]);
  loop_->keep(state_, commands, own(next_));
  std::swap(memory_, next_);
  return true;
}

std::vector<std::string> ArmDriver::joints() const {
  const ArmModel& model = loop_->model();
  std::vector<std::string> names;
  const auto add = [&](int joint) {
    if (joint >= 0) names.push_back(mechanism_.joints[static_cast<std::size_t>(joint)].name);
  };
  std::ranges::for_each(model.joints, add);
  add(model.feed);
  add(model.spin);
  return names;
}

void ArmDriver::joint_states(std::span<std::array<double, 2>> out) const noexcept {
  auto next = out.begin();
  const auto add = [&](const JointState& joint) { *next++ = {joint.position, joint.velocity}; };
  std::ranges::for_each(state_.joints, add);
  if (loop_->model().feed >= 0) add(state_.feed);
  if (loop_->model().spin >= 0) add(state_.spin);
}

void ArmDriver::keep(std::span<const double> commands) noexcept {
  loop_->keep(state_, commands, own(memory_));
}

}  // namespace tendril
