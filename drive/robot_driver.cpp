#include "drive/robot_driver.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "controllers/interface/scene_query.hpp"
#include "drive/arm_driver.hpp"
#include "drive/mobile_driver.hpp"
#include "drive/snake_driver.hpp"
#include "tendril/standard_arithmetic.hpp"

namespace tendril {
namespace {

const ControllerKind& kind_of(const ControllerConfig& config) {
  if (config.plugin.empty())
    throw ModelError("controller: missing: must be a table of the robot file");
  const std::vector<ControllerKind>& kinds = built_in_controllers();
  const auto kind = std::ranges::find(kinds, config.plugin, &ControllerKind::name);
  if (kind == kinds.end())
    throw ModelError(config.origin + ": controller: plugin = " + config.plugin +
                     ": must be a controller of the library");
  return *kind;
}

/// The settings of the file; the controller sees its sensors whatever is in it.
Settings settings_of(const ControllerConfig& config, const ControllerKind& kind,
                     std::span<const SettingInfo> rows) {
  Settings::Texts texts;
  for (const ControllerConfig::Setting& setting : config.settings) {
    if (std::ranges::none_of(rows, [&](const auto& row) { return row.name == setting.key; }))
      throw ModelError(setting.origin + ": controller: " + setting.key + ": is no setting of " +
                       kind.name);
    if (setting.key != "measured") texts.emplace_back(setting.key, setting.value);
  }
  texts.emplace_back("measured", "sensors");
  return Settings(rows, std::move(texts));
}

}  // namespace

class RobotDriver::Scene final : public SceneQuery {
 public:
  Scene(const Settings& settings, std::string& target) : settings_(settings), target_(target) {}
  void measure_target(const char* setting) override { target_ = settings_.text(setting); }
  [[nodiscard]] MeasuredObstacles measure_obstacles(const char* setting, double) override {
    refuse(setting);
  }
  [[nodiscard]] Obstacles standing_obstacles(const char* setting) override { refuse(setting); }
  [[nodiscard]] std::vector<Solid> solids(const char* setting) override { refuse(setting); }

 private:
  [[noreturn]] static void refuse(const char* setting) {
    throw ModelError(std::string(setting) +
                     ": obstacles are of a scene, of which the robot knows nothing");
  }

  const Settings& settings_;
  std::string& target_;
};

RobotDriver::RobotDriver(const ControllerConfig& config, double timestep)
    : kind_(&kind_of(config)), timestep_(timestep), rows_(all_settings(*kind_)) {
  settings_.emplace(settings_of(config, *kind_, rows_));
  scene_ = std::make_unique<Scene>(*settings_, target_name_);
}

RobotDriver::~RobotDriver() = default;

SceneQuery& RobotDriver::scene() noexcept { return *scene_; }

void RobotDriver::start(RobotPorts ports, int own_size) {
  ports_ = std::move(ports);
  own_values_.resize(static_cast<std::size_t>(
      std::ranges::count_if(kind_->quantities, [](const Quantity& q) { return q.is_own(); })));
  memory_.resize(static_cast<std::size_t>(controller().memory_size() + own_size));
  next_ = memory_;
  reset();
}

std::span<double> RobotDriver::of_controller(std::vector<double>& memory) const noexcept {
  return std::span(memory).first(static_cast<std::size_t>(controller().memory_size()));
}

std::span<double> RobotDriver::own(std::vector<double>& memory) const noexcept {
  return std::span(memory).subspan(static_cast<std::size_t>(controller().memory_size()));
}

void RobotDriver::reset() noexcept {
  controller().reset(of_controller(memory_));
  reset_own(own(memory_));
  std::ranges::copy(memory_, next_.begin());
  report_ = {.own = own_values_};
  fault_.clear();
}

bool RobotDriver::step(double time, std::span<const double> readings, std::span<const bool> arrived,
                       const Eigen::Isometry3d* target, std::span<double> commands) noexcept {
  const StandardArithmetic standard;
  if (report_.status == ControllerStatus::Fault) return false;
  std::ranges::copy(memory_, next_.begin());
  see({time, readings, arrived, has_target() ? target : nullptr}, own(memory_), own(next_));
  std::ranges::fill(own_values_, 0.0);
  report_ = {.own = own_values_};
  try {
    if (!update(of_controller(memory_), of_controller(next_), report_))
      fault_ = "its command is not finite";
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
  setpoints(own(next_), commands);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto& [low, high] = ports_.actuators[i].range;
    commands[i] = std::clamp(commands[i], low, high);
  }
  keep_own(commands, own(next_));
  std::swap(memory_, next_);
  return true;
}

void RobotDriver::keep(std::span<const double> commands) noexcept {
  keep_own(commands, own(memory_));
}

std::unique_ptr<RobotDriver> make_driver(RobotDescription robot, const ComputerOptions& options) {
  if (auto* const arm = std::get_if<ContinuumDescription>(&robot))
    return std::make_unique<ArmDriver>(std::move(*arm), options);
  if (auto* const snake = std::get_if<SnakeDescription>(&robot))
    return std::make_unique<SnakeDriver>(std::move(*snake), options);
  return std::make_unique<MobileDriver>(std::get<MobileDescription>(std::move(robot)), options);
}

}  // namespace tendril
