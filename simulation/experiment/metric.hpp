#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tendril::simulation {

/// The object of a metric.
enum class MetricOf {
  Run,        ///< of the whole run, without a statistic: `real_time_factor`
  Scene,      ///< of the scene: `speed_max`
  Robots,     ///< of the robots' contacts; needs one robot
  Joints,     ///< of the robots' joints with a range
  Actuators,  ///< of the robots' actuators
  Actuator,   ///< of a named actuator
  Sensor,     ///< of a named sensor: `sensor:NAME:max`
  Geom,       ///< of the robots and a named geom: `passing:NAME:end`
  RoundGeom   ///< the same, a capsule or a cylinder
};

/// A signal measured by the runner, one value per step: a row of the documented table. In addition,
/// every quantity declared by a controller of the scene is a signal under its own name.
struct SignalInfo {
  const char* name;
  const char* unit;
  MetricOf of;
  const char* meaning;
  const char* summary = "";  ///< statistics in every summary, "max end"
};
[[nodiscard]] std::span<const SignalInfo> signal_table() noexcept;
/// Returns the row of this name; null for a quantity of controllers.
[[nodiscard]] const SignalInfo* find_signal(std::string_view name) noexcept;

enum class Statistic { End, Max, Min, Mean, Rms, SettleTime };

/// A parsed name of a metric.
struct Metric {
  std::string name;    ///< as written: `tip_error_max`, `sensor:A_feed:mean`
  std::string signal;  ///< `tip_error`, `sensor`
  std::string object;  ///< name of the sensor, geom or actuator, for signals of one
  Statistic statistic = Statistic::End;  ///< without meaning for a metric of the run
  [[nodiscard]] bool of_run() const noexcept;
};

/// Range of what a metric can be, whatever happens in a run: a check of only an end that it cannot
/// pass never fails. Infinite ends where nothing is known.
[[nodiscard]] std::pair<double, double> possible_range(const Metric& metric) noexcept;

/// Parses a metric's name: `<signal>_<statistic>`, `<signal>:NAME:<statistic>` for signals of a
/// named object, `settle_time`, or a metric of the run. `Metrics` checks that the scene has the
/// signal. Throws ModelError `must be ...`.
[[nodiscard]] Metric parse_metric(const std::string& name);

/// The evaluated part of a run: after <= t <= before, t the start of the step.
struct Window {
  double after = 0.0;                                       ///< [s]
  double before = std::numeric_limits<double>::infinity();  ///< [s]
};

}  // namespace tendril::simulation
