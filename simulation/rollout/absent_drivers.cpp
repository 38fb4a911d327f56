#include "simulation/rollout/absent_drivers.hpp"

#include "plugin/remote_control.hpp"
#include "simulation/scene/scene_robot.hpp"

namespace tendril::simulation {

struct AbsentDrivers::Nobody final : RemoteControl {
  void exchange(const Sent& /*sent*/, std::span<double> /*commands*/) noexcept override {}
  [[nodiscard]] Known known() const noexcept override { return {}; }
};

AbsentDrivers::AbsentDrivers() : nobody_(std::make_unique<Nobody>()) {}
AbsentDrivers::~AbsentDrivers() = default;
AbsentDrivers::AbsentDrivers(AbsentDrivers&&) noexcept = default;
AbsentDrivers& AbsentDrivers::operator=(AbsentDrivers&&) noexcept = default;

void AbsentDrivers::leave_out(const RolloutReader& reader, const mjModel& model, mjData& data) {
  const auto& texts = reader.attributes();
  const auto driven = texts.find("driven_robot");
  const bool is_log = texts.contains("log");
  if (!is_log && driven == texts.end()) return;
  for (const SceneRobot& robot : robots_of(model))
    if (is_log || robot.names.label() == driven->second)
      set_remote_control(&model, &data, robot.names, nobody_.get());
}

}  // namespace tendril::simulation
