#pragma once

#include <mujoco/mujoco.h>

#include <limits>
#include <string>
#include <vector>

namespace tendril::host {

/// A quantity with one value per step; the list with meanings is docs/experiment_file.md.
enum class Signal {
  TipError,          ///< largest sensor whose name ends with `tip_error` [m]
  AngleError,        ///< same, `angle_error` [rad]
  Progress,          ///< smallest sensor whose name ends with `progress`, 0..1
  Status,            ///< largest sensor whose name ends with `status`
  SolverIterations,  ///< largest sensor whose name ends with `iterations`: of the inverse
                     ///< kinematics
  WallForce,         ///< sum of normal forces between robots and everything else at one instant [N]
  WallForceSingle,   ///< largest normal force of one such contact [N]
  Penetration,       ///< deepest overlap of such a contact, 0 without contact [m]
  ContactCount,      ///< number of such contacts
  SelfContactCount,  ///< number of contacts between two parts of one robot
  LimitMargin,       ///< least distance of a robot's joints from the ends of their ranges, negative
                     ///< beyond them [rad or m]
  Speed,             ///< largest |qvel| after the step [rad/s or m/s]
  EngineIterations,  ///< iterations of the engine's constraint solver, all islands
  Winding,           ///< angle that an arm goes round a named geom [rad]
  Passing,           ///< the same of the whole arm, near or far [rad]
  ContactSpan,       ///< angle round a named geom that its contacts with robots span [rad]
  Sensor,            ///< a named sensor, its norm when it has several numbers
};

enum class Statistic { End, Max, Min, Mean, Rms, SettleTime };

/// A parsed metric name.
struct Metric {
  std::string name;  ///< as written: `tip_error_max`, `sensor:A_feed:mean`, `settle_time`
  Signal signal = Signal::TipError;
  Statistic statistic = Statistic::End;
  std::string object;  ///< name of the sensor or geom, for the signals that have one
  bool of_run =
      false;  ///< a number of the whole run, not of a signal: real_time_factor, step_time_…
};

/// Reads a metric's name: `<signal>_<statistic>`, `rest_speed`, `settle_time`,
/// `sensor:NAME:<statistic>`, `winding:GEOM:<statistic>`, `passing:GEOM:<statistic>`,
/// `contact_span:GEOM:<statistic>`, `real_time_factor`, `step_time_mean`, `step_time_p999`. Throws
/// ModelError `metric: name: allowed`.
[[nodiscard]] Metric parse_metric(const std::string& name);

/// "m", "N", "s" …; empty for plain numbers and named sensors.
[[nodiscard]] std::string unit(const Metric& metric);

/// The part of a run that counts: after <= t <= before, t the start of the step.
struct Window {
  double after = 0.0;                                       ///< [s]
  double before = std::numeric_limits<double>::infinity();  ///< [s]
};

/// Measures metrics while a run goes on. All memory is taken while metrics are added.
class Metrics {
 public:
  /// A robot is every body at or below a body whose name is `base` or ends with `base`.
  explicit Metrics(const mjModel& model);

  /// Whether the scene has what the metric needs: a matching sensor, a robot. The reason in `why`
  /// if not.
  [[nodiscard]] bool available(const Metric& metric, std::string* why = nullptr) const;

  /// Adds a metric and returns its index. Throws ModelError when it is not available.
  /// @param threshold  settle_time only [m]
  int add(const Metric& metric, const Window& window = {}, double threshold = 0.0);

  /// Adds what every summary has: all documented metrics that the scene provides, settle_time
  /// excepted.
  void add_defaults();

  /// Reads the model after a step that started at `time`. No allocation.
  void sample(const mjModel& model, const mjData& data, double time) noexcept;

  [[nodiscard]] int count() const noexcept { return static_cast<int>(entries_.size()); }
  [[nodiscard]] const Metric& metric(int index) const { return entry(index).metric; }
  /// NaN when no step fell into the window; +inf for a settle_time that was not reached; NaN for
  /// metrics of the run.
  [[nodiscard]] double value(int index) const;

 private:
  struct Source {  ///< one signal, evaluated once per step
    Signal signal;
    std::vector<int> sensors;
    int geom = -1;  ///< of Winding, Passing and ContactSpan
    double value = 0.0;
  };
  struct Entry {
    Metric metric;
    Window window;
    double threshold = 0.0;
    int source = -1;
    long samples = 0;
    double last = 0.0, max = 0.0, min = 0.0, sum = 0.0, sum_of_squares = 0.0;
    double settled_since = std::numeric_limits<double>::infinity();
  };
  [[nodiscard]] const Entry& entry(int index) const {
    return entries_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::vector<int> sensors_of(const Metric& metric) const;
  [[nodiscard]] double evaluate(const Source& source, const mjModel& model,
                                const mjData& data) const noexcept;
  void read_contacts(const mjModel& model, const mjData& data) noexcept;
  void find_links();
  /// Sum of turn(link pair) over a robot's pairs: of all robots the one with the largest amount.
  template <typename Turn>
  [[nodiscard]] double widest_turn(const Turn& turn) const noexcept;
  [[nodiscard]] double passing(int geom, const mjData& data) const noexcept;
  [[nodiscard]] double limit_margin(const mjModel& model, const mjData& data) const noexcept;
  [[nodiscard]] double winding(int geom, const mjModel& model, const mjData& data) const noexcept;
  [[nodiscard]] double contact_span(int geom, const mjModel& model,
                                    const mjData& data) const noexcept;

  /// Two neighbouring links of a robot, by the first geom of each.
  struct LinkPair {
    int first, second;  ///< geoms
    int robot;          ///< body of the base
    double radius;      ///< of the second [m]
  };

  const mjModel& model_;
  std::vector<int> robot_;  ///< per body: body of the base that it belongs to, 0: none
  bool has_robot_ = false;
  bool needs_contacts_ = false;
  std::vector<int> limited_joints_;   ///< of robots
  std::vector<LinkPair> link_pairs_;  ///< robot by robot
  std::vector<Source> sources_;
  std::vector<Entry> entries_;
  double wall_force_ = 0.0, wall_force_single_ = 0.0, penetration_ = 0.0, contact_count_ = 0.0,
         self_contact_count_ = 0.0;
};

}  // namespace tendril::host
