#include "simulation/experiment/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

#include "controllers/interface/controller.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

constexpr SignalInfo kSignals[] = {
    {"wall_force_single", "N", MetricOf::Robots,
     "largest normal force of one contact between a robot and something else", "max"},
    {"wall_force", "N", MetricOf::Robots,
     "sum of the normal forces between robots and everything else at one instant", "max end"},
    {"penetration", "m", MetricOf::Robots, "deepest overlap of such a contact, 0 without contact",
     "max end"},
    {"contact_count", "", MetricOf::Robots, "number of such contacts", "max"},
    {"self_contact_count", "", MetricOf::Robots, "contacts between two parts of one robot"},
    {"limit_margin", "rad or m", MetricOf::Joints,
     "smallest distance of a robot's joints from the ends of their ranges, negative outside them"},
    {"speed", "rad/s or m/s", MetricOf::Scene, "largest joint speed after the step", "max end"},
    {"engine_iterations", "", MetricOf::Scene,
     "iterations of the engine's constraint solver, all islands", "max mean"},
    {"energy", "J", MetricOf::Actuators,
     "mechanical work of the robots' actuators since the start of the run, each moment counted as "
     "positive: the sum over steps and actuators of |force x velocity| times the time step",
     "end"},
    {"actuator_energy", "J", MetricOf::Actuator, "the same of the actuator NAME"},
    {"sensor", "", MetricOf::Sensor, "the sensor NAME; its norm if it is a vector"},
    {"reading_error", "", MetricOf::Sensor,
     "the norm of the difference between the sensor NAME and its reading"},
    {"winding", "rad", MetricOf::RoundGeom,
     "angle by which an arm winds around the axis of the cylinder or capsule NAME, over the links "
     "between its end faces and no farther from its surface than the link's radius"},
    {"passing", "rad", MetricOf::Geom,
     "the same for the whole arm at any distance, around any geom's z axis: its sign is the side "
     "on which the arm passes"},
    {"contact_span", "rad", MetricOf::RoundGeom,
     "angle about the axis of the cylinder or capsule NAME spanned by its contacts with robots: "
     "2 pi minus the widest gap, 0 for one contact"},
    {"real_time_factor", "", MetricOf::Run, "simulated time over wall time"},
    {"step_time_mean", "us", MetricOf::Run, "mean wall time of the engine's step"},
    {"step_time_p999", "us", MetricOf::Run, "99.9th percentile of the same"},
};

struct StatisticName {
  std::string_view name;
  Statistic statistic;
};
constexpr StatisticName kStatistics[] = {{"end", Statistic::End},
                                         {"max", Statistic::Max},
                                         {"min", Statistic::Min},
                                         {"mean", Statistic::Mean},
                                         {"rms", Statistic::Rms}};

bool is_named(MetricOf of) {
  return of == MetricOf::Sensor || of == MetricOf::Geom || of == MetricOf::RoundGeom ||
         of == MetricOf::Actuator;
}

const StatisticName* statistic_name(std::string_view name) {
  const auto found = std::find_if(std::begin(kStatistics), std::end(kStatistics),
                                  [&](const StatisticName& s) { return s.name == name; });
  return found == std::end(kStatistics) ? nullptr : found;
}

std::string names_of(bool (*chosen)(const SignalInfo&)) {
  std::string names;
  for (const SignalInfo& signal : kSignals)
    if (chosen(signal)) names += fmt::format("{}{}", names.empty() ? "" : "|", signal.name);
  return names;
}

/// ` (did you mean tip_error_max?)` for a name with an unknown statistic or the like.
std::string meant_metric(const std::string& name) {
  std::vector<std::string> names{"settle_time"};
  for (const SignalInfo& signal : kSignals) names.emplace_back(signal.name);
  const std::size_t last = name.find_last_of("_:");
  if (last != name.npos) {
    for (const StatisticName& statistic : kStatistics)
      names.push_back(name.substr(0, last + 1) + std::string(statistic.name));
  }
  return meant_text(name, names);
}

}  // namespace

std::span<const SignalInfo> signal_table() noexcept { return kSignals; }

const SignalInfo* find_signal(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(kSignals), std::end(kSignals),
                                  [&](const SignalInfo& s) { return s.name == name; });
  return found == std::end(kSignals) ? nullptr : found;
}

bool Metric::of_run() const noexcept {
  const SignalInfo* const info = find_signal(signal);
  return info != nullptr && info->of == MetricOf::Run;
}

std::pair<double, double> possible_range(const Metric& metric) noexcept {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLastStatus = kStatusCount - 1;
  struct Range {
    std::string_view signal;
    double high = kInfinity;  // low: 0
  };
  constexpr Range kRanges[] = {{"tip_error"},           {"angle_error", std::numbers::pi},
                               {"status", kLastStatus}, {"progress", 1.0},
                               {"following_error"},     {"reading_error"},
                               {"path_error"},          {"ik_iterations"},
                               {"wall_force"},          {"wall_force_single"},
                               {"penetration"},         {"contact_count"},
                               {"self_contact_count"},  {"speed"},
                               {"engine_iterations"},   {"energy"},
                               {"actuator_energy"},     {"contact_span", 2.0 * std::numbers::pi},
                               {"real_time_factor"},    {"step_time_mean"},
                               {"step_time_p999"}};
  if (metric.statistic == Statistic::SettleTime) return {0.0, kInfinity};
  for (const Range& range : kRanges)
    if (range.signal == metric.signal) return {0.0, range.high};
  return {-kInfinity, kInfinity};
}

Metric parse_metric(const std::string& name) {
  if (const SignalInfo* info = find_signal(name); info != nullptr && info->of == MetricOf::Run)
    return {.name = name, .signal = name, .object = {}};
  if (name == "settle_time")
    return {.name = name, .signal = "tip_error", .object = {}, .statistic = Statistic::SettleTime};

  const std::string_view text = name;
  const std::size_t first = text.find(':');
  const std::size_t last = first == text.npos ? text.rfind('_') : text.rfind(':');
  if (last != text.npos && last > 0) {
    const StatisticName* const statistic = statistic_name(text.substr(last + 1));
    const std::string_view signal = text.substr(0, std::min(first, last));
    const std::string_view object = first < last ? text.substr(first + 1, last - first - 1) : "";
    const SignalInfo* const info = find_signal(signal);
    const bool fits = info == nullptr
                          ? first == text.npos
                          : is_named(info->of) == !object.empty() && info->of != MetricOf::Run;
    if (statistic != nullptr && fits)
      return {name, std::string(signal), std::string(object), statistic->statistic};
  }
  const auto is_metric = [](std::string_view other) {
    return find_signal(other.substr(0, other.rfind('_'))) != nullptr;
  };
  if (const std::string_view now = present_name(name, is_metric); !now.empty())
    throw ModelError(fmt::format("is called {} now", now));
  throw ModelError(fmt::format(
      "must be SIGNAL_(end|max|min|mean|rms) with SIGNAL a quantity reported by a controller of "
      "the scene (tip_error, status, ...) or one of {}; or ({}):NAME:(end|max|min|mean|rms), "
      "settle_time, {}{}",
      names_of([](const SignalInfo& s) { return !is_named(s.of) && s.of != MetricOf::Run; }),
      names_of([](const SignalInfo& s) { return is_named(s.of); }),
      names_of([](const SignalInfo& s) { return s.of == MetricOf::Run; }), meant_metric(name)));
}

}  // namespace tendril::simulation
