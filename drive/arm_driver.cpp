#include "drive/arm_driver.hpp"

#include <algorithm>
#include <exception>
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
    : robot_(ArmComputer::prepared(std::move(robot), options)),
      measurement_(sizes(robot_)),
      command_(sizes(robot_)) {
  kind_ = &kind_of(robot_);
  rows_ = all_settings(*kind_);
  settings_.emplace(settings_of(robot_, *kind_, rows_));
  scene_ = std::make_unique<Scene>(*settings_, target_name_);
  controller_ = make_arm_controller(*kind_, *settings_, robot_,
                                    {options.timestep, options.numerical_damping_time}, *scene_);
  if (controller_ == nullptr)
    throw ModelError("robot: kind = continuum: must be a kind of robot that " + kind_->name +
                     " controls");
  require_sensed_contacts(*kind_, controller_->needs_contacts(), robot_);
  const bool compensates = settings_->flag("gravity_compensation");
  computer_.emplace(
      robot_, options,
      ArmMechanics::Options{
          .gravity = compensates ? options.gravity : Eigen::Vector3d(Eigen::Vector3d::Zero()),
          .velocity_feed_forward = settings_->flag("velocity_feed_forward"),
          .commands = controller_->commands()},
      controller_->needs_contacts(), measurement_);
  command_.tension = Eigen::VectorXd::Zero(measurement_.tendon_tension.size());
  own_values_.resize(static_cast<std::size_t>(
      std::ranges::count_if(kind_->quantities, [](const Quantity& q) { return q.is_own(); })));
  memory_.resize(
      static_cast<std::size_t>(controller_->memory_size() + computer_->loop().layout().size()));
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
  computer_->reset(own(memory_));
  std::ranges::copy(memory_, next_.begin());
  report_ = {.own = own_values_};
  fault_.clear();
}

bool ArmDriver::step(double time, std::span<const double> readings, std::span<const bool> arrived,
                     const Eigen::Isometry3d* target, std::span<double> commands) noexcept {
  const StandardArithmetic standard;
  if (report_.status == ControllerStatus::Fault) return false;
  std::ranges::copy(memory_, next_.begin());
  ArmLoop& loop = computer_->loop();
  computer_->sense(readings, arrived, own(memory_), own(next_));
  const ArmMechanics::State& state = computer_->state();
  measurement_.time = time;
  loop.measure(state, computer_->tendon_commands(), own(next_), measurement_);
  loop.sense_contacts(state, *controller_, own(next_), measurement_);
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
  loop.setpoints(state, measurement_, command_, own(next_), commands);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto& [low, high] = actuators()[i].range;
    commands[i] = std::clamp(commands[i], low, high);
  }
  computer_->keep(commands, own(next_));
  std::swap(memory_, next_);
  return true;
}

void ArmDriver::keep(std::span<const double> commands) noexcept {
  computer_->keep(commands, own(memory_));
}

}  // namespace tendril
