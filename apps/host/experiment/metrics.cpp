#include "apps/host/experiment/metrics.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "tendril/model_error.hpp"

namespace tendril::host {
namespace {

struct SignalName {
  const char* name;
  Signal signal;
  const char* sensor_suffix;  ///< null: not from a sensor
  const char* unit;
};
constexpr SignalName kSignals[] = {
    {"tip_error", Signal::TipError, "tip_error", "m"},
    {"angle_error", Signal::AngleError, "angle_error", "rad"},
    {"progress", Signal::Progress, "progress", ""},
    {"status", Signal::Status, "status", ""},
    {"solver_iterations", Signal::SolverIterations, "iterations", ""},
    {"wall_force_single", Signal::WallForceSingle, nullptr, "N"},
    {"wall_force", Signal::WallForce, nullptr, "N"},
    {"penetration", Signal::Penetration, nullptr, "m"},
    {"self_contact_count", Signal::SelfContactCount, nullptr, ""},
    {"contact_count", Signal::ContactCount, nullptr, ""},
    {"limit_margin", Signal::LimitMargin, nullptr, "rad or m"},
    {"speed", Signal::Speed, nullptr, "rad/s or m/s"},
    {"engine_iterations", Signal::EngineIterations, nullptr, ""},
};

/// Signals of something that the scene names: `<prefix>NAME:<statistic>`.
struct ObjectSignal {
  std::string_view prefix;
  Signal signal;
  const char* unit;
};
constexpr ObjectSignal kObjectSignals[] = {{"sensor:", Signal::Sensor, ""},
                                           {"winding:", Signal::Winding, "rad"},
                                           {"passing:", Signal::Passing, "rad"},
                                           {"contact_span:", Signal::ContactSpan, "rad"}};

struct StatisticName {
  const char* name;
  Statistic statistic;
};
constexpr StatisticName kStatistics[] = {{"end", Statistic::End},
                                         {"max", Statistic::Max},
                                         {"min", Statistic::Min},
                                         {"mean", Statistic::Mean},
                                         {"rms", Statistic::Rms}};

constexpr const char* kRunMetrics[] = {"real_time_factor", "step_time_mean", "step_time_p999"};

constexpr const char* kDefaults[] = {
    "tip_error_end",          "tip_error_max",   "tip_error_rms",     "tip_error_mean",
    "angle_error_end",        "angle_error_max", "angle_error_rms",   "angle_error_mean",
    "progress_end",           "wall_force_max",  "wall_force_end",    "wall_force_single_max",
    "penetration_max",        "penetration_end", "contact_count_max", "solver_iterations_max",
    "solver_iterations_mean", "status_max",      "status_end",        "engine_iterations_max",
    "engine_iterations_mean", "speed_max",       "rest_speed"};

const SignalName* signal_name(Signal signal) {
  for (const SignalName& s : kSignals) {
    if (s.signal == signal) return &s;
  }
  return nullptr;
}

const StatisticName* statistic_name(std::string_view name) {
  for (const StatisticName& s : kStatistics) {
    if (name == s.name) return &s;
  }
  return nullptr;
}

bool of_round_geom(Signal signal) {
  return signal == Signal::Winding || signal == Signal::ContactSpan;
}

bool of_geom(Signal signal) { return of_round_geom(signal) || signal == Signal::Passing; }

bool of_links(Signal signal) { return signal == Signal::Winding || signal == Signal::Passing; }

bool needs_contacts(Signal signal) {
  return signal == Signal::WallForce || signal == Signal::WallForceSingle ||
         signal == Signal::Penetration || signal == Signal::ContactCount ||
         signal == Signal::SelfContactCount;
}

bool has_round_axis(const mjModel& model, int geom) {
  return model.geom_type[geom] == mjGEOM_CAPSULE || model.geom_type[geom] == mjGEOM_CYLINDER;
}

/// A point in the frame of a geom.
Eigen::Vector3d in_frame(const mjData& data, int geom, const mjtNum* point) noexcept {
  using RowMatrix = Eigen::Matrix<mjtNum, 3, 3, Eigen::RowMajor>;
  const Eigen::Map<const RowMatrix> axes(data.geom_xmat + 9 * geom);
  const Eigen::Map<const Eigen::Vector3d> p(point), centre(data.geom_xpos + 3 * geom);
  return axes.transpose() * (p - centre);
}

/// Angle about the z axis from one point to the other, in (-pi, pi].
double turn_between(const Eigen::Vector3d& p, const Eigen::Vector3d& q) noexcept {
  return std::atan2(p.x() * q.y() - p.y() * q.x(), p.head<2>().dot(q.head<2>()));
}

/// Angle about the z axis from one end to the other of that part of the segment a-b which is inside
/// the cylinder of this radius and half length about the z axis.
double angle_inside(const Eigen::Vector3d& a, const Eigen::Vector3d& b, double radius,
                    double half_length) noexcept {
  const Eigen::Vector3d d = b - a;
  double from = 0.0, to = 1.0;
  const auto clip = [&](double enter, double leave) {
    from = std::max(from, enter);
    to = std::min(to, leave);
  };
  // |a + t d|^2 = radius^2 in the x-y plane
  const double dd = d.head<2>().squaredNorm();
  const double ad = a.head<2>().dot(d.head<2>());
  const double excess = a.head<2>().squaredNorm() - radius * radius;
  if (dd > 0.0) {
    const double discriminant = ad * ad - dd * excess;
    if (discriminant <= 0.0) return 0.0;
    clip((-ad - std::sqrt(discriminant)) / dd, (-ad + std::sqrt(discriminant)) / dd);
  }
  if (d.z() != 0.0) {
    const double low = (-half_length - a.z()) / d.z(), high = (half_length - a.z()) / d.z();
    clip(std::min(low, high), std::max(low, high));
  } else if (std::abs(a.z()) > half_length) {
    return 0.0;
  }
  if (from >= to) return 0.0;
  return turn_between(a + from * d, a + to * d);
}

}  // namespace

Metric parse_metric(const std::string& name) {
  Metric metric;
  metric.name = name;
  if (std::find(std::begin(kRunMetrics), std::end(kRunMetrics), name) != std::end(kRunMetrics)) {
    metric.of_run = true;
    return metric;
  }
  if (name == "settle_time") {
    metric.statistic = Statistic::SettleTime;
    return metric;
  }
  if (name == "rest_speed") {
    metric.signal = Signal::Speed;
    return metric;
  }
  for (const ObjectSignal& s : kObjectSignals) {
    if (!name.starts_with(s.prefix)) continue;
    const std::size_t colon = name.rfind(':');
    const StatisticName* statistic = statistic_name(std::string_view(name).substr(colon + 1));
    if (statistic == nullptr || colon <= s.prefix.size()) break;
    metric.signal = s.signal;
    metric.statistic = statistic->statistic;
    metric.object = name.substr(s.prefix.size(), colon - s.prefix.size());
    return metric;
  }
  const std::size_t underscore = name.rfind('_');
  if (underscore != std::string::npos) {
    const StatisticName* statistic = statistic_name(std::string_view(name).substr(underscore + 1));
    for (const SignalName& s : kSignals) {
      if (statistic == nullptr || name.substr(0, underscore) != s.name) continue;
      metric.signal = s.signal;
      metric.statistic = statistic->statistic;
      return metric;
    }
  }
  std::string signals;
  for (const SignalName& s : kSignals) signals += std::string(signals.empty() ? "" : "|") + s.name;
  throw ModelError(fmt::format(
      "metric: {}: must be ({})_(end|max|min|mean|rms), settle_time, rest_speed, real_time_factor, "
      "step_time_mean, step_time_p999 or "
      "(sensor|winding|passing|contact_span):NAME:(end|max|min|mean|rms)",
      name, signals));
}

std::string unit(const Metric& metric) {
  if (metric.of_run) return metric.name == "real_time_factor" ? "" : "us";
  if (metric.statistic == Statistic::SettleTime) return "s";
  for (const ObjectSignal& s : kObjectSignals) {
    if (s.signal == metric.signal) return s.unit;
  }
  const SignalName* s = signal_name(metric.signal);
  return s == nullptr ? "" : s->unit;
}

Metrics::Metrics(const mjModel& model) : model_(model) {
  robot_.assign(static_cast<std::size_t>(model.nbody), 0);
  for (int body = 1; body < model.nbody; ++body) {
    const char* name = mj_id2name(&model, mjOBJ_BODY, body);
    const bool is_base = name != nullptr && std::string_view(name).ends_with("base");
    const int parent = robot_[static_cast<std::size_t>(model.body_parentid[body])];
    robot_[static_cast<std::size_t>(body)] = parent == 0 && is_base ? body : parent;
    has_robot_ = has_robot_ || is_base;
  }
  for (int joint = 0; joint < model.njnt; ++joint) {
    const bool is_scalar =
        model.jnt_type[joint] == mjJNT_HINGE || model.jnt_type[joint] == mjJNT_SLIDE;
    if (is_scalar && model.jnt_limited[joint] &&
        robot_[static_cast<std::size_t>(model.jnt_bodyid[joint])] != 0)
      limited_joints_.push_back(joint);
  }
}

std::vector<int> Metrics::sensors_of(const Metric& metric) const {
  std::vector<int> found;
  const SignalName* signal = signal_name(metric.signal);
  for (int i = 0; i < model_.nsensor; ++i) {
    const char* id = mj_id2name(&model_, mjOBJ_SENSOR, i);
    const std::string_view name = id == nullptr ? "" : id;
    const bool desired = metric.signal == Signal::Sensor
                             ? name == metric.object
                             : signal != nullptr && signal->sensor_suffix != nullptr &&
                                   name.ends_with(signal->sensor_suffix);
    if (desired) found.push_back(i);
  }
  return found;
}

bool Metrics::available(const Metric& metric, std::string* why) const {
  std::string reason;
  if (!metric.of_run) {
    const SignalName* signal = signal_name(metric.signal);
    if (metric.signal == Signal::Sensor && sensors_of(metric).empty()) {
      reason = fmt::format("the scene has no sensor '{}'", metric.object);
    } else if (signal != nullptr && signal->sensor_suffix != nullptr &&
               sensors_of(metric).empty()) {
      reason =
          fmt::format("the scene has no sensor whose name ends with '{}'", signal->sensor_suffix);
    } else if (of_geom(metric.signal) &&
               mj_name2id(&model_, mjOBJ_GEOM, metric.object.c_str()) < 0) {
      reason = fmt::format("the scene has no geom '{}'", metric.object);
    } else if (of_round_geom(metric.signal) &&
               !has_round_axis(model_, mj_name2id(&model_, mjOBJ_GEOM, metric.object.c_str()))) {
      reason = fmt::format("the geom '{}' must be a capsule or cylinder", metric.object);
    } else if ((needs_contacts(metric.signal) || of_geom(metric.signal)) && !has_robot_) {
      reason = "the scene has no robot: no body whose name ends with 'base'";
    } else if (metric.signal == Signal::LimitMargin && limited_joints_.empty()) {
      reason = "no robot of the scene has a joint with a limit";
    }
  }
  if (why != nullptr) *why = reason;
  return reason.empty();
}

int Metrics::add(const Metric& metric, const Window& window, double threshold) {
  std::string why;
  if (!available(metric, &why)) throw ModelError(fmt::format("metric: {}: {}", metric.name, why));
  Entry entry;
  entry.metric = metric;
  entry.window = window;
  entry.threshold = threshold;
  if (!metric.of_run) {
    const std::vector<int> sensors = sensors_of(metric);
    const int geom =
        of_geom(metric.signal) ? mj_name2id(&model_, mjOBJ_GEOM, metric.object.c_str()) : -1;
    const auto same = [&](const Source& s) {
      return s.signal == metric.signal && s.sensors == sensors && s.geom == geom;
    };
    const auto source = std::find_if(sources_.begin(), sources_.end(), same);
    entry.source = static_cast<int>(source - sources_.begin());
    if (source == sources_.end()) sources_.push_back({metric.signal, sensors, geom});
    needs_contacts_ = needs_contacts_ || needs_contacts(metric.signal);
    if (of_links(metric.signal) && link_pairs_.empty()) find_links();
  }
  entries_.push_back(entry);
  return count() - 1;
}

void Metrics::add_defaults() {
  for (const char* name : kDefaults) {
    const Metric metric = parse_metric(name);
    if (available(metric)) add(metric);
  }
}

void Metrics::read_contacts(const mjModel& model, const mjData& data) noexcept {
  wall_force_ = wall_force_single_ = penetration_ = contact_count_ = self_contact_count_ = 0.0;
  for (int i = 0; i < data.ncon; ++i) {
    const mjContact& contact = data.contact[i];
    const auto robot_of = [&](int geom) {
      return geom < 0 ? 0 : robot_[static_cast<std::size_t>(model.geom_bodyid[geom])];
    };
    const int first = robot_of(contact.geom[0]), second = robot_of(contact.geom[1]);
    if (first != 0 && first == second) self_contact_count_ += 1.0;
    if ((first != 0) == (second != 0)) continue;
    mjtNum force[6];
    mj_contactForce(&model, &data, i, force);
    wall_force_ += force[0];
    wall_force_single_ = std::max(wall_force_single_, force[0]);
    penetration_ = std::max(penetration_, -contact.dist);
    contact_count_ += 1.0;
  }
}

/// Links are the bodies below a base that have geoms; bodies of one robot have neighbouring
/// numbers.
void Metrics::find_links() {
  int base = -1;
  for (int body = 1; body < model_.nbody; ++body) {
    const auto is_link = [&](int b) {
      return robot_[static_cast<std::size_t>(b)] != 0 && model_.body_geomnum[b] > 0;
    };
    const int parent = model_.body_parentid[body];
    if (robot_[static_cast<std::size_t>(parent)] == 0) {
      base = body;
    } else if (parent != base && is_link(parent) && is_link(body)) {
      const int geom = model_.body_geomadr[body];
      link_pairs_.push_back({model_.body_geomadr[parent], geom, base, model_.geom_size[3 * geom]});
    }
  }
}

double Metrics::limit_margin(const mjModel& model, const mjData& data) const noexcept {
  double margin = std::numeric_limits<double>::infinity();
  for (const int joint : limited_joints_) {
    const mjtNum* range = model.jnt_range + 2 * joint;
    const mjtNum q = data.qpos[model.jnt_qposadr[joint]];
    margin = std::min({margin, q - range[0], range[1] - q});
  }
  return margin;
}

template <typename Turn>
double Metrics::widest_turn(const Turn& turn) const noexcept {
  double widest = 0.0, angle = 0.0;
  for (std::size_t i = 0; i < link_pairs_.size(); ++i) {
    const LinkPair& pair = link_pairs_[i];
    angle += turn(pair);
    const bool last = i + 1 == link_pairs_.size() || link_pairs_[i + 1].robot != pair.robot;
    if (!last) continue;
    if (std::abs(angle) > std::abs(widest)) widest = angle;
    angle = 0.0;
  }
  return widest;
}

double Metrics::winding(int geom, const mjModel& model, const mjData& data) const noexcept {
  const double geom_radius = model.geom_size[3 * geom];
  const double half_length = model.geom_size[3 * geom + 1];
  return widest_turn([&](const LinkPair& pair) {
    const double near = geom_radius + 2.0 * pair.radius;  // a gap as wide as the link's radius
    return angle_inside(in_frame(data, geom, data.geom_xpos + 3 * pair.first),
                        in_frame(data, geom, data.geom_xpos + 3 * pair.second), near, half_length);
  });
}

double Metrics::passing(int geom, const mjData& data) const noexcept {
  return widest_turn([&](const LinkPair& pair) {
    return turn_between(in_frame(data, geom, data.geom_xpos + 3 * pair.first),
                        in_frame(data, geom, data.geom_xpos + 3 * pair.second));
  });
}

/// A full turn less the widest gap between neighbouring contacts.
double Metrics::contact_span(int geom, const mjModel& model, const mjData& data) const noexcept {
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const auto touches = [&](int i) {
    const mjContact& contact = data.contact[i];
    if (contact.geom[0] != geom && contact.geom[1] != geom) return false;
    const int other = contact.geom[contact.geom[0] == geom ? 1 : 0];
    return other >= 0 && robot_[static_cast<std::size_t>(model.geom_bodyid[other])] != 0;
  };
  const auto azimuth = [&](int i) {
    const Eigen::Vector3d p = in_frame(data, geom, data.contact[i].pos);
    return std::atan2(p.y(), p.x());
  };
  double widest_gap = 0.0;
  bool any = false;
  for (int i = 0; i < data.ncon; ++i) {
    if (!touches(i)) continue;
    any = true;
    double gap = kTurn;  // to the next contact
    for (int j = 0; j < data.ncon; ++j) {
      if (j == i || !touches(j)) continue;
      double turn = azimuth(j) - azimuth(i);
      // Of two at the same place one is the next of the other, and not also the other way round.
      if (turn < 0.0 || (turn == 0.0 && j < i)) turn += kTurn;
      gap = std::min(gap, turn);
    }
    widest_gap = std::max(widest_gap, gap);
  }
  return any ? kTurn - widest_gap : 0.0;
}

double Metrics::evaluate(const Source& source, const mjModel& model,
                         const mjData& data) const noexcept {
  const auto sensor = [&](int id) {
    const mjtNum* values = data.sensordata + model.sensor_adr[id];
    if (model.sensor_dim[id] == 1) return values[0];
    return mju_norm(values, model.sensor_dim[id]);
  };
  switch (source.signal) {
    case Signal::TipError:
    case Signal::AngleError:
    case Signal::Status:
    case Signal::SolverIterations:
    case Signal::Progress:
    case Signal::Sensor: {
      double worst = sensor(source.sensors.front());
      for (const int id : source.sensors) {
        const double value = sensor(id);
        worst = source.signal == Signal::Progress ? std::min(worst, value) : std::max(worst, value);
      }
      return worst;
    }
    case Signal::Winding:
      return winding(source.geom, model, data);
    case Signal::Passing:
      return passing(source.geom, data);
    case Signal::ContactSpan:
      return contact_span(source.geom, model, data);
    case Signal::WallForce:
      return wall_force_;
    case Signal::WallForceSingle:
      return wall_force_single_;
    case Signal::Penetration:
      return penetration_;
    case Signal::ContactCount:
      return contact_count_;
    case Signal::SelfContactCount:
      return self_contact_count_;
    case Signal::LimitMargin:
      return limit_margin(model, data);
    case Signal::Speed: {
      double speed = 0.0;
      for (int i = 0; i < model.nv; ++i) speed = std::max(speed, std::abs(data.qvel[i]));
      return speed;
    }
    case Signal::EngineIterations: {
      int iterations = 0;
      const int islands = std::clamp(data.nisland, 1, static_cast<int>(mjNISLAND));
      for (int i = 0; i < islands; ++i) iterations += data.solver_niter[i];
      return iterations;
    }
  }
  return 0.0;
}

void Metrics::sample(const mjModel& model, const mjData& data, double time) noexcept {
  if (needs_contacts_) read_contacts(model, data);
  for (Source& source : sources_) source.value = evaluate(source, model, data);
  for (Entry& entry : entries_) {
    if (entry.source < 0 || time < entry.window.after || time > entry.window.before) continue;
    const double value = sources_[static_cast<std::size_t>(entry.source)].value;
    if (entry.samples == 0) entry.max = entry.min = value;
    entry.samples += 1;
    entry.last = value;
    entry.max = std::max(entry.max, value);
    entry.min = std::min(entry.min, value);
    entry.sum += value;
    entry.sum_of_squares += value * value;
    if (entry.metric.statistic == Statistic::SettleTime) {
      if (value <= entry.threshold) {
        entry.settled_since = std::min(entry.settled_since, time);
      } else {
        entry.settled_since = std::numeric_limits<double>::infinity();
      }
    }
  }
}

double Metrics::value(int index) const {
  const Entry& e = entry(index);
  if (e.samples == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(e.samples);
  switch (e.metric.statistic) {
    case Statistic::End:
      return e.last;
    case Statistic::Max:
      return e.max;
    case Statistic::Min:
      return e.min;
    case Statistic::Mean:
      return e.sum / n;
    case Statistic::Rms:
      return std::sqrt(e.sum_of_squares / n);
    case Statistic::SettleTime:
      return e.settled_since - e.window.after;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tendril::host
