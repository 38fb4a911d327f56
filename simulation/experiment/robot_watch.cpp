#include "simulation/experiment/robot_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "controllers/arm/servo.hpp"
#include "controllers/interface/common_rows.hpp"
#include "plugin/robot_names.hpp"
#include "tendril/model/continuum/part.hpp"

namespace tendril::simulation {
namespace {

std::string name_or(const mjModel& model, mjtObj type, int id, const char* unnamed) {
  const char* const name = mj_id2name(&model, type, id);
  return name != nullptr && *name != '\0' ? name : fmt::format("{} {}", unnamed, id);
}

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;
constexpr double kPartOfLimit = tendril::Servo::kFractionOfLimit * (1.0 - kRounding);
constexpr const char* kFollowingError = "following_error";
constexpr const char* kPathError = "path_error";

/// Statuses that are reported when they begin.
constexpr bool is_told(ControllerStatus status) {
  return status == ControllerStatus::Fault || status == ControllerStatus::NotFollowing ||
         status == ControllerStatus::ServoLost || status == ControllerStatus::NoProgress ||
         status == ControllerStatus::Swinging;
}

template <class T>
void sort_by_steps(std::vector<T>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const T& a, const T& b) { return a.occurrence.steps > b.occurrence.steps; });
}

}  // namespace

std::optional<ControllerStatus> RobotStatus::failed_status() const noexcept {
  if (by_status[static_cast<std::size_t>(ControllerStatus::Fault)].steps > 0)
    return ControllerStatus::Fault;
  return is_well(end) ? std::nullopt : std::optional(end);
}

std::optional<std::string> RobotStatus::failure() const {
  const auto status = failed_status();
  if (!status) return std::nullopt;
  const double first = by_status[static_cast<std::size_t>(*status)].first;
  if (*status == ControllerStatus::Fault)
    return fmt::format("{}: controller fault at t = {:.6g} s", robot, first);
  return fmt::format("{}: {} at the end, first at t = {:.6g} s", robot, to_string(end), first);
}

RobotWatch::RobotWatch(const mjModel& model) : model_(model), robots_(model) {
  for (int i = 0; i < model.nsensor; ++i) {
    if (shown_quantity(&model, i) != quantity::kStatus.name) continue;
    const RobotNames names = robot_names(&model, model.sensor_plugin[i]);
    const auto address = [&](const char* quantity) {
      const int sensor = mj_name2id(&model, mjOBJ_SENSOR, names(quantity).c_str());
      return sensor < 0 ? -1 : model.sensor_adr[sensor];
    };
    const char* const measured =
        mj_getPluginConfig(&model, model.sensor_plugin[i], common::kMeasured.name);
    statuses_.push_back(
        {.robot = names.title(),
         .sensor = name_or(model, mjOBJ_SENSOR, i, "sensor"),
         .is_sensed = measured != nullptr && std::string_view(measured) == "sensors",
         .by_status = {}});
    status_addresses_.push_back(model.sensor_adr[i]);
    error_addresses_.push_back(address(kFollowingError));
    path_addresses_.push_back(address(kPathError));
  }
  for (int i = 0; i < static_cast<int>(model.nactuator); ++i) {
    if (!model.actuator_forcelimited[i] || robots_.base_of_actuator(i) == 0) continue;
    if (is_part_actuator(name_or(model, mjOBJ_ACTUATOR, i, "actuator"))) continue;
    const mjtNum* const range = model.actuator_forcerange + 2 * i;
    // What only pulls, or only pushes, is not at a limit where it does nothing.
    const bool one_sided = range[0] == 0.0;
    servos_.push_back({i, one_sided ? -kNever : range[0], range[1], {}});
  }
  touches_.resize(static_cast<std::size_t>(model.ngeom));
}

bool RobotWatch::sample(const mjModel& model, const mjData& data, double time) noexcept {
  ++steps_;
  bool is_new = false;
  for (std::size_t i = 0; i < statuses_.size(); ++i) {
    const double value = data.sensordata[status_addresses_[i]];
    const int index = value >= 0.0 && value < kStatusCount ? static_cast<int>(value) : 0;
    RobotStatus& status = statuses_[i];
    status.end = static_cast<ControllerStatus>(index);
    Occurrence& occurrence = status.by_status[static_cast<std::size_t>(index)];
    is_new |= is_told(status.end) && occurrence.steps == 0;
    occurrence.add(time);
  }
  for (Servo& servo : servos_) {
    const double force = data.actuator_force[servo.actuator];
    if (force <= kPartOfLimit * servo.low || force >= kPartOfLimit * servo.high)
      servo.occurrence.add(time);
  }
  for (int i = 0; i < data.ncon; ++i) {
    const mjContact& contact = data.contact[i];
    if (!robots_.meets_surroundings(contact.geom[0], contact.geom[1])) continue;
    const int other =
        robots_.base_of_geom(contact.geom[0]) == 0 ? contact.geom[0] : contact.geom[1];
    if (other < 0) continue;
    mjtNum force[6];
    mj_contactForce(&model, &data, i, force);
    touches_[static_cast<std::size_t>(other)].force += force[0];
  }
  for (int i = 0; i < data.ncon; ++i) {  // each of those that were touched, once
    for (const int geom : data.contact[i].geom) {
      if (geom < 0) continue;
      Touch& touch = touches_[static_cast<std::size_t>(geom)];
      if (touch.force <= 0.0) continue;
      touch.occurrence.add(time);
      touch.largest_force = std::max(touch.largest_force, touch.force);
      touch.force = 0.0;
    }
  }
  return is_new;
}

std::vector<std::string> RobotWatch::not_following(const mjData& data) const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < statuses_.size(); ++i) {
    const RobotStatus& status = statuses_[i];
    if (status.by_status[static_cast<std::size_t>(status.end)].steps != 1) continue;
    if (status.end == ControllerStatus::NoProgress)
      all.push_back(status.robot + ": no progress: comes no nearer to its goal, or has lost it");
    if (status.end == ControllerStatus::Swinging)
      all.push_back(status.robot +
                    ": the tip keeps swinging about a target at rest: too little damping, or an "
                    "integral_gain that takes it away");
    if (status.end != ControllerStatus::NotFollowing) continue;
    std::string line = status.robot + ": does not do what is commanded";
    if (const int error = error_addresses_[i]; error >= 0) {
      line += fmt::format("; {} is {:.3g} rad", kFollowingError, data.sensordata[error]);
      if (const int path = path_addresses_[i]; path >= 0)
        line += fmt::format(", {} is {:.3g} m", kPathError, data.sensordata[path]);
      const std::vector<SaturatedServo> servos = saturated();
      if (!servos.empty())
        line += fmt::format(", servo {} was at its limit of {:.3g}", servos.front().actuator,
                            servos.front().limit);
    }
    all.push_back(std::move(line));
  }
  return all;
}

std::vector<SaturatedServo> RobotWatch::saturated() const {
  std::vector<SaturatedServo> all;
  for (const Servo& servo : servos_) {
    if (servo.occurrence.steps == 0) continue;
    all.push_back(
        {name_or(model_, mjOBJ_ACTUATOR, servo.actuator, "actuator"),
         std::isfinite(servo.low) ? std::max(std::abs(servo.low), servo.high) : servo.high,
         servo.occurrence});
  }
  sort_by_steps(all);
  return all;
}

std::vector<TouchedGeom> RobotWatch::touched() const {
  std::vector<TouchedGeom> all;
  for (std::size_t i = 0; i < touches_.size(); ++i) {
    const Touch& touch = touches_[i];
    if (touch.occurrence.steps == 0) continue;
    const int geom = static_cast<int>(i);
    const char* const name = mj_id2name(&model_, mjOBJ_GEOM, geom);
    std::string shown =
        name != nullptr && *name != '\0'
            ? name
            : "a geom of " + name_or(model_, mjOBJ_BODY, model_.geom_bodyid[geom], "body");
    all.push_back({std::move(shown), touch.largest_force, touch.occurrence});
  }
  sort_by_steps(all);
  return all;
}

}  // namespace tendril::simulation
