#include "tendril/model/continuum/observations.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tendril/model/continuum/description.hpp"
#include "tendril/model/continuum/tendon_statics.hpp"
#include "tendril/model/reading_variance.hpp"

namespace tendril {
namespace {

constexpr double kGuideBend = 0.05;  // of the body in the clearance of its guide [rad],
constexpr double kGuideTime = 1.0;   // for so long [s]

/// Deviation of readings of an arm of this length [m] from those of a model of constant curvatures.
/// @param period  of the readings [s]
double model_deviation(const Observed& observed, const ContinuumDescription& robot, double period) {
  const double length = rest_length(robot);
  switch (observed.kind) {
    case SensorKind::Coordinates:
      // Bends in the clearance of a guide last: as noise of the same density.
      if (robot.guide.exists())
        return kGuideBend * std::sqrt(std::max(1.0, 2.0 * kGuideTime / period));
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

/// Deviation of what measures the tension of a tendon [N]; nothing: its tension is not measured.
std::optional<double> measured_tension_deviation(const ContinuumDescription& robot, int tendon) {
  for (const RobotSensor& table : robot.sensors)
    for (const EngineSensor& one : table.sensors)
      if (one.tension_of == tendon) return std::sqrt(reading_variance(one));
  return std::nullopt;
}

bool is_same_place(const BodyPlace& a, const BodyPlace& b) {
  return a.section == b.section && a.fraction == b.fraction;
}

}  // namespace

ArmObservations observations(const ContinuumDescription& robot, double timestep) {
  const bool turns = robot.kinematics().last_turning() >= 0;
  ArmObservations all;
  all.tension_deviations.resize(static_cast<std::size_t>(tendon_count(robot)));
  for (const RobotSensor& table : robot.sensors) {
    const std::size_t first = all.sensors.size();
    for (const EngineSensor& one : table.sensors) {
      ArmObservations::Use& use = all.uses.emplace_back();
      use.tension_of = one.tension_of;
      use.drum_of = one.drum_of;
      use.is_orientation = one.is_orientation;
      use.width = one.is_orientation ? 3 : one.width;
      double stretch_deviation = 0.0;  // of the length that follows from a drum [m]
      if (one.tension_of >= 0)
        all.tension_deviations[static_cast<std::size_t>(one.tension_of)] =
            std::sqrt(reading_variance(one));
      if (one.drum_of >= 0) {
        const auto t = static_cast<std::size_t>(one.drum_of);
        const double stiffness = robot.tendons[t].stiffness;
        const std::optional<double> tension = measured_tension_deviation(robot, one.drum_of);
        if (!tension) {
          all.tension_deviations[t] = stiffness * std::sqrt(reading_variance(one));
          continue;
        }
        stretch_deviation = *tension / stiffness;
      }
      if (!one.observed) continue;
      Observed observed = *one.observed;
      // The roll of a tip that turns is not that of the estimate.
      if (turns && observed.kind == SensorKind::Rotation) observed.kind = SensorKind::Direction;
      const double model =
          model_deviation(observed, robot, table.rate > 0.0 ? 1.0 / table.rate : timestep);
      const double deviation =
          std::sqrt(reading_variance(one) + model * model + stretch_deviation * stretch_deviation);
      std::size_t s = first;
      while (s < all.sensors.size() &&
             (all.sensors[s].kind != observed.kind ||
              !is_same_place(all.sensors[s].place, observed.place) ||
              (one.drum_of >= 0 && all.sensors[s].deviation != deviation)))
        ++s;
      if (s == all.sensors.size()) {
        all.sensors.push_back({.kind = observed.kind,
                               .deviation = deviation,
                               .place = observed.place,
                               .delay = table.delay + (one.is_late ? timestep : 0.0)});
      }
      use.sensor = static_cast<int>(s);
      use.index = observed.index;
      use.factor = observed.factor;
      use.offset = observed.offset;
    }
  }
  return all;
}

}  // namespace tendril
