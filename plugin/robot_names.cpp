#include "plugin/robot_names.hpp"

#include <sstream>

#include "tendril/model/robot_mjcf.hpp"
#include "tendril/model_error.hpp"

namespace tendril {

std::string RobotNames::operator()(std::string_view element) const {
  return prefix + std::string(element) + suffix;
}

std::optional<std::string_view> RobotNames::element(std::string_view name) const noexcept {
  if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) ||
      !name.ends_with(suffix))
    return std::nullopt;
  return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
}

std::string RobotNames::title() const {
  constexpr std::string_view kJoints = "_/-.: ";
  const std::string all = label();
  const std::size_t first = all.find_first_not_of(kJoints);
  if (first == all.npos) return "robot";
  return all.substr(first, all.find_last_not_of(kJoints) + 1 - first);
}

int require_element(const mjModel* m, const RobotNames& names, mjtObj type,
                    const std::string& element) {
  const std::string full = names(element);
  const int id = mj_name2id(m, type, full.c_str());
  if (id < 0) {
    throw ModelError(std::string(mju_type2Str(type)) + " " + full +
                     ": missing: the model must contain the robot described by the setting robot");
  }
  return id;
}

std::optional<RobotNames> split_name(std::string_view name, std::string_view word,
                                     const std::function<bool(const RobotNames&)>& fits) {
  for (std::size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
    RobotNames names{std::string(name.substr(0, at)), std::string(name.substr(at + word.size()))};
    if (fits(names)) return names;
  }
  return std::nullopt;
}

RobotNames robot_names(const mjModel* m, int instance) {
  const char* const text = mj_id2name(m, mjOBJ_PLUGIN, instance);
  const std::string_view name = text != nullptr ? text : "";
  const auto has_base = [m](const RobotNames& names) {
    const std::string base = names(names::kBase);
    if (mj_name2id(m, mjOBJ_BODY, base.c_str()) >= 0) return true;
    for (int body = 0; body < static_cast<int>(m->nbody); ++body) {
      const char* const other = mj_id2name(m, mjOBJ_BODY, body);
      if (other != nullptr && base == other) return true;
    }
    return false;
  };
  if (auto found = split_name(name, names::kController, has_base)) return *std::move(found);
  const auto is_last = [](const RobotNames& names) { return names.suffix.empty(); };
  return split_name(name, names::kController, is_last).value_or(RobotNames());
}

std::string scene_name(const mjModel* m, const RobotNames& names, std::string_view written) {
  const std::string own = names(written);
  const int base = mj_name2id(m, mjOBJ_BODY, names(names::kBase).c_str());
  const auto is_of_scene = [&](int body) {
    while (body > 0 && body != base) body = m->body_parentid[body];
    return body == 0;
  };
  const auto body_of = [&](mjtObj type, const auto& body_of_id) {
    const int id = mj_name2id(m, type, own.c_str());
    return id < 0 ? -1 : body_of_id(id);
  };
  for (const int body : {body_of(mjOBJ_BODY, [](int id) { return id; }),
                         body_of(mjOBJ_GEOM, [m](int id) { return m->geom_bodyid[id]; }),
                         body_of(mjOBJ_SITE, [m](int id) { return m->site_bodyid[id]; })})
    if (body >= 0 && is_of_scene(body)) return own;
  return std::string(written);
}

std::string scene_names(const mjModel* m, const RobotNames& names, std::string_view written) {
  std::string all;
  std::istringstream words{std::string(written)};
  for (std::string word; words >> word;)
    all += (all.empty() ? "" : " ") + scene_name(m, names, word);
  return all;
}

std::string sensor_quantity(const mjModel* m, int instance, int sensor) {
  const char* const text = mj_id2name(m, mjOBJ_SENSOR, sensor);
  const std::string_view name = text != nullptr ? text : "";
  return std::string(robot_names(m, instance).element(name).value_or(name));
}

std::optional<std::string> shown_quantity(const mjModel* m, int sensor) {
  const int instance = m->sensor_type[sensor] == mjSENS_PLUGIN ? m->sensor_plugin[sensor] : -1;
  if (instance < 0) return std::nullopt;
  return sensor_quantity(m, instance, sensor);
}

}  // namespace tendril
