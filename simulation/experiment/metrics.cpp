#include "simulation/experiment/metrics.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "simulation/engine/engine.hpp"
#include "simulation/engine/quantities.hpp"
#include "simulation/scene/switched_off.hpp"
#include "tendril/model/sensor.hpp"
#include "tendril/model/toml_fields.hpp"
#include "tendril/model_error.hpp"
#include "tendril/renamed.hpp"

namespace tendril::simulation {
namespace {

constexpr std::string_view kReadingError = "reading_error";

double distance(const mjtNum* a, const mjtNum* b, int width) noexcept {
  using Numbers = Eigen::Map<const Eigen::VectorXd>;
  return (Numbers(a, width) - Numbers(b, width)).norm();
}

bool has_round_axis(const mjModel& model, int geom) {
  return model.geom_type[geom] == mjGEOM_CAPSULE || model.geom_type[geom] == mjGEOM_CYLINDER;
}

/// The quantity that each sensor of the model shows; nothing for sensors of the scene.
std::vector<std::optional<std::string>> shown_quantities(const mjModel& model) {
  std::vector<std::optional<std::string>> shown;
  for (int i = 0; i < model.nsensor; ++i) shown.push_back(shown_quantity(&model, i));
  return shown;
}

/// The sensors that show a quantity: those of controllers; without any, those that a scene calls
/// so.
std::vector<int> sensors_called(const mjModel& model,
                                std::span<const std::optional<std::string>> shown,
                                const std::string& quantity) {
  std::vector<int> of_controllers, of_scene;
  for (int i = 0; i < model.nsensor; ++i) {
    const std::optional<std::string>& other = shown[static_cast<std::size_t>(i)];
    if (other == quantity) of_controllers.push_back(i);
    if (!other && shows(object_name(model, mjOBJ_SENSOR, i), quantity)) of_scene.push_back(i);
  }
  return of_controllers.empty() ? of_scene : of_controllers;
}

/// A point in the frame of a geom.
Eigen::Vector3d in_frame(const mjData& data, int geom, const mjtNum* point) noexcept {
  using RowMatrix = Eigen::Matrix<mjtNum, 3, 3, Eigen::RowMajor>;
  const Eigen::Map<const RowMatrix> axes(data.geom_xmat + 9 * geom);
  const Eigen::Map<const Eigen::Vector3d> p(point), center(data.geom_xpos + 3 * geom);
  return axes.transpose() * (p - center);
}

/// Angle about the z axis from one point to the other, in (-pi, pi].
double angle_between(const Eigen::Vector3d& p, const Eigen::Vector3d& q) noexcept {
  return std::atan2(p.x() * q.y() - p.y() * q.x(), p.head<2>().dot(q.head<2>()));
}

/// Angle about the z axis between the ends of the part of the segment a-b inside the cylinder of
/// this radius and half length about the z axis.
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
  return angle_between(a + from * d, a + to * d);
}

}  // namespace

/// Readers of the signals that are not sensors.
const Metrics::Reader Metrics::kReaders[] = {
    {"wall_force", [](const Metrics& m, auto&, auto&, int) noexcept { return m.contacts_.force; }},
    {"wall_force_single",
     [](const Metrics& m, auto&, auto&, int) noexcept { return m.contacts_.largest_force; }},
    {"penetration",
     [](const Metrics& m, auto&, auto&, int) noexcept { return m.contacts_.penetration; }},
    {"contact_count",
     [](const Metrics& m, auto&, auto&, int) noexcept { return m.contacts_.count; }},
    {"self_contact_count",
     [](const Metrics& m, auto&, auto&, int) noexcept { return m.contacts_.self_count; }},
    {"limit_margin", &Metrics::limit_margin},
    {"speed",
     [](const Metrics&, const mjModel& model, const mjData& data, int) noexcept {
       double speed = 0.0;
       for (int i = 0; i < model.nv; ++i) speed = std::max(speed, std::abs(data.qvel[i]));
       return speed;
     }},
    {"engine_iterations",
     [](const Metrics&, auto&, const mjData& data, int) noexcept {
       int iterations = 0;
       const int islands = std::clamp(data.nisland, 1, static_cast<int>(mjNISLAND));
       for (int i = 0; i < islands; ++i) iterations += data.solver_niter[i];
       return static_cast<double>(iterations);
     }},
    {"energy",
     [](const Metrics& m, auto&, auto&, int) noexcept {
       double energy = 0.0;
       for (const int i : m.robot_actuators_) energy += m.energy_[static_cast<std::size_t>(i)];
       return energy;
     }},
    {"actuator_energy",
     [](const Metrics& m, auto&, auto&, int actuator) noexcept {
       return m.energy_[static_cast<std::size_t>(actuator)];
     }},
    {"winding", &Metrics::winding},
    {"passing", &Metrics::passing},
    {"contact_span", &Metrics::contact_span},
};

Metrics::Metrics(const mjModel& model)
    : model_(model), robots_(model), energy_(static_cast<std::size_t>(model.nactuator), 0.0) {
  for (int i = 0; i < static_cast<int>(model.nactuator); ++i)
    if (robots_.base_of_actuator(i) != 0) robot_actuators_.push_back(i);
  for (int joint = 0; joint < model.njnt; ++joint) {
    const bool is_scalar =
        model.jnt_type[joint] == mjJNT_HINGE || model.jnt_type[joint] == mjJNT_SLIDE;
    if (is_scalar && model.jnt_limited[joint] && robots_.base_of_body(model.jnt_bodyid[joint]) != 0)
      limited_joints_.push_back(joint);
  }
  const std::vector<std::optional<std::string>> shown = shown_quantities(model);
  for (const ReportedQuantity& quantity : declared_quantities()) {
    if (reported(quantity.name) != nullptr || find_signal(quantity.name) != nullptr) continue;
    std::vector<int> sensors = sensors_called(model, shown, quantity.name);
    if (sensors.empty()) continue;
    reported_.push_back({quantity.name, quantity.unit, quantity.summary, quantity.smallest_is_worst,
                         std::move(sensors)});
  }
}

const Metrics::Reported* Metrics::reported(std::string_view name) const {
  const auto found = std::find_if(reported_.begin(), reported_.end(),
                                  [&](const Reported& r) { return r.name == name; });
  return found == reported_.end() ? nullptr : &*found;
}

std::string Metrics::present_metric(const Metric& metric) const {
  const auto is_reported = [&](std::string_view signal) { return reported(signal) != nullptr; };
  const std::string_view now = present_name(metric.signal, is_reported);
  return now.empty() ? "" : std::string(now) + metric.name.substr(metric.signal.size());
}

std::string Metrics::present_sensor(const std::string& name) const {
  for (const Renamed& quantity : renamed()) {
    if (!shows(name, std::string(quantity.before))) continue;
    const std::string now =
        name.substr(0, name.size() - quantity.before.size()) + std::string(quantity.now);
    if (mj_name2id(&model_, mjOBJ_SENSOR, now.c_str()) >= 0) return now;
  }
  return {};
}

std::string Metrics::not_reported(std::string_view signal) const {
  std::vector<std::string_view> names, known;
  for (const Reported& quantity : reported_) names.push_back(quantity.name);
  known = names;
  for (const SignalInfo& info : signal_table()) known.push_back(info.name);
  return fmt::format("no controller of the scene reports '{}' with a sensor of that name{}{}{}",
                     signal, meant_text(signal, known), names.empty() ? "" : ", but ",
                     joined(names));
}

std::string Metrics::problem(const Metric& metric) const {
  const SignalInfo* const info = find_signal(metric.signal);
  if (info == nullptr) {
    if (reported(metric.signal) != nullptr) return {};
    if (const std::string now = present_metric(metric); !now.empty())
      return fmt::format("is called {} now", now);
    return not_reported(metric.signal);
  }
  const int geom = mj_name2id(&model_, mjOBJ_GEOM, metric.object.c_str());
  const bool of_geom = info->of == MetricOf::Geom || info->of == MetricOf::RoundGeom;
  if (info->of == MetricOf::Sensor &&
      mj_name2id(&model_, mjOBJ_SENSOR, metric.object.c_str()) < 0) {
    if (const std::string now = present_sensor(metric.object); !now.empty())
      return renamed_text(metric.object, now);
    return fmt::format("the scene has no sensor '{}'{}", metric.object,
                       meant_object(model_, mjOBJ_SENSOR, model_.nsensor, metric.object));
  }
  if (metric.signal == kReadingError && reading_of(metric.object) < 0)
    return fmt::format("the scene has no sensor '{}'", names::reading(metric.object));
  if (of_geom && geom < 0)
    return fmt::format("the scene has no geom '{}'{}", metric.object,
                       meant_object(model_, mjOBJ_GEOM, model_.ngeom, metric.object));
  if (info->of == MetricOf::RoundGeom && !has_round_axis(model_, geom))
    return fmt::format("the geom '{}' must be a capsule or cylinder", metric.object);
  if ((of_geom || info->of == MetricOf::Robots) && robots_.empty()) {
    return "the scene has no robot; a robot file is one, a robot of the scene's own is declared by "
           "<custom><tuple name=\"robot\"><element objtype=\"body\" objname=\"BASE\"/></tuple>"
           "</custom>";
  }
  if (info->of == MetricOf::Actuators || info->of == MetricOf::Actuator)
    return missing_actuator(metric, info->of);
  if (info->of == MetricOf::Joints && limited_joints_.empty())
    return "no robot of the scene has a joint with a range";
  if (info->of == MetricOf::Robots) return contacts_switched_off(model_).value_or("");
  if (info->name == std::string_view("contact_span"))
    return contacts_switched_off(model_, robots_, geom).value_or("");
  return {};
}

int Metrics::reading_of(const std::string& sensor) const {
  return mj_name2id(&model_, mjOBJ_SENSOR, names::reading(sensor).c_str());
}

std::string Metrics::missing_actuator(const Metric& metric, MetricOf of) const {
  if (of == MetricOf::Actuators)
    return robot_actuators_.empty() ? "no robot of the scene has an actuator" : "";
  if (mj_name2id(&model_, mjOBJ_ACTUATOR, metric.object.c_str()) >= 0) return {};
  return fmt::format("the scene has no actuator '{}'{}", metric.object,
                     meant_object(model_, mjOBJ_ACTUATOR, model_.nactuator, metric.object));
}

Metrics::Read Metrics::reader_of(std::string_view signal) {
  for (const Reader& reader : kReaders)
    if (reader.signal == signal) return reader.read;
  throw std::logic_error(fmt::format("the signal {} has no reader", signal));
}

int Metrics::add(const Metric& metric, const Window& window, double threshold) {
  if (const std::string why = problem(metric); !why.empty())
    throw ModelError(fmt::format("{}: {}", metric.name, why));
  const SignalInfo* const info = find_signal(metric.signal);
  const Reported* const quantity = info == nullptr ? reported(metric.signal) : nullptr;
  Entry entry;
  entry.metric = metric;
  entry.window = window;
  entry.threshold = threshold;
  entry.unit = metric.statistic == Statistic::SettleTime ? "s"
               : info != nullptr                         ? info->unit
                                                         : quantity->unit;
  if (!metric.of_run()) {
    Source source{.signal = metric.signal, .sensors = {}};
    if (quantity != nullptr) {
      source.sensors = quantity->sensors;
      source.smallest_is_worst = quantity->smallest_is_worst;
    } else if (info->of == MetricOf::Sensor) {
      source.sensors = {mj_name2id(&model_, mjOBJ_SENSOR, metric.object.c_str())};
      if (metric.signal == kReadingError) source.reading = reading_of(metric.object);
    } else {
      source.read = reader_of(metric.signal);
      if (info->of == MetricOf::Actuator) {
        source.object = mj_name2id(&model_, mjOBJ_ACTUATOR, metric.object.c_str());
      } else if (!metric.object.empty()) {
        source.object = mj_name2id(&model_, mjOBJ_GEOM, metric.object.c_str());
        if (link_pairs_.empty()) find_links();
      }
    }
    needs_contacts_ = needs_contacts_ || (info != nullptr && info->of == MetricOf::Robots);
    needs_energy_ =
        needs_energy_ ||
        (info != nullptr && (info->of == MetricOf::Actuators || info->of == MetricOf::Actuator));
    const auto same = [&](const Source& s) {
      return s.signal == source.signal && s.sensors == source.sensors && s.object == source.object;
    };
    const auto found = std::find_if(sources_.begin(), sources_.end(), same);
    entry.source = static_cast<int>(found - sources_.begin());
    if (found == sources_.end()) sources_.push_back(std::move(source));
  }
  entries_.push_back(std::move(entry));
  return count() - 1;
}

void Metrics::add_defaults() {
  const auto add_all = [&](const std::string& signal, const std::string& statistics) {
    std::istringstream words(statistics);
    for (std::string word; words >> word;) {
      const Metric metric = parse_metric(signal + "_" + word);
      if (problem(metric).empty()) add(metric);
    }
  };
  for (const Reported& quantity : reported_) add_all(quantity.name, quantity.summary);
  for (const SignalInfo& signal : signal_table()) add_all(signal.name, signal.summary);
}

void Metrics::read_contacts(const mjModel& model, const mjData& data) noexcept {
  contacts_ = {};
  for (int i = 0; i < data.ncon; ++i) {
    const mjContact& contact = data.contact[i];
    const int first = robots_.base_of_geom(contact.geom[0]);
    const int second = robots_.base_of_geom(contact.geom[1]);
    if (first != 0 && first == second) contacts_.self_count += 1.0;
    if (!robots_.meets_surroundings(contact.geom[0], contact.geom[1])) continue;
    mjtNum force[6];
    mj_contactForce(&model, &data, i, force);
    contacts_.force += force[0];
    contacts_.largest_force = std::max(contacts_.largest_force, force[0]);
    contacts_.penetration = std::max(contacts_.penetration, -contact.dist);
    contacts_.count += 1.0;
  }
}

/// Forces and velocities after a step are those of its start.
void Metrics::add_energy(const mjModel& model, const mjData& data) noexcept {
  for (int i = 0; i < static_cast<int>(model.nactuator); ++i) {
    const int first = model.actuator_outadr[i];
    double power = 0.0;
    for (int k = first; k < first + model.actuator_outnum[i]; ++k)
      power += std::abs(data.actuator_force[k] * data.actuator_velocity[k]);
    energy_[static_cast<std::size_t>(i)] += power * model.opt.timestep;
  }
}

/// Links are the bodies below a base that have geoms; bodies of one robot have consecutive indices.
void Metrics::find_links() {
  for (int body = 1; body < model_.nbody; ++body) {
    const auto is_link = [&](int b) { return model_.body_geomnum[b] > 0; };
    const int base = robots_.base_of_body(body);
    const int parent = model_.body_parentid[body];
    if (base == 0 || body == base || parent == base || !is_link(parent) || !is_link(body)) continue;
    const int geom = model_.body_geomadr[body];
    link_pairs_.push_back({model_.body_geomadr[parent], geom, base, model_.geom_size[3 * geom]});
  }
}

double Metrics::limit_margin(const Metrics& self, const mjModel& model, const mjData& data,
                             int /*geom*/) noexcept {
  double margin = std::numeric_limits<double>::infinity();
  for (const int joint : self.limited_joints_) {
    const mjtNum* range = model.jnt_range + 2 * joint;
    const mjtNum q = data.qpos[model.jnt_qposadr[joint]];
    margin = std::min({margin, q - range[0], range[1] - q});
  }
  return margin;
}

template <typename PairAngle>
double Metrics::largest_winding(const PairAngle& pair_angle) const noexcept {
  double widest = 0.0, angle = 0.0;
  for (std::size_t i = 0; i < link_pairs_.size(); ++i) {
    const LinkPair& pair = link_pairs_[i];
    angle += pair_angle(pair);
    const bool last = i + 1 == link_pairs_.size() || link_pairs_[i + 1].robot != pair.robot;
    if (!last) continue;
    if (std::abs(angle) > std::abs(widest)) widest = angle;
    angle = 0.0;
  }
  return widest;
}

double Metrics::winding(const Metrics& self, const mjModel& model, const mjData& data,
                        int geom) noexcept {
  const double geom_radius = model.geom_size[3 * geom];
  const double half_length = model.geom_size[3 * geom + 1];
  return self.largest_winding([&](const LinkPair& pair) {
    const double near = geom_radius + 2.0 * pair.radius;  // a gap as wide as the link's radius
    return angle_inside(in_frame(data, geom, data.geom_xpos + 3 * pair.first),
                        in_frame(data, geom, data.geom_xpos + 3 * pair.second), near, half_length);
  });
}

double Metrics::passing(const Metrics& self, const mjModel& /*model*/, const mjData& data,
                        int geom) noexcept {
  return self.largest_winding([&](const LinkPair& pair) {
    return angle_between(in_frame(data, geom, data.geom_xpos + 3 * pair.first),
                         in_frame(data, geom, data.geom_xpos + 3 * pair.second));
  });
}

/// 2 pi minus the widest gap between neighboring contacts.
double Metrics::contact_span(const Metrics& self, const mjModel& /*model*/, const mjData& data,
                             int geom) noexcept {
  constexpr double kTwoPi = 2.0 * std::numbers::pi;
  const auto touches = [&](int i) {
    const mjContact& contact = data.contact[i];
    if (contact.geom[0] != geom && contact.geom[1] != geom) return false;
    const int other = contact.geom[contact.geom[0] == geom ? 1 : 0];
    return self.robots_.base_of_geom(other) != 0;
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
    double gap = kTwoPi;  // to the next contact
    for (int j = 0; j < data.ncon; ++j) {
      if (j == i || !touches(j)) continue;
      double angle = azimuth(j) - azimuth(i);
      // Of two contacts at the same angle only one is the successor of the other.
      if (angle < 0.0 || (angle == 0.0 && j < i)) angle += kTwoPi;
      gap = std::min(gap, angle);
    }
    widest_gap = std::max(widest_gap, gap);
  }
  return any ? kTwoPi - widest_gap : 0.0;
}

double Metrics::evaluate(const Source& source, const mjModel& model,
                         const mjData& data) const noexcept {
  if (!source.sensors.empty()) {
    double worst = std::numeric_limits<double>::quiet_NaN();
    bool is_first = true;
    for (const int id : source.sensors) {
      const mjtNum* const values = data.sensordata + model.sensor_adr[id];
      const int width = model.sensor_dim[id];
      const double value =
          source.reading >= 0
              ? distance(values, data.sensordata + model.sensor_adr[source.reading], width)
          : width == 1 ? values[0]
                       : mju_norm(values, width);
      const bool is_worse = source.smallest_is_worst ? value < worst : value > worst;
      if (is_first || is_worse || std::isnan(value)) worst = value;
      if (std::isnan(value)) break;
      is_first = false;
    }
    return worst;
  }
  return source.read(*this, model, data, source.object);
}

void Metrics::sample(const mjModel& model, const mjData& data, double time) noexcept {
  if (needs_contacts_) read_contacts(model, data);
  if (needs_energy_) add_energy(model, data);
  for (Source& source : sources_) source.value = evaluate(source, model, data);
  for (Entry& entry : entries_) {
    if (entry.source < 0 || time < entry.window.after || time > entry.window.before) continue;
    const double value = sources_[static_cast<std::size_t>(entry.source)].value;
    if (entry.samples == 0) entry.max = entry.min = value;
    entry.samples += 1;
    entry.last = value;
    // An unknown value makes the extreme unknown.
    if (!(value <= entry.max)) entry.max = std::isnan(entry.max) ? entry.max : value;
    if (!(value >= entry.min)) entry.min = std::isnan(entry.min) ? entry.min : value;
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

}  // namespace tendril::simulation
