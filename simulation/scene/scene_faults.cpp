#include "simulation/scene/scene_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "plugin/bind_robot.hpp"
#include "tendril/model/fault_file.hpp"
#include "tendril/model_error.hpp"

namespace tendril::simulation {
namespace {

/// Sets the timestep before the model is compiled: the memory of faults depends on it.
void set_timestep(mjSpec& spec, std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (setting.key != "option.timestep") continue;
    const auto value = resolved(setting, {&spec.option.timestep, 1}).value.numbers();
    if (value && value->size() == 1 && value->front() > 0.0) spec.option.timestep = value->front();
  }
}

/// The engine's own delay of controls.
void delay_actuators(mjSpec& spec, std::span<const Fault> faults) {
  for (const Fault& fault : faults) {
    const auto* const delay = std::get_if<fault::ActuatorDelay>(&fault.kind);
    if (delay == nullptr) continue;
    bool found = false;
    for (mjsElement* element = mjs_firstElement(&spec, mjOBJ_ACTUATOR); element != nullptr;
         element = mjs_nextElement(&spec, element)) {
      const std::string actuator = mjs_getString(mjs_getName(element));
      if (!fault.is_of_robot(actuator) || !matches(delay->actuator, actuator)) continue;
      found = true;
      const double steps = std::round(delay->time / spec.option.timestep);
      if (steps == 0.0) continue;
      mjsActuator* const delayed = mjs_asActuator(element);
      delayed->delay = steps * spec.option.timestep;
      delayed->nsample = static_cast<int>(steps) + 1;
    }
    if (!found) {
      throw ModelError(fmt::format("{}: fault {}: actuator = {}: the scene has no such actuator",
                                   fault.origin, fault.name, delay->actuator));
    }
  }
}

}  // namespace

std::optional<Setting> measurement_fault_setting(std::span<const Fault> faults,
                                                 std::uint64_t seed) {
  std::string text = measurement_faults_text(faults, seed);
  if (text.empty()) return std::nullopt;
  const auto first = std::find_if(faults.begin(), faults.end(),
                                  [](const Fault& f) { return f.of_measurement() != nullptr; });
  return Setting{"controller.measurement_faults", {std::move(text)}, first->origin};
}

void add_actuator_delays(mjSpec& spec, std::span<const Fault> faults,
                         std::span<const Setting> settings) {
  if (faults.empty()) return;
  set_timestep(spec, settings);
  delay_actuators(spec, faults);
}

void require_measured(std::span<const SceneRobot> robots, std::span<const Fault> faults) {
  for (const Fault& fault : faults) {
    const fault::OfMeasurement* const seen = fault.of_measurement();
    if (seen == nullptr) continue;
    bool found = false;
    std::string known;
    for (const SceneRobot& robot : robots) {
      known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", robot.names.label());
      if (fault.robot && *fault.robot != robot.names.label()) continue;
      found = found || measures(robot.description, seen->channel);
    }
    if (found) continue;
    throw ModelError(fmt::format(
        "{}: fault {}: channel = {}{}: no controller of the scene measures it; robots: {}",
        fault.origin, fault.name, seen->channel.name(),
        fault.robot ? fmt::format(", robot = \"{}\"", *fault.robot) : "",
        known.empty() ? "none" : known));
  }
}

}  // namespace tendril::simulation
