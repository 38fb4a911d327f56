#pragma once

#include <mujoco/mujoco.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/experiment/metric.hpp"
#include "simulation/scene/robot_bodies.hpp"

namespace tendril::simulation {

/// Measures metrics during a run. All memory is allocated when metrics are added.
class Metrics {
 public:
  /// `model` must outlive the metrics.
  explicit Metrics(const mjModel& model);

  /// Says what the scene lacks that the metric needs (sensor, geom, actuator, robot); empty:
  /// nothing.
  [[nodiscard]] std::string problem(const Metric& metric) const;

  /// Adds a metric and returns its index. Throws ModelError `<name>: <problem>` if the scene lacks
  /// what it needs.
  /// @param threshold  settle_time only [m]
  int add(const Metric& metric, const Window& window = {}, double threshold = 0.0);

  /// Adds the metrics of every summary: for all signals and quantities of the scene, the statistics
  /// named in their rows.
  void add_defaults();

  /// Evaluates the signals after a step that started at `time` [s]. Does not allocate.
  void sample(const mjModel& model, const mjData& data, double time) noexcept;

  [[nodiscard]] int count() const noexcept { return static_cast<int>(entries_.size()); }
  [[nodiscard]] const Metric& metric(int index) const { return entry(index).metric; }
  /// "m", "N", "s" ...; empty for plain numbers and named sensors.
  [[nodiscard]] const std::string& unit(int index) const { return entry(index).unit; }
  /// NaN if no step is within the window; +inf for a settle_time that was not reached; NaN for
  /// metrics of the run.
  [[nodiscard]] double value(int index) const;

 private:
  /// The present name of a metric, or of a sensor of the scene, that was renamed; empty if there is
  /// none.
  [[nodiscard]] std::string present_metric(const Metric& metric) const;
  [[nodiscard]] std::string present_sensor(const std::string& name) const;
  [[nodiscard]] std::string not_reported(std::string_view signal) const;

  /// The present value of a signal; `object`: geom or actuator, for a signal of one.
  using Read = double (*)(const Metrics& self, const mjModel&, const mjData&, int object) noexcept;
  struct Reader {
    std::string_view signal;
    Read read;
  };
  static const Reader kReaders[];
  struct Source {  ///< one signal, evaluated once per step
    std::string signal;
    std::vector<int> sensors;  ///< of a signal read from sensors: the worst one counts
    bool smallest_is_worst = false;
    Read read = nullptr;  ///< of other signals
    int object = -1;      ///< geom or actuator, of a signal of one
    int reading = -1;     ///< sensor that the other one is compared with
    double value = 0.0;
  };
  struct Entry {
    Metric metric;
    Window window;
    std::string unit;
    double threshold = 0.0;
    int source = -1;
    long samples = 0;
    double last = 0.0, max = 0.0, min = 0.0, sum = 0.0, sum_of_squares = 0.0;
    double settled_since = std::numeric_limits<double>::infinity();
  };
  /// A quantity declared by a controller for which the scene has sensors.
  struct Reported {
    std::string name, unit, summary;
    bool smallest_is_worst = false;
    std::vector<int> sensors;
  };
  [[nodiscard]] const Entry& entry(int index) const {
    return entries_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] const Reported* reported(std::string_view name) const;
  [[nodiscard]] static Read reader_of(std::string_view signal);
  [[nodiscard]] double evaluate(const Source& source, const mjModel& model,
                                const mjData& data) const noexcept;
  void read_contacts(const mjModel& model, const mjData& data) noexcept;
  void add_energy(const mjModel& model, const mjData& data) noexcept;
  /// Returns the sensor that is the reading of another one; -1: none.
  [[nodiscard]] int reading_of(const std::string& sensor) const;
  [[nodiscard]] std::string missing_actuator(const Metric& metric, MetricOf of) const;
  void find_links();
  /// Sum of angle(link pair) over a robot's pairs; over all robots, the one of largest magnitude.
  template <typename PairAngle>
  [[nodiscard]] double largest_winding(const PairAngle& pair_angle) const noexcept;
  static double limit_margin(const Metrics& self, const mjModel& model, const mjData& data,
                             int geom) noexcept;
  static double winding(const Metrics& self, const mjModel& model, const mjData& data,
                        int geom) noexcept;
  static double passing(const Metrics& self, const mjModel& model, const mjData& data,
                        int geom) noexcept;
  static double contact_span(const Metrics& self, const mjModel& model, const mjData& data,
                             int geom) noexcept;

  /// Two neighboring links of a robot, by the first geom of each.
  struct LinkPair {
    int first, second;  ///< geoms
    int robot;          ///< body of the base
    double radius;      ///< of the second [m]
  };
  /// Sums over the contacts between robots and other objects at one instant.
  struct Contacts {
    double force = 0.0, largest_force = 0.0;  ///< normal [N]
    double penetration = 0.0;                 ///< [m]
    double count = 0.0, self_count = 0.0;
  };

  const mjModel& model_;
  RobotBodies robots_;
  std::vector<Reported> reported_;
  bool needs_contacts_ = false;
  bool needs_energy_ = false;
  std::vector<int> limited_joints_;  ///< of robots
  std::vector<int> robot_actuators_;
  std::vector<double> energy_;        ///< of each actuator since the start [J]
  std::vector<LinkPair> link_pairs_;  ///< ordered by robot
  std::vector<Source> sources_;
  std::vector<Entry> entries_;
  Contacts contacts_;
};

}  // namespace tendril::simulation
