#include "tendril/model/continuum/observations.hpp"

#include <cmath>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/reading_variance.hpp"

namespace tendril {
namespace {

/// Deviation of readings of an arm of this length [m] from those of a model of constant curvatures.
double model_deviation(const Observed& observed, const ContinuumDescription& robot) {
  const double length = rest_length(robot);
  switch (observed.kind) {
    case SensorKind::Coordinates:
      return 1e-4;  // rad, m
    case SensorKind::TendonLength:
      return 1e-4 * length;
    case SensorKind::Position:
      return 1e-3 * length;
    case SensorKind::Direction:
    case SensorKind::Rotation:
      return 5e-3;
    case SensorKind::Curvature:
      return 0.02 / length;
    case SensorKind::BaseForce:
      return 0.05;
    case SensorKind::BaseMoment:
      return 0.05 * length;
  }
  return 0.0;
}

bool is_same_place(const BodyPlace& a, const BodyPlace& b) {
  return a.section == b.section && a.fraction == b.fraction;
}

}  // namespace

ArmObservations observations(const ContinuumDescription& robot, double timestep) {
  ArmObservations all;
  for (const RobotSensor& table : robot.sensors) {
    const std::size_t first = all.sensors.size();
    for (const EngineSensor& one : table.sensors) {
      ArmObservations::Use& use = all.uses.emplace_back();
      use.tension_of = one.tension_of;
      if (!one.observed) continue;
      const Observed& observed = *one.observed;
      std::size_t s = first;
      while (s < all.sensors.size() && (all.sensors[s].kind != observed.kind ||
                                        !is_same_place(all.sensors[s].place, observed.place)))
        ++s;
      if (s == all.sensors.size()) {
        const double model = model_deviation(observed, robot);
        all.sensors.push_back({.kind = observed.kind,
                               .deviation = std::sqrt(reading_variance(one) + model * model),
                               .place = observed.place,
                               .delay = table.delay + (one.is_late ? timestep : 0.0)});
      }
      use.sensor = static_cast<int>(s);
      use.index = observed.index;
      use.is_orientation = one.is_orientation;
      use.width = one.is_orientation ? 3 : one.width;
      use.factor = observed.factor;
      use.offset = observed.offset;
    }
  }
  return all;
}

}  // namespace tendril
