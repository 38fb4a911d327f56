#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace tendril::host {

/// What a metric is measured of.
enum class MetricOf {
  Run,       ///< of the whole run, no statistic: `real_time_factor`
  Scene,     ///< of the scene: `speed_max`
  Robots,    ///< of the robots' contacts; needs one robot
  Joints,    ///< of the robots' joints that have a range
  Sensor,    ///< of a named sensor: `sensor:NAME:max`
  Geom,      ///< of the robots and a named geom: `passing:NAME:end`
  RoundGeom  ///< the same, a capsule or a cylinder
};

/// A signal that the runner measures itself, one value per step: a row of the documented table.
/// Beside these, everything that a controller of the scene declares is a signal under its own name.
struct SignalInfo {
  const char* name;
  const char* unit;
  MetricOf of;
  const char* meaning;
  const char* summary = "";  ///< statistics that every summary has, "max end"
};
[[nodiscard]] std::span<const SignalInfo> signal_table() noexcept;
/// The row of this name; null for what only controllers can declare.
[[nodiscard]] const SignalInfo* find_signal(std::string_view name) noexcept;

enum class Statistic { End, Max, Min, Mean, Rms, SettleTime };

/// A metric's name, read.
struct Metric {
  std::string name;                      ///< as written: `tip_error_max`, `sensor:A_feed:mean`
  std::string signal;                    ///< `tip_error`, `sensor`
  std::string object;                    ///< name of a sensor or geom, for signals of one
  Statistic statistic = Statistic::End;  ///< of no meaning for a metric of the run
  [[nodiscard]] bool of_run() const noexcept;
};

/// Reads a metric's name: `<signal>_<statistic>`, `<signal>:NAME:<statistic>` for signals of a named
/// object, `settle_time`, or a metric of the run. Whether the scene has the signal is known when the
/// metric is added to `Metrics`. Throws ModelError `must be ...`.
[[nodiscard]] Metric parse_metric(const std::string& name);

/// The part of a run that counts: after <= t <= before, t the start of the step.
struct Window {
  double after = 0.0;                                       ///< [s]
  double before = std::numeric_limits<double>::infinity();  ///< [s]
};

}  // namespace tendril::host
