#include "plugin/drum_sensors.hpp"

#include <algorithm>

namespace tendril {

DrumSensors::DrumSensors(const mjModel* m, const RobotNames& names, const RobotDescription& robot) {
  const auto* const arm = std::get_if<ContinuumDescription>(&robot);
  if (arm == nullptr) return;
  for (const RobotSensor& table : arm->sensors) {
    for (const EngineSensor& one : table.sensors) {
      if (one.drum_of < 0) continue;
      const Tendon& tendon = arm->tendons[static_cast<std::size_t>(one.drum_of)];
      drums_.push_back({m->sensor_adr[require_element(m, names, mjOBJ_SENSOR, one.name)],
                        require_element(m, names, mjOBJ_ACTUATOR, tendon.name),
                        require_element(m, names, mjOBJ_TENDON, tendon.name), tendon.stiffness,
                        tendon.pretension, arm->written_damping_time(tendon.damping_time)});
    }
  }
}

void DrumSensors::write(const mjModel* m, mjData* d) const noexcept {
  for (const Drum& drum : drums_) {
    const int a = drum.actuator;
    const mjtNum* const bias = m->actuator_biasprm + mjNBIAS * a;
    const mjtNum speed = d->ten_velocity[drum.tendon];
    const mjtNum tension = m->actuator_gainprm[mjNGAIN * a] * d->ctrl[m->actuator_ctrladr[a]] +
                           bias[0] - bias[1] * d->ten_length[drum.tendon] - bias[2] * speed;
    const mjtNum length = d->ten_length[drum.tendon] - m->tendon_length0[drum.tendon];
    d->sensordata[drum.address] =
        length + drum.damping_time * speed -
        (std::min(tension, m->actuator_forcerange[2 * a + 1]) - drum.pretension) / drum.stiffness;
  }
}

bool is_drum_sensor(const RobotDescription& robot, std::string_view name) {
  return std::ranges::any_of(sensors_of(robot), [&](const RobotSensor& table) {
    return std::ranges::any_of(table.sensors, [&](const EngineSensor& one) {
      return one.drum_of >= 0 && one.name == name;
    });
  });
}

}  // namespace tendril
